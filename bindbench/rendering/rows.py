"""Rows: like things that stand side by side and differ in one attribute.

Which of several like things has which color is what a caption of distinct objects never asks.
"""

import itertools
from dataclasses import dataclass, replace

import numpy as np

from bindbench.concepts import Concept
from bindbench.errors import UserError
from bindbench.rendering.camera import WINDOW, Camera
from bindbench.rendering.faults import draw_fault
from bindbench.rendering.meshes import mesh_of
from bindbench.rendering.plans import Leak, make_plan
from bindbench.rendering.scenes import Item, Scene, Support, box_of
from bindbench.tasks import Track
from bindbench.vocabulary import Lexicon

MARGIN, GAP = 0.025, 0.02  # of the image side
TALLEST = 0.42  # of the image side
LIFTED, HIGHEST = 0.4, 0.16  # share of scenes with plinths; height of a plinth, of the side
ATTEMPTS = 200
OTHER_NOUN = ("replaced", "lookalike", "wrong_shape")
FAULTS = ("dropped", "doubled", *OTHER_NOUN, "leaked", "half_leaked", "exchanged")


@dataclass(frozen=True)
class _Thing:
    noun: str
    color: str
    size: float  # relative to the others
    leak: Leak | None = None


def draw_row_fault(
    rates: dict[str, float], concept: Concept, track: Track, seed: int
) -> str | None:
    """Draw the fault of a row: a kind of ``FAULTS`` with its rate, at most one, else None.

    A row of one color has no color to leak on half of a thing.
    """
    one_color = len(set(concept.labels)) == 1
    kinds = [kind for kind in FAULTS if kind != "half_leaked" or not one_color]
    return draw_fault({k: rates[k] for k in kinds if k in rates}, concept, track, seed)


def compose_row(
    concept: Concept,
    track: Track,
    seed: int,
    lexicon: Lexicon,
    sizes: tuple[float, ...] = (),
    fault: str | None = None,
) -> Scene:
    """Compose a row, from left to right in the order of the concept.

    Some scenes have the things on plinths of different heights. With a fault one thing is missing,
    stands there twice, is something else, has another's value on it or on half of it, or two are
    exchanged.

    Args:
        concept: the nouns and their colors.
        track: minimal or contextual.
        seed: of everything that is drawn at random.
        lexicon: the vocabularies of the concept.
        sizes: of each thing, relative to the others and true to a tenth; (): all have one.
        fault: one of ``FAULTS``.

    Raises:
        UserError: things that do not fit, or can't be drawn.
    """
    rng = np.random.default_rng([seed, 0x405])
    shares = sizes or (1.0,) * concept.n
    things = [_Thing(*t) for t in zip(concept.objects, concept.labels, shares, strict=True)]
    if fault is not None:
        things = _faulty(things, concept, track, seed, lexicon, fault)
    for _ in range(ATTEMPTS):
        found = _attempt(things, concept, lexicon, rng)
        if found is not None:
            camera, items, supports = found
            return Scene(
                concept.task_name, items, track, seed, fault, (), camera, supports, "plain"
            )
    raise UserError(
        f"The ray tracer found no clear picture of {len(things)} things in a row "
        f"({', '.join(concept.objects)}): take others."
    )


def _faulty(
    things: list[_Thing], concept: Concept, track: Track, seed: int, lexicon: Lexicon, fault: str
) -> list[_Thing]:
    """Return the row with a mistake; what a thing has of another is all that tells them apart."""
    rng = np.random.default_rng([seed, 0x406])
    a, b = (int(k) for k in rng.permutation(len(things))[:2])
    row = list(things)
    if fault == "dropped":
        del row[a]
    elif fault == "doubled":
        row.insert(int(rng.integers(len(row) + 1)), row[a])
    elif fault == "leaked":
        row[b] = row[a]
    elif fault == "half_leaked":
        axis = "x" if rng.random() < 0.5 else "z"
        row[b] = replace(row[b], leak=Leak(row[a].color, axis, bool(rng.random() < 0.5)))
    elif fault == "exchanged":
        row[a], row[b] = row[b], row[a]
    else:
        nouns = make_plan(concept, track, seed, lexicon, fault).nouns
        row = [replace(thing, noun=noun) for thing, noun in zip(row, nouns, strict=True)]
    return row


def _attempt(
    things: list[_Thing], concept: Concept, lexicon: Lexicon, rng: np.random.Generator
) -> tuple[Camera, tuple[Item, ...], tuple[Support, ...]] | None:
    n, nouns = len(things), lexicon.nouns(concept.task)
    meshes = [mesh_of(nouns[thing.noun]) for thing in things]
    solids = concept.task_name == "shape_color"
    elevation = float(np.radians(rng.uniform(14, 24) if solids else rng.uniform(6, 15)))
    floor, tilt = float(rng.uniform(0.2, 0.4)), np.cos(elevation)
    camera = Camera(float((0.5 - floor) * WINDOW / tilt), elevation, float(rng.uniform(22, 30)))
    yaw = float(rng.uniform(-25, 25))

    def item(thing: _Thing, u: float, z: float, size: float, turn: float) -> Item:
        y = float(rng.uniform(-0.05, 0.05))
        x = float((u - 0.5) * WINDOW)
        return Item(thing.noun, thing.color, x, y, z, size, yaw + turn, thing.leak)

    sample = item(things[0], 0.5, 0.0, 1.0, 0.0)
    units = [
        box_of(replace(sample, noun=thing.noun, size=thing.size), mesh, camera)
        for thing, mesh in zip(things, meshes, strict=True)
    ]
    room = 1 - 2 * MARGIN - GAP * (n - 1)
    widths = np.array([right - left for left, _, right, _ in units])
    tallest = max(top - low for _, low, _, top in units)
    most = float(min(room / widths.sum(), TALLEST / tallest))
    size = most * float(rng.uniform(0.78, 0.97))
    spaces = rng.dirichlet(np.full(n + 1, 2.0)) * (room - size * widths.sum())
    lifted = rng.random() < LIFTED
    items, supports, at = [], [], MARGIN
    for thing, width, space in zip(things, size * widths, spaces, strict=False):
        at += float(space)
        lift = float(rng.uniform(0, HIGHEST)) * WINDOW if lifted and rng.random() < 0.6 else 0.0
        own = size * thing.size * float(rng.uniform(0.92, 1.0))
        items.append(item(thing, at + float(width) / 2, lift, own, float(rng.uniform(-5, 5))))
        if lift:
            x, y, half = items[-1].x, items[-1].y, 0.38 * own
            supports.append(
                Support("plinth", (x - half, y - half, 0.0), (x + half, y + half, lift))
            )
        at += float(width) + GAP
    boxes = [box_of(one, mesh, camera) for one, mesh in zip(items, meshes, strict=True)]
    within = all(min(b[0], b[1], 1 - b[2], 1 - b[3]) >= MARGIN / 2 for b in boxes)
    apart = all(a[2] + GAP / 2 <= b[0] for a, b in itertools.pairwise(boxes))
    return (camera, tuple(items), tuple(supports)) if within and apart else None
