"""The sentences of the embedded contextual writer, as data.

A sentence shape holds ``<0>`` (the noun phrase of the first object), ``<v0:stands>`` (a verb that
agrees with it), ``<r0>`` (the first relation), and ``{place}``, ``{moment}``, ``{main0}``,
``{part0}`` or ``{link1}``, each replaced by one of the choices below. ``{Place}`` begins a
sentence.

What a frame says must hold for any objects and must not tell them apart: a true caption with its
clauses in another order has to stay true. So things are "beside", never "in front of" each other;
no frame names a thing or a color of the vocabularies, nor speaks of place or size by itself.
"""

from bindbench.tasks import Axis

PLACES = (
    "in a quiet kitchen",
    "in a sunny kitchen",
    "in an empty classroom",
    "in a school gymnasium",
    "in a cozy living room",
    "in a narrow hallway",
    "in the lobby of a hotel",
    "in a busy workshop",
    "in a tidy garage",
    "in a dusty attic",
    "in a cool basement",
    "in an artist's studio",
    "in a film studio",
    "in a museum gallery",
    "in an old warehouse",
    "in a sleepy village square",
    "in a stone courtyard",
    "on a wooden porch",
    "on a windy terrace",
    "on a flat rooftop",
    "on a city sidewalk",
    "on a cobbled street",
    "in a city park",
    "on a sandy beach",
    "in an open meadow",
    "in a warm greenhouse",
    "at a lively market",
    "in a corner cafe",
    "in an old library",
    "in a modern office",
    "in a waiting room",
    "in a laundry room",
    "in a science laboratory",
    "in a local theater",
    "on an outdoor stage",
    "in a muddy farmyard",
    "in a snowy garden",
    "on a pier by the sea",
    "in a railway station",
    "in a rented apartment",
    "in a neighborhood bakery",
    "in a deserted playground",
    "in a department store",
    "in the hall of a community center",
)

MOMENTS = (
    "early in the morning",
    "late in the afternoon",
    "at dusk",
    "around noon",
    "on a rainy day",
    "on a quiet Sunday",
    "just after sunrise",
    "on a hot summer day",
    "on a cold winter morning",
    "shortly before closing time",
    "before anyone arrives",
    "after the last guests have gone",
    "soon after the rain",
    "in soft daylight",
    "in the midday sun",
    "on an ordinary weekday",
)

ATTRIBUTE_SHAPES: dict[int, tuple[str, ...]] = {
    1: (
        "{Place}, <0> <v0:catches> the sun.",
        "<0> <v0:rests> on the floor {place}.",
        "{Moment}, <0> <v0:stands> alone {place}.",
        "There <v0:is> <0> {place}, waiting to be picked up.",
        "Someone has put <0> down {place}.",
        "A visitor stops to look at <0> {place}.",
        "The only thing {place} {moment} is <0>.",
        "Near a wall {place} <v0:rests> <0>.",
        "This is the view {place} {moment}, with <0> in focus.",
        "{Moment}, the eye is drawn to <0> {place}.",
        "Nothing but <0> can be found {place}.",
        "Somebody forgot <0> {place} {moment}.",
        "{Place}, a child walks around <0>.",
        "You can spot <0> {place}, even from far away.",
        "It is hard to overlook <0> {place}.",
        "<0> <v0:has> been set up for a visitor {place}.",
    ),
    2: (
        "{Place}, <0> <v0:stands> next to <1>.",
        "<0> and <1> have been placed side by side {place}.",
        "There <v0:is> <0> {place}, together with <1>.",
        "{Moment}, someone has set <0> close to <1> {place}.",
        "A visitor stops to look at <0> and <1> {place}.",
        "Side by side {place}, <0> and <1> wait for their owner.",
        "<0> <v0:shares> the floor with <1> {place}.",
        "Two things can be seen {place} {moment}: <0> and <1>.",
        "This is the view {place} {moment}, with <0> beside <1>.",
        "With nobody around, <0> and <1> are the only things {place}.",
        "{Moment}, <0> <v0:lies> {place}, not far from <1>.",
        "Nothing but <0> and <1> can be found {place}.",
        "Somebody forgot both <0> and <1> {place}.",
        "{Moment}, the eye is drawn to <0> and <1> {place}.",
        "<0> can be found {place}, and so can <1>.",
        "A child has put <0> next to <1> {place}.",
        "Among the few things {place} are <0> and <1>.",
        "Near a wall {place} <v0:rests> <0>, and close by <v1:rests> <1>.",
        "{Place}, people walk past <0> and <1> {moment}.",
        "Beside <0> {place} there <v1:is> <1>.",
    ),
    3: (
        "{Place}, <0> <v0:stands> near <1> and <2>.",
        "<0>, <1>, and <2> have been placed side by side {place}.",
        "There <v0:is> <0> {place}, together with <1> and <2>.",
        "{Moment}, someone has set <0> close to <1> and <2> {place}.",
        "A visitor stops to look at <0>, <1>, and <2> {place}.",
        "Side by side {place}, <0>, <1>, and <2> wait for their owner.",
        "<0> <v0:shares> the floor with <1> and <2> {place}.",
        "Three things can be seen {place} {moment}: <0>, <1>, and <2>.",
        "This is the view {place} {moment}, with <0> beside <1> and <2>.",
        "With nobody around, <0>, <1>, and <2> are the only things {place}.",
        "{Moment}, <0> <v0:lies> {place}, not far from <1> and <2>.",
        "Nothing but <0>, <1>, and <2> can be found {place}.",
        "Somebody forgot <0> and <1> as well as <2> {place}.",
        "{Moment}, the eye is drawn to <0>, <1>, and <2> {place}.",
        "<0> can be found {place}, and so can <1> and <2>.",
        "A child has put <0> and <1> next to <2> {place}.",
        "Among the few things {place} are <0>, <1>, and <2>.",
        "Near a wall {place} <v0:rests> <0>, and close by there <v1:is> <1> with <2>.",
        "{Place}, people walk past <0>, <1>, and <2> {moment}.",
        "Besides <0> and <1>, there <v2:is> <2> {place}.",
    ),
}

RELATION_SHAPES = (
    "{Place}, <0> {main0} <r0> <1>{links}.",
    "<0> {main0} <r0> <1>{links} {place}.",
    "{Moment}, <0> {main0} <r0> <1>{links} {place}.",
    "{Place}, {moment}, <0> {main0} <r0> <1>{links}.",
    "A visitor {place} notices <0> {part0} <r0> <1>{links}.",
    "You can see <0> {part0} <r0> <1>{links} {place}.",
    "There <v0:is> <0> {part0} <r0> <1>{links} {place}.",
    "This is the view {place} {moment}: <0> {main0} <r0> <1>{links}.",
    "The scene {place} shows <0> {part0} <r0> <1>{links}.",
    "Anyone who looks around {place} will find that <0> {main0} <r0> <1>{links}.",
    "Somebody has arranged things {place} so that <0> {main0} <r0> <1>{links}.",
    "Look around {place} {moment} and you will see <0> {part0} <r0> <1>{links}.",
    "With nobody around {place}, <0> {main0} <r0> <1>{links}.",
    "People {place} walk past <0> {part0} <r0> <1>{links}.",
    "Nobody {place} seems to mind that <0> {main0} <r0> <1>{links}.",
    "{Moment}, a child {place} points out that <0> {main0} <r0> <1>{links}.",
)

# How a relation is said: as the main clause, as a part of the noun phrase, and as a further link.
SAYINGS: dict[str, dict[str, tuple[str, ...]]] = {
    "positions": {
        "main": ("<v:is>", "can be seen", "<v:appears>", "<v:is> placed", "<v:has> been put"),
        "part": ("that <v:is>", "placed", "that <v:appears>"),
        "link": (
            ", which <v:is>",
            " that <v:is>",
            ", which in turn <v:is>",
            ", which can be seen",
            ", which itself <v:is> placed",
        ),
    },
    "sizes": {
        "main": ("<v:is>", "<v:looks>", "<v:seems>", "<v:is> clearly", "<v:is> visibly"),
        "part": ("that <v:is>", "that <v:looks>", "that <v:is> clearly", "that <v:seems>"),
        "link": (
            ", which <v:is>",
            " that <v:is>",
            ", which in turn <v:is>",
            ", which <v:looks>",
            ", which itself <v:is> clearly",
        ),
    },
}


def shapes(axis: Axis, n: int) -> tuple[str, ...]:
    """Return the sentence shapes for captions of ``n`` objects."""
    if axis == "attribute":
        return ATTRIBUTE_SHAPES[n]
    links = "".join(f"{{link{k}}} <r{k}> <{k + 1}>" for k in range(1, n - 1))
    return tuple(shape.replace("{links}", links) for shape in RELATION_SHAPES)
