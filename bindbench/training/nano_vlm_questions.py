"""Texts about a scene: captions, questions with answers, and claims, true of what is to be seen."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bindbench.captions import grammar
from bindbench.concepts import Concept
from bindbench.tasks import TRACKS
from bindbench.training.nano_clip_data import held_out_pairs
from bindbench.training.nano_clip_text import Teller
from bindbench.training.nano_vlm_text import LETTERS, NUMBERS, ORDER, ORDINALS, PROMPTS, joined
from bindbench.validation.labels import UNCLEAR
from bindbench.vocabulary import Lexicon, Noun, Relation

# A relation is clear, or clearly not, on either side of the judges' thresholds (docs/numbers.md).
CLEAR_OFFSET, UNCLEAR_OFFSET = 0.165, 0.12
CLEAR_AREA, UNCLEAR_AREA = 1.6, 1.35
CLEAR_EXTENT, UNCLEAR_EXTENT = 1.14, 1.05
ROW_GAP = 0.06  # least offset of neighbours in an order from left to right
LEVEL_SPREAD = 0.13  # most offset of objects on one level
CAPTION_WEIGHT = 4.0  # of a whole caption, beside 1 of an answer's token
FRAME_WEIGHT = 0.15  # of a word that tells nothing of the scene, beside one that does
BLIND = 0.12  # share of captions that the image is hidden from
SIZES_FIRST = 0.7  # how often a caption of relations is of sizes, if these are clear
WHOLE = 0.6  # share of color captions that tell the whole scene
ASKED_UNCLEAR = 0.5  # share of unclear relations that are asked about nevertheless
HARD = 0.65  # share of false claims with another object's color


@dataclass(frozen=True)
class Text:
    """A prompt with what a model should go on with."""

    prompt: str
    answer: str
    kind: str
    blind: bool = False  # the image is hidden
    hint: tuple[str, str] | None = None  # a word of the prompt, and what to think of at it
    unseen: bool = False  # speaks of an (object, color) pair that is held out

    @property
    def caption(self) -> bool:
        """Whether the answer is a caption."""
        return self.kind.startswith("caption")


@dataclass(frozen=True)
class Sight:
    """What can be seen: n objects with their boxes. Measures are shares of the side, y upwards."""

    nouns: tuple[str, ...]
    colors: tuple[str, ...]
    centers: np.ndarray  # float64 (n, 2)
    extents: np.ndarray  # float64 (n,): longer sides of the boxes
    areas: np.ndarray  # float64 (n,): of the masks

    @property
    def n(self) -> int:
        """The number of objects."""
        return len(self.nouns)

    @property
    def alike(self) -> bool:
        """Whether these are several objects of one noun."""
        return self.n > 1 and len(set(self.nouns)) == 1

    def offset(self, i: int, j: int, axis: int) -> int | None:
        """Return the side that object i lies on: 1 right or up, -1, 0 not clear, None: doubtful."""
        by = self.centers[i, axis] - self.centers[j, axis]
        if abs(by) >= CLEAR_OFFSET:
            return 1 if by > 0 else -1
        return 0 if abs(by) <= UNCLEAR_OFFSET else None

    def size(self, i: int, j: int) -> int | None:
        """Return whether object i is larger: 1, -1 smaller, 0 not clear, None: doubtful."""
        area, extent = self.areas[i] / self.areas[j], self.extents[i] / self.extents[j]
        for sign in (1, -1):
            if area**sign >= CLEAR_AREA and extent**sign >= CLEAR_EXTENT:
                return sign
        by_area = max(area, 1 / area) <= UNCLEAR_AREA
        by_extent = max(extent, 1 / extent) <= UNCLEAR_EXTENT
        opposed = (area > CLEAR_AREA and extent < 1 / CLEAR_EXTENT) or (
            area < 1 / CLEAR_AREA and extent > CLEAR_EXTENT
        )
        return 0 if by_area or by_extent or opposed else None

    def holds(self, relation: Relation, i: int, j: int) -> bool | None:
        """Return whether "i RELATION j" is clearly true, or clearly not; None: doubtful."""
        if relation.axis == "size":
            found = self.size(i, j)
        else:
            found = self.offset(i, j, 0 if relation.axis == "horizontal" else 1)
        return None if found is None else found == relation.direction

    @cached_property
    def row(self) -> tuple[int, ...]:
        """The objects from left to right, empty if that order is not clear."""
        order = np.argsort(self.centers[:, 0], kind="stable")
        gaps = np.diff(self.centers[order, 0])
        return tuple(int(k) for k in order) if self.n > 1 and (gaps >= ROW_GAP).all() else ()

    @cached_property
    def sides(self) -> tuple[str, ...]:
        """For each of two or three distinct objects "left", "middle" or "right"; "": not clear."""
        if self.alike or not 2 <= self.n <= 3 or not self.row:
            return ("",) * self.n
        if self.n == 2 and self.offset(*self.row[::-1], axis=0) != 1:
            return ("",) * self.n
        names = ("left", "right") if self.n == 2 else ("left", "middle", "right")
        return tuple(names[self.row.index(k)] for k in range(self.n))

    @cached_property
    def levels(self) -> tuple[str, ...]:
        """For each of two or three objects "top" or "bottom"; "" if there are no two levels."""
        heights = self.centers[:, 1]
        order = np.argsort(heights, kind="stable")
        gaps = np.diff(heights[order])
        if self.alike or not 2 <= self.n <= 3 or gaps.max() < CLEAR_OFFSET:
            return ("",) * self.n
        split = int(gaps.argmax()) + 1
        if any(np.ptp(heights[part]) > LEVEL_SPREAD for part in (order[:split], order[split:])):
            return ("",) * self.n
        return tuple("top" if k in order[split:] else "bottom" for k in range(self.n))

    @cached_property
    def extremes(self) -> tuple[str, ...]:
        """For each of several distinct objects "largest" or "smallest"; "": neither, clearly."""
        if self.alike or self.n == 1:
            return ("",) * self.n
        found = []
        for k in range(self.n):
            signs = {self.size(k, j) for j in range(self.n) if j != k}
            found.append("largest" if signs == {1} else "smallest" if signs == {-1} else "")
        return tuple(found)

    @cached_property
    def orders(self) -> tuple[str, ...]:
        """The place of each of three to six like objects in its row; "": none."""
        if not self.alike or not self.row or self.n not in ORDER:
            return ("",) * self.n
        return tuple(ORDER[self.n][self.row.index(k)] for k in range(self.n))


class Asker:
    """Makes random texts about sights."""

    def __init__(self, lexicon: Lexicon, nouns: Sequence[str], held_out: bool = False) -> None:
        """Prepare.

        Args:
            lexicon: the words.
            nouns: what may be asked for that is not there.
            held_out: whether false claims may be of (object, color) pairs that are held out;
                in training they would teach that such pairs never are.
        """
        self._lexicon, self._teller, self._nouns = lexicon, Teller(lexicon), tuple(nouns)
        self._held = held_out_pairs(lexicon)
        self._avoided = frozenset() if held_out else self._held
        self._objects = {e.name: e for e in (*lexicon.shapes.entries, *lexicon.objects.entries)}
        self._colors = lexicon.colors.names

    def ask(self, sight: Sight, rng: np.random.Generator) -> list[Text]:
        """Return about 15 texts."""
        texts = self._captions(sight, rng)
        kinds: tuple[Callable[[Sight, np.random.Generator], list[Text]], ...]
        if sight.alike:
            kinds = (self.in_row, self.row_claims, self.beside, self.listed, self.letters)
        else:
            kinds = (
                self.color,
                self.claims,
                self.named_color,
                self.places,
                self.relations,
                self.related,
                self.sizes,
                self.letters,
                self.listed,
            )
        for kind in (*kinds, self.inverse, self.presence, self.counts):
            texts += kind(sight, rng)
        return list({(text.prompt, text.answer): text for text in texts}.values())

    def _captions(self, sight: Sight, rng: np.random.Generator) -> list[Text]:
        texts = []
        for concept in (self.color_concept(sight, rng), self.relation_concept(sight, rng)):
            if concept is None:
                continue
            style = TRACKS[int(rng.integers(2))] if not sight.alike else "minimal"
            caption = self._teller.caption(concept, style, int(rng.integers(2**32)))
            prompt = PROMPTS[int(rng.integers(len(PROMPTS)))]
            kind = f"caption {concept.task_name}"
            texts.append(Text(prompt, caption, kind, blind=rng.random() < BLIND))
        return texts

    def color_concept(self, sight: Sight, rng: np.random.Generator) -> Concept:
        """Return the objects or some of them with their colors, in random order."""
        most = min(sight.n, 3)
        count = most if rng.random() < WHOLE else int(rng.integers(1, most + 1))
        kept = rng.permutation(sight.n)[:count]
        nouns, colors = (tuple(words[k] for k in kept) for words in (sight.nouns, sight.colors))
        shapes = all(name in self._lexicon.shapes.by_name for name in nouns)
        return Concept("shape_color" if shapes else "color", nouns, colors)

    def relation_concept(self, sight: Sight, rng: np.random.Generator) -> Concept | None:
        """Return a chain of true relations between distinct objects in random order, if any."""
        if (
            sight.alike
            or sight.n == 1
            or any(n in self._lexicon.shapes.by_name for n in sight.nouns)
        ):
            return None
        order = [int(k) for k in rng.permutation(sight.n)]
        count = 2 if sight.n == 2 or rng.random() < 0.2 else sight.n
        tasks = ("position", "relative_size")
        for task in tasks if rng.random() > SIZES_FIRST else tasks[::-1]:
            relations = self._lexicon.positions if task == "position" else self._lexicon.sizes
            labels: list[str] = []
            for i, j in itertools.pairwise(order[:count]):
                true = [r.name for r in relations.entries if sight.holds(r, i, j)]
                fresh = [name for name in true if name not in labels] or true
                if fresh:
                    labels.append(fresh[int(rng.integers(len(fresh)))])
            if len(labels) == count - 1:
                return Concept(task, tuple(sight.nouns[k] for k in order[:count]), tuple(labels))
        return None

    def color(self, sight: Sight, rng: np.random.Generator) -> list[Text]:
        """Ask for the color of every object."""
        texts = []
        for noun, color in zip(sight.nouns, sight.colors, strict=True):
            if rng.random() < 0.65:
                prompt = f"What color {self._is(noun)} the {noun}?"
            else:
                prompt = f"What is the color of the {noun}?"
            texts.append(Text(prompt, color, "color", unseen=(noun, color) in self._held))
        return texts

    def claims(self, sight: Sight, rng: np.random.Generator) -> list[Text]:
        """Claim right and wrong colors, the wrong ones mostly of another object."""
        texts = []
        for _ in range(min(sight.n, 2)):
            k = int(rng.integers(sight.n))
            texts.append(self._claim(sight, k, sight.colors[k]))
            k = int(rng.integers(sight.n))
            wrong = self._wrong_color(sight, k, sight.n > 1 and rng.random() < HARD, rng)
            if wrong:
                texts.append(self._claim(sight, k, wrong))
        return texts

    def _claim(self, sight: Sight, k: int, color: str) -> Text:
        noun, true = sight.nouns[k], sight.colors[k]
        kind = "claim yes" if color == true else "claim other"
        if color != true and color in sight.colors:
            kind = "claim swapped"
        return Text(
            f"{self._is(noun).capitalize()} the {noun} {color}?",
            "yes" if color == true else "no",
            kind,
            hint=(noun, true),
            unseen=(noun, true) in self._held,
        )

    def _wrong_color(
        self, sight: Sight, k: int, present: bool, rng: np.random.Generator
    ) -> str | None:
        pool = sight.colors if present else self._colors
        usable = [
            color
            for color in pool
            if color != sight.colors[k]
            and (sight.nouns[k], color) not in self._avoided
            and not self._lexicon.colors.overlaps(color, sight.colors[k])
        ]
        return usable[int(rng.integers(len(usable)))] if usable else None

    def named_color(self, sight: Sight, rng: np.random.Generator) -> list[Text]:
        """Ask now and then whether a color is an object's, to be answered color first."""
        if rng.random() > 0.35:
            return []
        k = int(rng.integers(sight.n))
        noun, true = sight.nouns[k], sight.colors[k]
        wrong = self._wrong_color(sight, k, sight.n > 1 and rng.random() < HARD, rng)
        color, said = (wrong, "no") if wrong and rng.random() < 0.5 else (true, "yes")
        return [Text(f"Is {color} the color of the {noun}?", f"{true}, {said}", "named color")]

    def places(self, sight: Sight, rng: np.random.Generator) -> list[Text]:
        """Ask where objects are, and what is at a place."""
        texts = []
        for k in (int(k) for k in rng.permutation(sight.n)[:2]):
            noun, side, level = sight.nouns[k], sight.sides[k], sight.levels[k]
            is_ = self._is(noun)
            if side and (not level or rng.random() < 0.7):
                prompt = f"Where {is_} the {noun}?"
                if sight.n == 2 and rng.random() < 0.25:
                    prompt = f"{is_.capitalize()} the {noun} on the left or on the right?"
                texts.append(Text(prompt, side, "place"))
            elif level:
                prompt = f"{is_.capitalize()} the {noun} at the top or at the bottom?"
                if not side and rng.random() < 0.5:
                    prompt = f"Where {is_} the {noun}?"
                texts.append(Text(prompt, level, "level", hint=(noun, level)))
        places = sight.sides if rng.random() < 0.7 else sight.levels
        single = [k for k, place in enumerate(places) if place and places.count(place) == 1]
        if single and rng.random() < 0.6:
            k = single[int(rng.integers(len(single)))]
            how = f"at the {places[k]}" if places[k] in ("top", "bottom") else f"on the {places[k]}"
            if places[k] == "middle":
                how = "in the middle"
            texts.append(Text(f"What is {how}?", sight.nouns[k], "at place"))
        return texts

    def relations(self, sight: Sight, rng: np.random.Generator) -> list[Text]:
        """Ask the judges' questions on relations, and claim right and wrong ones."""
        if sight.n == 1:
            return []
        texts = []
        axes = [*rng.permutation(3)[:2], 3]
        for axis in axes:
            i, j = (int(k) for k in rng.permutation(sight.n)[:2])
            if axis == 3:
                texts += self._relation_claim(sight, i, j, rng)
            else:
                asked = self.judged(sight, i, j, ("horizontal", "vertical", "size")[axis])
                texts += [t for t in asked if t.answer != UNCLEAR or rng.random() < ASKED_UNCLEAR]
        return texts

    def judged(self, sight: Sight, i: int, j: int, axis: str) -> list[Text]:
        """Ask a judge's question on two objects and an axis, if its answer is beyond doubt."""
        relations = self._lexicon.sizes if axis == "size" else self._lexicon.positions
        pair = [r for r in relations.entries if r.axis == axis]
        first = pair[0]
        options = [first, *(r for r in pair if r.name == first.inverse)]
        texts = []
        held = [sight.holds(r, i, j) for r in options]
        if None not in held:
            true = [r.name for r, is_true in zip(options, held, strict=True) if is_true]
            verb = self._is(sight.nouns[i]).capitalize()
            names = " or ".join(r.name for r in options)
            prompt = f"{verb} the {sight.nouns[i]} {names} the {sight.nouns[j]}?"
            texts.append(Text(prompt, true[0] if true else UNCLEAR, f"relation {axis}"))
        return texts

    def _relation_claim(self, sight: Sight, i: int, j: int, rng: np.random.Generator) -> list[Text]:
        pools = (self._lexicon.positions.entries, self._lexicon.sizes.entries)
        relations = pools[int(rng.random() < 0.35)]
        want = bool(rng.random() < 0.5)
        fitting = [r for r in relations if sight.holds(r, i, j) is want]
        if not want:  # the opposite is clearly so, not merely nothing
            fitting = [r for r in fitting if sight.holds(r, j, i)]
        if not fitting:
            return []
        name = fitting[int(rng.integers(len(fitting)))].name
        prompt = (
            f"{self._is(sight.nouns[i]).capitalize()} the {sight.nouns[i]} {name} the "
            f"{sight.nouns[j]}?"
        )
        kind = f"relation claim {'yes' if want else 'no'}"
        return [Text(prompt, "yes" if want else "no", kind)]

    def related(self, sight: Sight, rng: np.random.Generator) -> list[Text]:
        """Ask what stands in a relation to an object, where that is one thing alone."""
        found = []
        for relation in (*self._lexicon.positions.entries, *self._lexicon.sizes.entries):
            for k in range(sight.n):
                held = [sight.holds(relation, i, k) for i in range(sight.n) if i != k]
                others = [i for i in range(sight.n) if i != k]
                if held.count(True) == 1 and None not in held:
                    found.append((relation, k, others[held.index(True)]))
        texts = []
        for at in rng.permutation(len(found))[:2]:
            relation, k, other = found[at]
            prompt = f"What is {relation.name} the {sight.nouns[k]}?"
            texts.append(Text(prompt, sight.nouns[other], f"related {relation.axis}"))
        return texts

    def sizes(self, sight: Sight, rng: np.random.Generator) -> list[Text]:
        """Ask now and then for the largest or smallest object."""
        if sight.n == 1 or rng.random() > 0.5:
            return []
        name = "largest" if rng.random() < 0.5 else "smallest"
        if name not in sight.extremes:
            return []
        said = name if sight.n > 2 else {"largest": "larger", "smallest": "smaller"}[name]
        noun = sight.nouns[sight.extremes.index(name)]
        return [Text(f"Which object is {said}?", noun, "extreme size")]

    def inverse(self, sight: Sight, rng: np.random.Generator) -> list[Text]:
        """Ask which object has a color, or where the one of like objects that has it is."""
        texts = []
        for k in (int(k) for k in rng.permutation(sight.n)[: 2 if sight.alike else 1]):
            noun, color = sight.nouns[k], sight.colors[k]
            unseen = (noun, color) in self._held
            if sight.alike:
                if sight.orders[k]:
                    prompt = f"Where {self._is(noun)} the {color} {noun}?"
                    order = sight.orders[k]
                    texts.append(
                        Text(prompt, order, "order of color", hint=(color, order), unseen=unseen)
                    )
                continue
            what = "shape" if noun in self._lexicon.shapes.by_name else "object"
            forms = (
                f"What is {color}?",
                f"What {what} is {color}?",
                f"What is the {color} object?",
                f"What {what} is the {color} object?",
            )
            kind = "shape of color" if what == "shape" else "object of color"
            prompt = forms[int(rng.integers(len(forms)))]
            texts.append(Text(prompt, noun, kind, unseen=unseen))
        return texts

    def presence(self, sight: Sight, rng: np.random.Generator) -> list[Text]:
        """Ask for what is there and what is not."""
        where = " in the image" if rng.random() < 0.2 else ""
        k = int(rng.integers(sight.n))
        absent = self.absent(sight, rng)
        texts = [
            Text(f"Is there {self._a(sight.nouns[k])}{where}?", "yes", "presence yes"),
            Text(f"Is there {self._a(absent)}{where}?", "no", "presence no"),
        ]
        if rng.random() < (0.8 if sight.alike else 0.4):
            k = int(rng.integers(sight.n))
            noun, color, said = sight.nouns[k], sight.colors[k], "yes"
            if rng.random() < 0.5:
                wrong = self._wrong_color(sight, k, not sight.alike and sight.n > 1, rng)
                if wrong is None or any(
                    n == noun and self._lexicon.colors.overlaps(wrong, c)
                    for n, c in zip(sight.nouns, sight.colors, strict=True)
                ):
                    return texts
                color, said = wrong, "no"
            prompt = f"Is there {self._a(noun, color)}?"
            there = [n for n, c in zip(sight.nouns, sight.colors, strict=True) if c == color]
            hint = (color, there[0] if there else "none")
            texts.append(Text(prompt, said, f"colored presence {said}", hint=hint))
        return texts

    def absent(self, sight: Sight, rng: np.random.Generator) -> str:
        """Return a noun that is not there, nor any that says the same or more."""
        while True:
            noun = self._nouns[int(rng.integers(len(self._nouns)))]
            if not any(self._same(noun, other) for other in sight.nouns):
                return noun

    def _same(self, noun: str, other: str) -> bool:
        for vocabulary in (self._lexicon.objects, self._lexicon.shapes):
            if {noun, other} <= vocabulary.by_name.keys() and vocabulary.overlaps(noun, other):
                return True
        return noun == other

    def counts(self, sight: Sight, rng: np.random.Generator) -> list[Text]:
        """Ask how many objects there are, and how many of a kind."""
        texts = []
        if rng.random() < 0.5 or sight.alike:
            texts.append(Text("How many objects are there?", NUMBERS[sight.n], "count"))
        if rng.random() < (0.7 if sight.alike else 0.5):
            noun = sight.nouns[int(rng.integers(sight.n))]
            number = sight.nouns.count(noun)
            if rng.random() < 0.25:
                noun, number = self.absent(sight, rng), 0
            many = grammar.plural(self._objects[noun])
            texts.append(Text(f"How many {many} are there?", NUMBERS[number], "count of noun"))
        return texts

    def listed(self, sight: Sight, rng: np.random.Generator) -> list[Text]:
        """Ask for all colors from left to right."""
        if not sight.row or rng.random() > (0.8 if sight.alike else 0.3):
            return []
        colors = ", ".join(sight.colors[k] for k in sight.row)
        return [Text("List the colors from left to right.", colors, "list of colors")]

    def letters(self, sight: Sight, rng: np.random.Generator) -> list[Text]:
        """Ask now and then for the letter of a color among options, or of a place."""
        if rng.random() > 0.5:
            return []
        k = int(rng.integers(sight.n))
        noun, color = sight.nouns[k], sight.colors[k]
        if sight.alike:
            if not sight.orders[k]:
                return []
            prompt, options = f"Where {self._is(noun)} the {color} {noun}?", list(ORDER[sight.n])
            right, hint = sight.orders[k], (color, sight.orders[k])
        else:
            prompt, right = f"What color {self._is(noun)} the {noun}?", color
            hint = (noun, color)
            wrong = [
                self._wrong_color(sight, k, present and sight.n > 1, rng)
                for present in (True, False, False)
            ]
            others = list(dict.fromkeys(w for w in wrong if w))
            options = [right, *others[: int(rng.integers(1, 4))]]
            options = [options[i] for i in rng.permutation(len(options))]
        lines = "".join(f"\n{x}. {option}" for x, option in zip(LETTERS, options, strict=False))
        return [Text(prompt + lines, LETTERS[options.index(right)], "letter", hint=hint)]

    def in_row(self, sight: Sight, rng: np.random.Generator) -> list[Text]:
        """Ask for the colors of like objects by their order."""
        texts = []
        for k in (int(k) for k in rng.permutation(sight.n)[:4]):
            if not sight.orders[k]:
                continue
            noun, color, order = sight.nouns[k], sight.colors[k], sight.orders[k]
            unseen = (noun, color) in self._held
            is_ = self._is(noun)
            texts.append(
                Text(
                    f"What color {is_} the {order} {noun}?",
                    color,
                    "color by order",
                    False,
                    (noun, color),
                    unseen,
                )
            )
            if rng.random() < 0.5:
                place, side = sight.row.index(k), "left"
                if rng.random() < 0.5:
                    place, side = sight.n - 1 - place, "right"
                prompt = f"What color {is_} the {ORDINALS[place]} {noun} from the {side}?"
                texts.append(Text(prompt, color, "color by ordinal", unseen=unseen))
        return texts

    def row_claims(self, sight: Sight, rng: np.random.Generator) -> list[Text]:
        """Claim right colors and neighbours' colors of like objects."""
        texts = []
        for wanted in (True, False, True, False):
            k = int(rng.integers(sight.n))
            noun, true, order = sight.nouns[k], sight.colors[k], sight.orders[k]
            color, kind = true, "order claim yes"
            if not wanted:
                at = sight.row.index(k) if sight.row else 0
                near = [sight.row[p] for p in (at - 1, at + 1) if 0 <= p < len(sight.row)]
                beside = [sight.colors[j] for j in near]
                if beside and rng.random() < 0.7:
                    color = beside[int(rng.integers(len(beside)))]
                else:
                    color = self._wrong_color(sight, k, rng.random() < 0.7, rng)
                kind = "order claim no"
            if not order or color is None:
                continue
            if not wanted and self._lexicon.colors.overlaps(color, true):
                continue
            prompt = f"{self._is(noun).capitalize()} the {order} {noun} {color}?"
            said = "yes" if color == true else "no"
            unseen = (noun, true) in self._held
            texts.append(Text(prompt, said, kind, hint=(noun, true), unseen=unseen))
        return texts

    def beside(self, sight: Sight, rng: np.random.Generator) -> list[Text]:
        """Ask for the color of the like object next to one."""
        texts = []
        if not sight.row:
            return []
        for _ in range(2):
            at = int(rng.integers(sight.n - 1))
            target, anchor, side = sight.row[at], sight.row[at + 1], "left"
            if rng.random() < 0.5:
                target, anchor, side = anchor, target, "right"
            noun = sight.nouns[target]
            prompt = (
                f"What color {self._is(noun)} the {noun} immediately to the {side} of the "
                f"{sight.colors[anchor]} {noun}?"
            )
            color = sight.colors[target]
            hint, unseen = (sight.colors[anchor], color), (noun, color) in self._held
            texts.append(Text(prompt, color, "color beside", hint=hint, unseen=unseen))
        return texts

    def _noun(self, name: str) -> Noun:
        return self._objects[name]

    def _is(self, noun: str) -> str:
        return "are" if self._noun(noun).number in ("pair", "plural") else "is"

    def _a(self, noun: str, color: str | None = None) -> str:
        words = f"{color} {noun}" if color else noun
        return f"{grammar.indefinite(self._noun(noun), color)} {words}"


def content_words(lexicon: Lexicon) -> frozenset[str]:
    """Return the tokens that tell something of a scene; all other words of captions are frame."""
    names = [joined(name) for name in (*lexicon.objects.names, *lexicon.shapes.names)]
    names += lexicon.colors.names
    relations = (*lexicon.positions.names, *lexicon.sizes.names)
    words = {word for name in relations for word in name.split()}
    return frozenset({*names, *words} - {"to", "the", "of", "than", "on"})
