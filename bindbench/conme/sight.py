"""What can be seen in a render of a few things, and all that can be asked about it.

The agent's sight comes from detector and judge; that of the hidden truth is made the same way, so
that a question that the agent asks is one that the truth answers as well, or can't be asked.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import Literal

from bindbench.vocabulary import Lexicon, Relation

Axis = Literal["horizontal", "vertical", "size"]
AXES: tuple[Axis, ...] = ("horizontal", "vertical", "size")
Kind = Literal["color", "count", "place", "thing", "relation", "related", "pair"]
JOINT: tuple[Kind, ...] = ("pair", "related", "relation")  # several details are put together
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six")
LOOKALIKES = 8  # things of the vocabulary that are offered beside those in the image


@dataclass(frozen=True)
class Sight:
    """Things with what is known of them.

    Attributes:
        nouns: what they are.
        colors: of each; "" where that is in doubt.
        signs: for things i < j and an axis: 1 where i lies further along it (right, up, larger),
            -1 where j does, 0 where clearly neither does; no entry where that is in doubt.
    """

    nouns: tuple[str, ...]
    colors: tuple[str, ...]
    signs: Mapping[tuple[int, int, Axis], int] = field(default_factory=dict)

    def sign(self, i: int, j: int, axis: Axis) -> int | None:
        """Return the sign of any two things; None: in doubt."""
        if i < j:
            return self.signs.get((i, j, axis))
        found = self.signs.get((j, i, axis))
        return None if found is None else -found

    def reversed(self) -> "Sight":
        """Return the same sight with the things in the opposite order."""
        last = len(self.nouns) - 1
        signs: dict[tuple[int, int, Axis], int] = {
            (last - j, last - i, axis): -sign for (i, j, axis), sign in self.signs.items()
        }
        return Sight(self.nouns[::-1], self.colors[::-1], signs)

    def only(self, noun: str) -> int | None:
        """Return the one thing of a name; None: there are none or several."""
        found = [i for i, name in enumerate(self.nouns) if name == noun]
        return found[0] if len(found) == 1 else None


@dataclass(frozen=True)
class Fact:
    """A question with its answer, what it is about, and wrong answers, the nearest first."""

    kind: Kind
    question: str
    answer: str
    wrong: tuple[str, ...]
    about: tuple[int, ...]  # the things that it is about


class Facts:
    """Lists what can be asked about sights, in words that nano:vlm knows.

    Args:
        lexicon: the vocabularies.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._nouns = {e.name: e for e in (*lexicon.objects.entries, *lexicon.shapes.entries)}
        self._relations: dict[tuple[Axis, int], Relation] = {}
        for entry in (*lexicon.positions.entries, *lexicon.sizes.entries):
            self._relations.setdefault((entry.axis, entry.direction), entry)

    def of(self, sight: Sight) -> list[Fact]:
        """Return every question about a sight that has one right answer."""
        named = [i for i, noun in enumerate(sight.nouns) if sight.only(noun) == i]
        facts = [*self._colors(sight, named), *self._counts(sight), *self._things(sight)]
        facts += [*self._places(sight, named), *self._relation(sight, named)]
        facts += self._related(sight, named)
        return [fact for fact in facts if fact.wrong]

    def _colors(self, sight: Sight, named: Sequence[int]) -> Iterator[Fact]:
        for i in named:
            if sight.colors[i]:
                question = f"What color {self._is(sight.nouns[i])} the {sight.nouns[i]}?"
                wrong = self._other_colors(sight, i)
                yield Fact("color", question, sight.colors[i], wrong, (i,))

    def _other_colors(self, sight: Sight, i: int) -> tuple[str, ...]:
        own, colors = sight.colors[i], self._lexicon.colors
        near = [name for name in colors.names if name in colors[own].close]
        wrong = dict.fromkeys([*filter(None, sight.colors), *near, *colors.names])
        return tuple(name for name in wrong if not colors.overlaps(own, name))

    def _counts(self, sight: Sight) -> Iterator[Fact]:
        n = len(sight.nouns)
        if 0 < n < len(NUMBERS):
            near = [NUMBERS[k] for k in (n + 1, n - 1, n + 2, n - 2) if 0 < k < len(NUMBERS)]
            about = tuple(range(n))
            yield Fact("count", "How many objects are there?", NUMBERS[n], tuple(near), about)

    def _things(self, sight: Sight) -> Iterator[Fact]:
        """Ask what has a color that one thing alone has, where all colors are known."""
        overlaps = self._lexicon.colors.overlaps
        for i, color in enumerate(sight.colors if all(sight.colors) else ()):
            if sum(overlaps(color, other) for other in sight.colors) == 1:
                question = f"What is the {color} object?"
                yield Fact("thing", question, sight.nouns[i], self._other_nouns(sight, i), (i,))

    def _other_nouns(self, sight: Sight, i: int) -> tuple[str, ...]:
        """Return the other things there, then what looks like this one or is listed near it."""
        own = sight.nouns[i]
        shape = own in self._lexicon.shapes.by_name
        words = self._lexicon.shapes if shape else self._lexicon.objects
        at = {name: place for place, name in enumerate(words.names)}
        near = [name for name in words.names if name in words[own].close]
        around = sorted(words.names, key=lambda name: (abs(at[name] - at[own]), at[name]))
        wrong = dict.fromkeys([*sight.nouns, *near, *around[: LOOKALIKES + 1]])
        return tuple(name for name in wrong if not self._same(own, name))

    def _places(self, sight: Sight, named: Sequence[int]) -> Iterator[Fact]:
        """Ask on which side one of two things is."""
        for i in named if len(sight.nouns) == 2 else ():
            sign = sight.sign(i, 1 - i, "horizontal")
            if sign:
                side, other = ("right", "left") if sign > 0 else ("left", "right")
                question = f"Where {self._is(sight.nouns[i])} the {sight.nouns[i]}?"
                yield Fact("place", question, side, (other,), (i,))

    def _relation(self, sight: Sight, named: Sequence[int]) -> Iterator[Fact]:
        """Ask for the relation of two things, against its inverse."""
        for i, j in combinations(named, 2):
            for axis in AXES:
                found = self._relations.get((axis, sight.sign(i, j, axis) or 0))
                if found is None:
                    continue
                # In one order, whichever holds, so that the words say nothing about the answer.
                first, second = (self._relations[axis, k].name for k in (1, -1))
                noun, other = sight.nouns[i], sight.nouns[j]
                verb = self._is(noun).capitalize()
                question = f"{verb} the {noun} {first} or {second} the {other}?"
                wrong = second if found.name == first else first
                yield Fact("relation", question, found.name, (wrong,), (i, j))

    def _related(self, sight: Sight, named: Sequence[int]) -> Iterator[Fact]:
        """Ask what stands in a relation to a thing, and for its color, where nothing else does."""
        for i, j in permutations(named, 2):
            for axis in AXES:
                sign = sight.sign(i, j, axis)
                found = self._relations.get((axis, sign or 0))
                others = [k for k in range(len(sight.nouns)) if k not in (i, j)]
                if found is None or any(sight.sign(k, j, axis) in (sign, None) for k in others):
                    continue
                what = f"{found.name} the {sight.nouns[j]}"
                wrong = self._other_nouns(sight, i)
                yield Fact("related", f"What is {what}?", sight.nouns[i], wrong, (i, j))
                if sight.colors[i]:
                    question, wrong = (
                        f"What color is the object {what}?",
                        self._other_colors(sight, i),
                    )
                    yield Fact("pair", question, sight.colors[i], wrong, (i, j))

    def _same(self, one: str, other: str) -> bool:
        for vocabulary in (self._lexicon.objects, self._lexicon.shapes):
            if {one, other} <= vocabulary.by_name.keys() and vocabulary.overlaps(one, other):
                return True
        return one == other

    def _is(self, noun: str) -> str:
        return "are" if self._nouns[noun].number in ("pair", "plural") else "is"
