"""Suite files and profiles: what they resolve to, and how a mistake in one is said."""

from pathlib import Path

import pytest
import yaml

from bindbench.errors import UserError
from bindbench.suite import load_suite, merge, profile_fields, resolve_suite

MINIMAL = {"name": "mine"}


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_build_all_nine_benchmarks():
    suite = resolve_suite(MINIMAL, "mine.yaml")
    assert len(suite.benchmarks) == 9
    assert suite.concepts == dict.fromkeys(suite.benchmarks, 64)
    assert suite.profile.generator.model == "mitsuba:icons"


def test_overrides_reach_one_field_and_leave_its_siblings():
    fields = MINIMAL | {"overrides": {"generator": {"options": {"samples": 4}}}}
    options = resolve_suite(fields, "mine.yaml").profile.generator.options
    assert options["samples"] == 4
    assert options["resolution"] == 128


def test_merge_is_deep_and_leaves_its_arguments_alone():
    base = {"a": {"b": 1, "c": 2}, "d": 3}
    assert merge(base, {"a": {"b": 9}}) == {"a": {"b": 9, "c": 2}, "d": 3}
    assert base == {"a": {"b": 1, "c": 2}, "d": 3}


def test_an_empty_mapping_empties_and_another_model_brings_no_options():
    base = {"model": "a:b", "options": {"faults": {"x": 1}}}
    assert merge({"g": base}, {"g": {"options": {"faults": {}}}})["g"]["options"] == {"faults": {}}
    assert merge({"g": base}, {"g": {"model": "c:d"}}) == {"g": {"model": "c:d"}}
    assert merge({"g": base}, {"g": {"model": "a:b"}}) == {"g": base}


def test_paths_are_taken_from_the_suite_file(tmp_path):
    sources = {"colors": "mine.yaml", "shapes": "shapes"}
    path = write(tmp_path, "x", yaml.safe_dump(MINIMAL | {"overrides": {"vocabularies": sources}}))
    vocabularies = load_suite(str(path)).profile.vocabularies
    assert vocabularies.colors == str(tmp_path / "mine.yaml")
    assert vocabularies.shapes == "shapes"


def test_fault_rates_of_the_embedded_profile_leave_room_for_good_images():
    faults = profile_fields("embedded")["generator"]["options"]["faults"]
    assert 0 < sum(faults.values()) < 0.6


def test_counts_by_benchmark():
    fields = MINIMAL | {"benchmarks": ["color-n2"], "concepts": {"color-n2": 7}}
    assert resolve_suite(fields, "mine.yaml").concepts == {"color-n2": 7}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"benchmarks": ["color-n7"]}, "N=7"),
        ({"benchmarks": []}, "benchmarks is empty"),
        ({"concepts": 0}, "concepts of color-n1 is 0"),
        ({"benchmarks": ["color-n1"], "concepts": {"color-n2": 3}}, "no number for color-n1"),
        ({"profile": "embeded"}, "Unknown profile 'embeded': did you mean embedded"),
        ({"sed": 1}, "Unknown field 'sed' in mine.yaml: did you mean seed"),
        ({"seed": -1}, "seed is -1"),
        ({"overrides": {"shard_size": 0}}, "shard_size is 0"),
        ({"overrides": {"survival": {"presense": {"low": 0.5}}}}, "unknown check 'presense'"),
    ],
)
def test_mistakes_name_field_and_value(fields, words):
    with pytest.raises(UserError, match=words):
        resolve_suite(MINIMAL | fields, "mine.yaml")


def test_a_wrong_name_names_the_nearest_suite(tmp_path):
    write(tmp_path, "embedded", "name: embedded")
    with pytest.raises(UserError, match=r"Unknown suite 'embeded': did you mean embedded\?"):
        load_suite("embeded", tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: [", "is not YAML at line 1"),
        ("name: a\nname: b", "line 2: the key 'name' is given"),
        ("- a", "holds no mapping"),
        ("name: ''", "name is ''"),
    ],
)
def test_broken_files_are_named(tmp_path, text, words):
    path = write(tmp_path, "broken", text)
    with pytest.raises(UserError, match=words) as caught:
        load_suite(str(path))
    assert "broken.yaml" in str(caught.value)


def test_shipped_suites_load():
    folder = Path(__file__).parent.parent / "suites"
    for path in folder.glob("*.yaml"):
        fields = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert load_suite(path.stem, folder).name == fields["name"]


def test_a_name_that_cannot_be_one_is_said_in_words(tmp_path):
    (tmp_path / "x.yaml").write_text("name: é ☃\nprofile: embedded\n", encoding="utf-8")
    with pytest.raises(UserError, match="name is 'é ☃': use small letters, digits"):
        load_suite(str(tmp_path / "x.yaml"))
    (tmp_path / "y.yaml").mkdir()
    with pytest.raises(UserError, match=r"y\.yaml is a folder: give"):
        load_suite(str(tmp_path / "y.yaml"))
