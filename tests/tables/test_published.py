"""The paper's values as they are shipped, against cells typed by hand from its text."""

import pytest
import yaml

from bindbench.tables.catalogue import TABLES
from bindbench.tables.number import Number
from bindbench.tables.published import (
    FOLDER,
    beside,
    names_of,
    only_published,
    published,
    published_value,
)

CELLS = [  # table, block, row, column, value as printed, divided by
    ("2", "", "color-n2", "minimal", 26388, 1),
    ("2", "", "position-n3", "paired", 1201, 1),
    ("2", "", "relative_size-n3", "contextual", 4507, 1),
    ("5", "minimal", "CLIP B/16", "color-n2 swap", 57.3, 100),
    ("5", "contextual", "Qwen 3.5-122B", "relative_size-n3 confusion", 49.2, 100),
    ("5", "contextual", "Qwen 2.5-72B", "color-n3 swap", 90.5, 100),
    ("5", "minimal", "chance", "position-n3 confusion", 0.93, 100),
    ("6", "color-n3", "Qwen2.5-VL-72B", "difference confusion", -14.9, 100),
    ("6", "position-n3", "SigLIP2-Giant-P16", "difference swap", 17.4, 100),
    ("6", "shape_color-n3", "InternVL3-14B", "minimal swap", 78.9, 100),
    ("7", "minimal", "NegCLIP", "color-n3 swap", 18.2, 100),
    ("7", "contextual", "TripletCLIP", "relative_size-n3 confusion", 14.6, 100),
    ("7", "contextual", "NegCLIP++", "position-n3 swap", 37.9, 100),
    ("9", "", "SigLIP2-Giant-P16", "Real confusion", 10.5, 100),
    ("9", "", "ViT-B-P16", "SD3.5-T swap", 16.4, 100),
    ("11", "contextual", "position-n2", "concordance", 98.0, 100),
    ("11", "minimal", "shape_color-n3", "concordance", 94.0, 100),
    ("12", "minimal", "ViT-L-P14 (OC)", "color-n3 confusion", 3.4, 100),
    ("12", "contextual", "S2-SO400M-P14-384", "position-n3 confusion", 16.6, 100),
    ("12", "contextual", "chance", "position-n2 confusion", 25.0, 100),
    ("13", "minimal", "S-L-P16-384", "relative_size-n2 swap", 65.4, 100),
    ("13", "contextual", "ViT-H-P14-378 (OC)", "shape_color-n3 confusion", 3.3, 100),
    ("14", "minimal", "ViT-B-P32 (OC)", "vary_color", 65.1, 100),
    ("14", "contextual", "S2-B-P16-224", "vary_object", 85.9, 100),
    ("15", "minimal", "S2-Giant-P16-256", "under", 77.0, 100),
    ("15", "contextual", "E02-E-14 (OC)", "to the right of", 61.9, 100),
    ("16", "minimal", "color-n3", "label TV", 0.207, 1),
    ("16", "contextual", "relative_size-n3", "objects below", 8.3, 100),
    ("16", "contextual", "position-n3", "labels within", 68.6, 100),
    ("17", "position-n3", "Llama-3.2-11B-Vision", "distinct-4", 0.70, 1),
    ("17", "color-n2", "Gemma-3-12B-it", "semantic diversity", 0.68, 1),
    ("18", "", "FLUX-schnell", "CLIPScore", 31.63, 1),
    ("18", "", "SD 3.5 Large", "question answering", 0.914, 1),
    ("20", "minimal", "color-n2", "swap V1", 50, 50),
    ("20", "contextual", "position-n2", "confusion V2", 46, 50),
    ("21", "", "relative_size-n3", "kappa", 0.87, 1),
    ("21", "", "all", "only first", 2.4, 100),
    ("22", "100,000 concepts", "images", "GPU-hours", 136.0, 1),  # 8.5 hours of 16 GPUs
    ("22", "100,000 concepts", "label", "workload", 47000, 1),
]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: " ".join(map(str, cell[:4])))
def test_a_cell_is_as_the_paper_prints_it(cell):
    *where, printed, scale = cell
    assert published_value(*where) == pytest.approx(printed / scale)


def test_the_paper_text_lacks_the_bodies_of_five_tables():
    assert {table.number for table in TABLES if table.lost} == {"3", "4", "8", "10", "19"}


def test_every_number_is_a_share_or_a_measure_above_it():
    """A slipped column would show as a share above one, or a difference that is none."""
    for path in FOLDER.glob("table_*.yaml"):
        found = published(path.stem.removeprefix("table_").lstrip("0"))
        assert found is not None
        for block, rows in found.blocks.items():
            for row in rows:
                values = {c: found.value(block, row, c) for c in found.columns}
                shares = [v for c, v in values.items() if found.scales.get(c, found.scale) > 1]
                assert all(v is not None and -1 < v <= 1 for v in shares), (path.name, row)


def test_differences_are_those_of_their_columns():
    """Table 6 prints both tracks and their difference, rounded to 0.1 points each."""
    found = published("6")
    assert found is not None
    for block, rows in found.blocks.items():
        for row in rows:
            for family in ("swap", "confusion"):
                first, second, difference = (
                    found.value(block, row, f"{track} {family}") or 0.0
                    for track in ("minimal", "contextual", "difference")
                )
                assert second - first == pytest.approx(difference, abs=0.00051)


def test_tables_of_the_same_models_agree_where_the_paper_does():
    """Table 5 repeats Tables 12 and 13, but for two cells that the paper prints differently."""
    differ = set()
    for model in ("CLIP B/16", "CLIP H/14-378", "SigLIP SO400M", "SigLIP2 Giant"):
        ours = next(name for name, theirs in names().items() if model in theirs)
        for track in ("minimal", "contextual"):
            for column in (published("5") or pytest.fail()).columns:
                full = "12" if column.startswith(("color", "position")) else "13"
                short = published_value("5", track, ours, column)
                if short != published_value(full, track, ours, column):
                    differ.add((model, track, column))
    assert differ == {
        ("CLIP H/14-378", track, "shape_color-n3 confusion") for track in ("minimal", "contextual")
    }


def names() -> dict[str, list[str]]:
    return yaml.safe_load((FOLDER / "names.yaml").read_text())


def test_every_name_of_the_paper_is_in_one_of_its_tables():
    texts = "\n".join(path.read_text() for path in FOLDER.glob("table_*.yaml"))
    assert [n for own in names().values() for n in own if n not in texts] == []


def test_a_model_is_known_at_any_revision_and_no_other_is():
    assert "CLIP B/16" in names_of("hf:openai/clip-vit-base-patch16@0123abc")
    assert names_of("nano:clip") == []


def number(semantics: str, row: str = "open_clip:ViT-B-16/openai") -> Number:
    column = "color-n2 swap"
    return Number("5", "minimal", row, column, 0.5, "share", semantics=semantics)


def test_the_paper_stands_beside_its_own_semantics_only():
    assert beside(number("paper")).published == pytest.approx(0.573)
    assert beside(number("strict")).published is None
    assert beside(number("paper", "nano:clip")).published is None


def test_rows_of_the_paper_alone_leave_out_those_that_ours_stand_beside():
    more = list(only_published("5", [number("paper"), number("strict")]))
    minimal = {n.row for n in more if n.block == "minimal"}
    assert "CLIP B/16" not in minimal and "Gemma 3-12B" in minimal
    assert {n.semantics for n in more if n.block == "minimal"} == {"paper"}
    assert "CLIP B/16" in {n.row for n in more if n.block == "contextual"}  # we have no such block
    assert all(n.value is None and n.published is not None for n in more)
