"""What an image is to show: the concept, or the concept with one fault."""

import itertools
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from bindbench.concepts import Concept
from bindbench.errors import UserError, unknown_name
from bindbench.rendering.faults import FAULTS
from bindbench.rendering.meshes import mesh_of, similarity
from bindbench.tasks import Track
from bindbench.vocabulary import Color, Lexicon, Noun, Relation, Vocabulary

Backdrop = Literal["plain", "tinted", "dark", "patterned"]
NEIGHBOURS = 3  # how many of the most similar silhouettes count as look-alikes


@dataclass(frozen=True)
class Demand:
    """What holds between two objects along an axis.

    clear: decided beyond doubt; near: about at the threshold; level: no offset at all.
    """

    first: int
    second: int
    axis: Literal["horizontal", "vertical", "size"]
    direction: int  # 1: the first lies further along the axis (right, up, larger)
    how: Literal["clear", "near", "level"] = "clear"


@dataclass(frozen=True)
class Leak:
    """A second color on half of an object."""

    color: str
    axis: Literal["x", "z"]
    upper: bool  # the half further along the axis has it


@dataclass(frozen=True)
class Plan:
    """The objects to draw and what holds between them."""

    nouns: tuple[str, ...]
    colors: tuple[str, ...]
    relations: tuple[str, ...]  # as drawn; empty in attribute tasks
    demands: tuple[Demand, ...]
    leaks: tuple[Leak | None, ...]
    in_clutter: int | None = None  # the object that stands further back
    backdrop: Backdrop = "plain"


def _closure(demands: list[Demand]) -> list[Demand]:
    """Add what transitivity implies (larger than larger is larger), to be drawn clearly too."""
    closed = list(demands)
    for a in demands:
        for b in demands:
            if a.axis == b.axis and a.how == b.how == "clear":
                middle = {a.first, a.second} & {b.first, b.second}
                ends = ({a.first, a.second} | {b.first, b.second}) - middle
                if a is b or len(middle) != 1:
                    continue
                first, second = sorted(ends)
                # signs of (first - middle) and (middle - second)
                up = a if first in (a.first, a.second) else b
                down = b if up is a else a
                sign_up = up.direction if up.first == first else -up.direction
                sign_down = down.direction if down.second == second else -down.direction
                implied = Demand(first, second, a.axis, sign_up)
                if sign_up == sign_down and implied not in closed:
                    closed.append(implied)
    return closed


def _links(labels: tuple[str, ...], relations: Vocabulary[Relation]) -> list[Demand]:
    return [
        Demand(k, k + 1, relations[label].axis, relations[label].direction)
        for k, label in enumerate(labels)
    ]


def _same_drawing(a: Noun, b: Noun) -> bool:
    return (a.icon, None if a.icon else a.primitive) == (b.icon, None if b.icon else b.primitive)


def _wrong_nouns(concept: Concept, j: int, nouns: Vocabulary[Noun]) -> list[Noun]:
    """The drawable nouns that make the concept's caption wrong in the place of object j."""
    right = nouns[concept.objects[j]]
    used = [nouns[name] for name in concept.objects]
    return [
        noun
        for noun in nouns.entries
        if noun.drawable
        and not _still_right(noun, right, nouns)
        and not any(noun.name == other.name or _same_drawing(noun, other) for other in used)
    ]


def _still_right(drawn: Noun, right: Noun, nouns: Vocabulary[Noun]) -> bool:
    """Whether the picture of one noun may pass for another (a cube is a cuboid).

    A drawn cuboid is clearly longer than a cube, so among shapes the broader word is wrong.
    """
    if nouns.kind == "shapes" and nouns.is_broader(drawn.name, right.name):
        return False
    return nouns.overlaps(drawn.name, right.name)


def _lookalikes(right: Noun, candidates: list[Noun]) -> list[Noun]:
    """Candidates that are listed as close, and the most similar silhouettes."""
    mesh = mesh_of(right)
    by_likeness = sorted(candidates, key=lambda noun: (-similarity(mesh, mesh_of(noun)), noun.name))
    close = [n for n in candidates if n.name in right.close or right.name in n.close]
    return close + [noun for noun in by_likeness[:NEIGHBOURS] if noun not in close]


def _other_noun(
    concept: Concept, j: int, fault: str, nouns: Vocabulary[Noun], rng: np.random.Generator
) -> str:
    candidates = _wrong_nouns(concept, j, nouns)
    right = nouns[concept.objects[j]]
    alike = _lookalikes(right, candidates)
    if fault == "lookalike":
        chosen = alike
    else:
        chosen = [n for n in candidates if n not in alike] or candidates
    if not chosen:
        raise UserError(
            f"The fault {fault!r} needs a second drawable noun beside {right.name!r}, but the "
            f"vocabulary {nouns.name} has none: add one, or set the fault's rate to 0."
        )
    return chosen[int(rng.integers(len(chosen)))].name


def _leak_pair(
    labels: tuple[str, ...], colors: Vocabulary[Color], rng: np.random.Generator
) -> tuple[int, int]:
    """Choose whose color leaks onto whom, so that the caption becomes wrong."""
    n = len(labels)
    pairs = [
        (a, b)
        for a in range(n)
        for b in range(n)
        if a != b and not colors.overlaps(labels[b], labels[a])
    ] or [
        (a, b)
        for a in range(n)
        for b in range(n)
        if a != b and not colors.is_broader(labels[b], labels[a])  # navy is blue
    ]
    return pairs[int(rng.integers(len(pairs)))]


def _fits_two_levels(n: int, demands: list[Demand]) -> bool:
    """Whether n objects on two levels, the floor and a shelf, can satisfy the vertical demands."""
    vertical = [d for d in demands if d.axis == "vertical"]
    return any(
        all(
            level[d.first] - level[d.second] == (d.direction if d.how == "clear" else 0)
            for d in vertical
        )
        for level in itertools.product((0, 1), repeat=n)
    )


def _wrong_links(
    n: int, link: int, demands: list[Demand], rng: np.random.Generator
) -> list[Demand]:
    """Make a link wrong: the opposite order, or now and then the other axis of the picture.

    Where that would need three levels ("above" twice), every link is turned round.
    """
    old = demands[link]
    rest = [d for k, d in enumerate(demands) if k != link]
    sideways = old.axis != "size" and rng.random() < 0.3
    direction = 1 if rng.random() < 0.5 else -1
    if sideways:
        other = "vertical" if old.axis == "horizontal" else "horizontal"
        level = Demand(old.first, old.second, old.axis, 1, "level")
        for sign in (direction, -direction):
            changed = [*rest, Demand(old.first, old.second, other, sign), level]
            if _fits_two_levels(n, _closure(changed)):
                return changed
    changed = [*rest, _opposite(old)]
    if _fits_two_levels(n, _closure(changed)):
        return changed
    return [_opposite(d) for d in demands]


def _opposite(demand: Demand) -> Demand:
    return replace(demand, direction=-demand.direction)


def _name_of(demand: Demand, relations: Vocabulary[Relation]) -> str:
    for relation in relations.entries:
        if (relation.axis, relation.direction) == (demand.axis, demand.direction):
            return relation.name
    return f"{demand.axis} {demand.direction:+d}"


def _without(demands: list[Demand], j: int) -> list[Demand]:
    """Drop the demands on object j and renumber the others."""

    def moved(k: int) -> int:
        return k - (k > j)

    return [
        Demand(moved(d.first), moved(d.second), d.axis, d.direction, d.how)
        for d in demands
        if j not in (d.first, d.second)
    ]


def make_plan(
    concept: Concept, track: Track, seed: int, lexicon: Lexicon, fault: str | None
) -> Plan:
    """Decide what an image shows.

    Raises:
        UserError: an unknown fault, one that does not apply to this concept and track, or a
            word that the lexicon lacks.
    """
    if fault is not None and fault not in FAULTS:
        raise unknown_name("fault", fault, FAULTS)
    if fault is not None and not FAULTS[fault].applies(concept, track):
        raise UserError(
            f"The fault {fault!r} can't happen to {concept.task_name} with N={concept.n} in the "
            f"{track} track: draw_fault chooses among those that can."
        )
    kind = list(FAULTS).index(fault) + 1 if fault else 0
    rng = np.random.default_rng([seed, 1, int(track == "contextual"), kind])
    nouns, colors, relations = list(concept.objects), list(concept.labels), ()
    demands: list[Demand] = []
    if concept.task.axis == "relation":
        palette = np.random.default_rng([seed, 2, int(track == "contextual")])
        names = lexicon.colors.names
        colors = [names[k] for k in palette.choice(len(names), concept.n, replace=False)]
        relations = concept.labels
        demands = _links(concept.labels, lexicon.labels(concept.task))
    leaks: list[Leak | None] = [None] * concept.n
    in_clutter: int | None = None
    backdrop: Backdrop = "plain"
    closed = _closure(demands)
    j = int(rng.integers(concept.n))

    if fault == "dropped":
        del nouns[j], colors[j], leaks[j]
        closed = _without(closed, j)
    elif fault in ("doubled", "doubled_clutter"):
        nouns.append(nouns[j])
        colors.append(colors[j])
        leaks.append(None)
        in_clutter = concept.n if fault == "doubled_clutter" else None
    elif fault in ("replaced", "lookalike", "wrong_shape"):
        nouns[j] = _other_noun(concept, j, fault, lexicon.nouns(concept.task), rng)
    elif fault in ("leaked", "half_leaked"):
        a, b = _leak_pair(concept.labels, lexicon.colors, rng)
        if fault == "leaked":
            colors[b] = colors[a]
        else:
            leaks[b] = Leak(colors[a], "x" if rng.random() < 0.5 else "z", rng.random() < 0.5)
    elif fault == "exchanged":
        a, b = (int(k) for k in rng.permutation(concept.n)[:2])
        colors[a], colors[b] = colors[b], colors[a]
    elif fault in ("relation", "size", "borderline"):
        link = int(rng.integers(len(demands)))
        if fault == "borderline":
            d = demands[link]
            changed = [*demands[:link], *demands[link + 1 :]]
            changed.append(Demand(d.first, d.second, d.axis, d.direction, "near"))
        else:
            changed = _wrong_links(concept.n, link, demands, rng)
            drawn = sorted((d for d in changed if d.how == "clear"), key=lambda d: d.first)
            relations = tuple(
                label if d in demands else _name_of(d, lexicon.labels(concept.task))
                for label, d in zip(concept.labels, drawn, strict=True)
            )
        closed = _closure(changed)
    elif fault == "background":
        backdrop = ("tinted", "dark", "patterned")[int(rng.integers(3))]
    return Plan(
        tuple(nouns),
        tuple(colors),
        tuple(relations),
        tuple(closed),
        tuple(leaks),
        in_clutter,
        backdrop,
    )
