import itertools
import json
import re
from importlib.metadata import files
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image, ImageDraw, ImageFont
from scipy.ndimage import binary_erosion

from bindbench.errors import UserError
from bindbench.vocabulary import KINDS, WORDS
from bindbench.vocabulary_files import BUILT_IN, known_vocabularies, load_lexicon, load_vocabulary

SOURCES = {
    "objects": "objects365",
    "shapes": "shapes",
    "colors": "colors20",
    "positions": "positions4",
    "sizes": "sizes3",
}


@pytest.fixture(scope="module")
def lexicon():
    return load_lexicon(SOURCES)


@pytest.fixture(scope="module")
def embedded():
    return load_vocabulary("objects_embedded", "objects")


def write(folder: Path, text: str, name: str = "mine.yaml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def document(kind: str, *entries: dict, **fields) -> str:
    return yaml.safe_dump({"kind": kind, "name": "mine", "entries": list(entries), **fields})


def relation(name: str, inverse: str, direction: int, axis: str = "vertical", **fields) -> dict:
    return {"name": name, "inverse": inverse, "axis": axis, "direction": direction, **fields}


# ---------------------------------------------------------------- what is built in


def test_counts(lexicon, embedded):
    counts = {kind: len(getattr(lexicon, kind).entries) for kind in KINDS}
    assert counts == {"objects": 250, "shapes": 10, "colors": 20, "positions": 4, "sizes": 3}
    assert sum(entry.drawable for entry in lexicon.objects.entries) >= 150
    assert 55 <= len(embedded.entries) <= 65
    assert all(entry.drawable for entry in embedded.entries)
    assert all(entry.primitive for entry in lexicon.shapes.entries)


def test_the_papers_labels(lexicon):
    colors = (
        "red blue green yellow orange purple pink brown black white gray silver gold teal maroon "
        "navy olive lime cyan magenta"
    )
    assert " ".join(lexicon.colors.names) == colors
    assert set(lexicon.positions.names) == {
        "above",
        "under",
        "to the left of",
        "to the right of",
    }
    assert set(lexicon.sizes.names) == {"larger than", "smaller than", "bigger than"}
    assert {"cube", "sphere", "pyramid", "cone", "cylinder"} <= set(lexicon.shapes.names)


def test_every_word_of_every_built_in_file_fits_captions():
    for kind, names in known_vocabularies().items():
        for name in names:
            for entry in load_vocabulary(name, kind).entries:
                for word in (entry.name, *entry.synonyms):
                    assert re.fullmatch(WORDS[1:-1], word), (name, word)


def font_file(pattern: str) -> Path:
    (found,) = [
        Path(str(file.locate()))
        for file in files("QtAwesome") or ()
        if re.fullmatch(rf"materialdesignicons6-webfont{pattern}", file.name)
    ]
    return found


@pytest.fixture(scope="module")
def glyphs():
    return json.loads(font_file(r"-charmap-[\d.]+\.json").read_text(encoding="utf-8"))


def test_icons_exist_and_are_used_once(lexicon, glyphs):
    icons = [entry.icon for entry in lexicon.objects.entries if entry.icon]
    assert [icon for icon in icons if icon not in glyphs] == []
    assert len(icons) == len(set(icons))


def silhouette(text: str, font: ImageFont.FreeTypeFont, side: int = 40) -> np.ndarray:
    """A glyph scaled to a box of 40 pixels, centred and standing on its bottom."""
    image = Image.new("L", (320, 320))
    ImageDraw.Draw(image).text((160, 160), text, font=font, fill=255, anchor="mm")
    glyph = image.crop(image.getbbox())
    scale = side / max(glyph.size)
    glyph = glyph.resize([max(1, round(n * scale)) for n in glyph.size], Image.Resampling.BOX)
    box = Image.new("L", (side, side))
    box.paste(glyph, ((side - glyph.width) // 2, side - glyph.height))
    return np.asarray(box) > 127


def iou(a: np.ndarray, b: np.ndarray) -> float:
    return float((a & b).sum() / (a | b).sum())


def test_embedded_objects_can_be_told_apart(embedded, glyphs):
    font = ImageFont.truetype(str(font_file(r"-[\d.]+\.ttf")), 256)
    masks = {
        entry.name: silhouette(chr(int(glyphs[entry.icon], 16)), font) for entry in embedded.entries
    }
    alike = [
        (a, b)
        for a, b in itertools.combinations(masks, 2)
        if max(iou(masks[a], masks[b]), iou(masks[a], masks[b][:, ::-1])) > 0.505
    ]
    assert alike == []
    thin = [name for name, m in masks.items() if binary_erosion(m).sum() < 0.5 * m.sum()]
    assert thin == []


def test_file_names_are_the_names():
    listed = [name for names in known_vocabularies().values() for name in names]
    assert sorted(listed) == sorted(path.stem for path in BUILT_IN.glob("*.yaml"))
    assert set(known_vocabularies()["objects"]) >= {"objects365", "objects_embedded"}


@pytest.mark.parametrize("name", ["scissors", "gloves", "glasses", "boots", "binoculars"])
def test_pair_nouns(lexicon, name):
    assert lexicon.objects[name].number == "pair"


def test_other_pair_nouns(lexicon):
    pairs = {entry.name for entry in lexicon.objects.entries if entry.number == "pair"}
    assert pairs >= {
        "chopsticks",
        "headphones",
        "pliers",
        "sandals",
        "slippers",
        "sneakers",
        "high heels",
    }


def test_grammar_of_nouns(lexicon):
    objects = lexicon.objects
    assert (objects["suv"].article, objects["cup"].article) == ("an", "")
    assert {objects[name].number for name in ("rice", "bread", "toilet paper")} == {"mass"}
    assert {objects[name].number for name in ("noodles", "chips", "french fries")} == {"plural"}
    assert objects["knife"].plural == "knives"
    assert objects["computer mouse"].plural == "computer mice"
    irregular_ends = ("f", "fe", "o", "mouse")
    by_rule = {
        entry.name
        for entry in objects.entries
        if entry.number == "count" and entry.name.endswith(irregular_ends) and not entry.plural
    }
    assert by_rule == {"piano", "cello"}


# ---------------------------------------------------------------- what words mean


def test_nesting(lexicon, embedded):
    nested = lexicon.objects.nested
    for pair in (("tie", "bow tie"), ("car", "sports car"), ("truck", "fire truck")):
        assert frozenset(pair) in nested
    assert frozenset(("car", "carrot")) not in nested  # on word boundaries only
    assert frozenset(("pen", "pencil")) not in nested
    assert embedded.nested == frozenset()


def test_nested_equals_a_slow_definition(lexicon):
    def words(name):
        return re.split(r"\W", name)

    def inside(a, b):
        n = len(words(a))
        return any(words(b)[i : i + n] == words(a) for i in range(len(words(b)) - n + 1))

    names = lexicon.objects.names
    expected = {
        frozenset((a, b))
        for a, b in itertools.combinations(names, 2)
        if inside(a, b) or inside(b, a)
    }
    assert lexicon.objects.nested == expected


def test_broader(lexicon):
    colors = lexicon.colors
    broader = {(a, b) for a in colors.names for b in colors.names if colors.is_broader(a, b)}
    assert broader == {("blue", "navy"), ("red", "maroon"), ("green", "lime")}
    assert lexicon.shapes.is_broader("cuboid", "cube")
    assert not lexicon.shapes.is_broader("cube", "cuboid")
    assert lexicon.objects.is_broader("car", "sports car")
    assert lexicon.objects.is_broader("truck", "pickup truck")


def test_close_is_symmetric_and_holds_the_look_alikes(lexicon):
    for kind in KINDS:
        vocabulary = getattr(lexicon, kind)
        for entry in vocabulary.entries:
            assert all(entry.name in vocabulary[other].close for other in entry.close)
    close = {frozenset((e.name, o)) for e in lexicon.colors.entries for o in e.close}
    for pair in (("gold", "yellow"), ("silver", "gray"), ("cyan", "teal")):
        assert frozenset(pair) in close


def test_overlaps(lexicon):
    objects = lexicon.objects
    assert objects.overlaps("cup", "cup")
    assert objects.overlaps("toilet", "toilet paper")  # nested
    assert objects.overlaps("bread", "baguette")  # broader, in both orders
    assert objects.overlaps("baguette", "bread")
    assert not objects.overlaps("cup", "chair")
    assert not objects.overlaps("sports car", "suv")  # both cars, but neither is the other
    assert lexicon.sizes.overlaps("larger than", "bigger than")
    assert not lexicon.sizes.overlaps("larger than", "smaller than")
    assert lexicon.colors.overlaps("navy", "blue")


def test_broader_is_transitive_and_survives_only(tmp_path):
    entries = (
        {"name": "roadster", "broader": ["sports coupe"]},
        {"name": "sports coupe", "broader": ["auto"]},
        {"name": "auto"},
    )
    whole = load_vocabulary(write(tmp_path, document("objects", *entries)), "objects")
    assert whole.is_broader("auto", "roadster")
    path = write(tmp_path, document("objects", *entries, only=["auto", "roadster"]))
    part = load_vocabulary(path, "objects")
    assert part.names == ("auto", "roadster")
    assert part["roadster"].broader == ("auto",)


def test_relation_algebra(lexicon):
    for vocabulary in (lexicon.positions, lexicon.sizes):
        for entry in vocabulary.entries:
            inverse = vocabulary[entry.inverse]
            assert inverse.inverse in (entry.name, *entry.synonyms)
            assert (inverse.axis, inverse.direction) == (entry.axis, -entry.direction)
            assert entry.transitive
            for name in entry.synonyms:
                if name in vocabulary.by_name:
                    other = vocabulary[name]
                    assert (other.axis, other.direction) == (entry.axis, entry.direction)
    assert lexicon.positions["above"].direction == 1
    assert lexicon.positions["to the right of"].direction == 1
    assert lexicon.sizes["larger than"].direction == 1
    assert "below" in lexicon.positions["under"].synonyms


def test_colors_are_apart(lexicon):
    values = [color.srgb for color in lexicon.colors.entries]
    distance = min(
        sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) ** 0.5
        for x, y in itertools.combinations(values, 2)
    )
    assert distance > 60
    assert {color.name for color in lexicon.colors.entries if color.metal} == {"gold", "silver"}
    assert lexicon.colors["yellow"].srgb == (0xFF, 0xE4, 0x1A)


def test_embedded_takes_its_entries_from_objects365(lexicon, embedded):
    for entry in embedded.entries:
        assert entry.icon == lexicon.objects[entry.name].icon
        assert set(entry.close) | set(entry.broader) <= set(embedded.names)


# ---------------------------------------------------------------- a user's own files


def test_extends_replaces_and_adds(tmp_path):
    red, beige = {"name": "red", "rgb": "#FF0000"}, {"name": "beige", "rgb": "#F5F5DC"}
    text = document("colors", red, beige, extends="colors20")
    colors = load_vocabulary(write(tmp_path, text), "colors")
    assert colors.names[0] == "red"  # replaced in its place
    assert colors.names[-1] == "beige"
    assert len(colors.entries) == 21
    assert colors["red"].srgb == (255, 0, 0)


def test_extends_a_file_beside_it(tmp_path):
    write(tmp_path, document("objects", {"name": "cup"}, {"name": "jug"}), "base.yaml")
    path = write(tmp_path, document("objects", {"name": "urn"}, extends="base.yaml", only=["urn"]))
    assert load_vocabulary(path, "objects").names == ("urn",)


def test_digest_is_of_the_content(tmp_path, lexicon):
    cup, jug = {"name": "cup"}, {"name": "jug"}

    def digest(*entries, **fields):
        path = write(tmp_path, document("objects", *entries, **fields))
        return load_vocabulary(path, "objects").digest

    assert digest(cup, jug) == digest(cup, jug, name="other") == digest(cup, jug)
    others = [digest(jug, cup), digest(cup), digest(cup, jug | {"number": "mass"})]
    assert len({digest(cup, jug), *others}) == 4
    assert lexicon.objects.digest == load_vocabulary("objects365", "objects").digest
    assert re.fullmatch(r"[0-9a-f]{16}", lexicon.objects.digest)


def test_a_name_is_looked_up_with_the_nearest_ones(lexicon):
    with pytest.raises(UserError, match=r"Unknown word of the vocabulary colors20 'rde'.*red"):
        lexicon.colors["rde"]


def test_missing_sources(tmp_path):
    with pytest.raises(UserError, match=r"Unknown vocabulary of objects 'objects356'.*objects365"):
        load_vocabulary("objects356", "objects")
    with pytest.raises(UserError, match=r"Vocabulary file .*none\.yaml does not exist"):
        load_vocabulary(str(tmp_path / "none.yaml"), "objects")
    with pytest.raises(UserError, match=r"Unknown kind of vocabulary 'colours'.*colors"):
        load_vocabulary("colors20", "colours")
    with pytest.raises(UserError, match=r"No vocabulary is named for positions and sizes"):
        load_lexicon({kind: SOURCES[kind] for kind in ("objects", "shapes", "colors")})
    with pytest.raises(UserError, match=r"Unknown kind of vocabulary 'colour'"):
        load_lexicon(SOURCES | {"colour": "colors20"})


def test_not_text(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_bytes(b"kind: objects\nname: \xff\xfe\n")
    with pytest.raises(UserError, match=r"mine\.yaml can't be read as UTF-8 text"):
        load_vocabulary(str(path), "objects")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: objects\nname: [\n", r"is not YAML at line 3"),
        ("kind: objects\nname: mine\nentries: 2024-99-99\n", r"is not YAML: month must be"),
        ("kind: objects\nname: !!python/object:os.system x\n", r"is not YAML at line 2"),
        ("", r"is not a mapping: write the fields kind, name and entries"),
        ("- cup\n", r"is not a mapping"),
        ("kind: animals\nname: mine\n", r"field kind: 'animals' is not allowed, give 'objects'"),
        ("name: mine\n", r"field kind is missing"),
        ("kind: objects\nname: mine\nwords: []\n", r"field words is unknown: the fields are kind"),
        (
            "kind: colors\nname: mine\n",
            r"field kind: it holds 'colors', but .* 'objects' is needed",
        ),
        ("kind: objects\nname: mine\nentries: []\n", r"has no entries"),
        ("kind: objects\nname: mine\nentries: [cup]\n", r"entry 1: 'cup' is not a mapping"),
        ("kind: objects\nname: mine\nentries: [{name: yes}]\n", r"field name: True is not text"),
        ("kind: objects\nname: mine\nextends: object365\n", r"Unknown .* 'object365'.*objects365"),
        ("kind: objects\nname: mine\nextends: mine.yaml\n", r"mine\.yaml extends itself"),
        (
            "kind: objects\nname: mine\nextends: objects365\nonly: [cupp]\n",
            r"Unknown entry 'cupp' in field only of vocabulary .*mine\.yaml: did you mean cup",
        ),
        (
            "kind: objects\nname: mine\nextends: objects365\nonly: [cup, cup]\n",
            r"field only: 'cup' is listed twice",
        ),
    ],
)
def test_bad_files(tmp_path, text, message):
    with pytest.raises(UserError, match=message) as caught:
        load_vocabulary(write(tmp_path, text), "objects")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([{"name": ""}], r"entry 1, field name is empty"),
        ([{}], r"entry 1, field name is missing"),
        ([{"name": "cup"}, {"name": "jug"}, {"name": "cup"}],
         r"field name: entries 1 and 3 are both called 'cup'"),
        ([{"name": "Cup"}], r"entry 1 \('Cup'\), field name: 'Cup' does not fit captions"),
        ([{"name": "wine  glass"}], r"field name: 'wine  glass' does not fit captions"),
        ([{"name": " cup"}], r"field name: ' cup' does not fit captions"),
        ([{"name": "cup\n"}], r"field name: 'cup\\n' does not fit captions"),
        ([{"name": "cup."}], r"field name: 'cup\.' does not fit captions"),
        ([{"name": "cup", "synonyms": ["Mug"]}], r"entry 1 \('cup'\), field synonyms: 'Mug'"),
        ([{"name": "cup", "number": "many"}], r"field number: 'many' is not allowed, give 'count'"),
        ([{"name": "cup", "rgb": "#FFFFFF"}], r"field rgb is unknown: the fields are name"),
        ([{"name": "cup", "primitive": "cube"}], r"field primitive: 'cube' is for shapes only"),
        ([{"name": "cup", "broader": ["jug"]}, {"name": "mug"}],
         r"Unknown entry in field broader 'jug' in vocabulary .*entry 'cup': did you mean mug"),
        ([{"name": "cup", "close": ["jar"]}], r"Unknown entry in field close 'jar'"),
        ([{"name": "cup", "close": ["cup"]}], r"field close: 'cup' is the entry itself"),
        ([{"name": "cup", "synonyms": ["cup"]}], r"field synonyms: 'cup' is the entry itself"),
        ([{"name": "cup", "synonyms": ["beaker"]}, {"name": "jar", "synonyms": ["beaker"]}],
         r"entry 'jar', field synonyms: 'beaker' is a synonym of 'cup' too"),
        ([{"name": "a", "broader": ["b"]}, {"name": "b", "broader": ["c"]},
          {"name": "c", "broader": ["a"]}],
         r"entry 'a', field broader: 'b' is narrower as well"),
    ],
)  # fmt: skip
def test_bad_objects(tmp_path, entries, message):
    with pytest.raises(UserError, match=message) as caught:
        load_vocabulary(write(tmp_path, document("objects", *entries)), "objects")
    assert str(tmp_path / "mine.yaml") in str(caught.value)


@pytest.mark.parametrize("value", ["red", "#12345", "#GGGGGG", "#1234567", "", None, 255])
def test_bad_color_values(tmp_path, value):
    text = document("colors", {"name": "ruby", "rgb": value})
    expected = rf"entry 1 \('ruby'\), field rgb: {value!r} is not a color value, write it quoted"
    with pytest.raises(UserError, match=expected):
        load_vocabulary(write(tmp_path, text), "colors")


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([{"name": "over", "axis": "vertical", "direction": 1}], r"field inverse is missing"),
        ([relation("over", "", 1)], r"field inverse is empty"),
        ([relation("over", "below", 1)], r"entry 'over', field inverse: 'below' is no entry"),
        ([relation("over", "below", 1), relation("below", "left of", -1),
          relation("left of", "below", -1, "horizontal")],
         r"entry 'over', field inverse: 'below' is itself the inverse of 'left of'"),
        ([relation("over", "below", 1), relation("below", "over", -1, "horizontal")],
         r"field inverse: 'below' is on axis 'horizontal', not on 'vertical'"),
        ([relation("over", "below", 1), relation("below", "over", 1)],
         r"field inverse: 'below' is of the same direction 1"),
        ([relation("beside", "beside", 1)], r"'beside' is of the same direction"),
        ([relation("over", "below", 1, "diagonal")],
         r"field axis: 'diagonal' is not allowed, give 'horizontal', 'vertical' or 'size'"),
        ([relation("over", "below", 1, "size"), relation("below", "over", -1, "size")],
         r"field axis: 'size' is no axis of positions, give horizontal or vertical"),
        ([relation("over", "below", 0)], r"field direction: 0 is not allowed, give -1 or 1"),
        ([relation("over", "below", 1, synonyms=["below"]), relation("below", "over", -1)],
         r"entry 'over', field direction: 1 is -1 in its synonym 'below'"),
        ([relation("over", "below", 1, synonyms=["above"]), relation("below", "over", -1),
          relation("above", "under", 1), relation("under", "above", -1)],
         r"entry 'over', field inverse: 'below' is no synonym of 'under'"),
    ],
)  # fmt: skip
def test_bad_relations(tmp_path, entries, message):
    with pytest.raises(UserError, match=message):
        load_vocabulary(write(tmp_path, document("positions", *entries)), "positions")


def test_only_must_keep_inverses(tmp_path):
    text = "kind: positions\nname: mine\nextends: positions4\nonly: [above]\n"
    with pytest.raises(UserError, match=r"field inverse: 'under' is no entry"):
        load_vocabulary(write(tmp_path, text), "positions")


def test_a_noun_may_not_hold_a_color(tmp_path):
    path = write(tmp_path, document("objects", {"name": "orange"}))
    with pytest.raises(UserError, match=r"entry 'orange', field name: it holds 'orange', a color"):
        load_lexicon(SOURCES | {"objects": path})
