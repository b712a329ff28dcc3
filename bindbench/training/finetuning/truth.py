"""Which captions may be true of which images of a training set, judged by their words.

In a batch every other caption serves as a negative. Where semantics are strict, one that may be
true of an image is left out of its loss.
"""

import itertools
from collections.abc import Sequence

from bindbench.concepts import Concept
from bindbench.vocabulary import Lexicon


class Truths:
    """Finds the images that a caption may be true of.

    It may be if each of its mentions can be taken for another thing of the image. Attributes are
    compared where the image's are known; relations are not, so that no true one is missed.

    Args:
        shown: what the images show.
        lexicon: the vocabularies.
    """

    def __init__(self, shown: Sequence[Concept], lexicon: Lexicon) -> None:
        self._shown, self._lexicon = shown, lexicon
        self._holders: dict[str, set[int]] = {}
        for row, concept in enumerate(shown):
            for noun in concept.objects:
                self._holders.setdefault(noun, set()).add(row)
        self._with: dict[tuple[str, str], set[int]] = {}
        self._known: dict[Concept, frozenset[int]] = {}

    def images_of(self, said: Concept) -> frozenset[int]:
        """Return the rows of the images that a caption of these words may be true of."""
        if said not in self._known:
            found = set.intersection(*(self._images_with(said, noun) for noun in said.objects))
            self._known[said] = frozenset(row for row in found if self._fits(said, row))
        return self._known[said]

    def _images_with(self, said: Concept, noun: str) -> set[int]:
        key = said.task.object_role, noun
        if key not in self._with:
            same = (other for other in self._holders if self._same_thing(said, noun, other))
            self._with[key] = set().union(*(self._holders[other] for other in same))
        return self._with[key]

    def _same_thing(self, said: Concept, noun: str, other: str) -> bool:
        nouns = self._lexicon.nouns(said.task)
        return noun == other or (other in nouns.by_name and nouns.overlaps(noun, other))

    def _fits(self, said: Concept, row: int) -> bool:
        shown = self._shown[row]
        return any(
            all(self._holds(said, m, shown, t) for m, t in enumerate(things))
            for things in itertools.permutations(range(shown.n), said.n)
        )

    def _holds(self, said: Concept, mention: int, shown: Concept, thing: int) -> bool:
        if not self._same_thing(said, said.objects[mention], shown.objects[thing]):
            return False
        roles = {said.task.label_role, shown.task.label_role}
        if len(roles) > 1 or said.task.axis == "relation":
            return True
        labels = self._lexicon.labels(said.task)
        told, real = said.labels[mention], shown.labels[thing]
        return told == real or labels.are_synonyms(told, real) or labels.is_broader(told, real)
