"""Releases: what they hold, that they can lie anywhere, and that damage is noticed."""

import shutil
import subprocess

import pytest
from frozen_samples import KEY, build, cell, swap_wins

from bindbench.errors import UserError
from bindbench.frozen import checksums, errata
from bindbench.frozen.joining import joined_rows
from bindbench.frozen.release import Release, make
from bindbench.pipeline import leaderboard, tables


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    return build(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def frozen(context, tmp_path_factory):
    folder = tmp_path_factory.mktemp("release") / "cheap-1.0.0"
    make(context, "1.0.0", folder, "As you like.\n")
    return folder


@pytest.fixture
def release(frozen, tmp_path):
    """A copy in another place, while the original store is elsewhere."""
    folder = shutil.copytree(frozen, tmp_path / "moved")
    return Release.open(folder)


def made(context):
    """The leaderboard's and the tables' rows, made anew."""
    board = leaderboard.build(context).read().to_pylist()
    return board, tables.build(context).read().to_pylist()


def test_a_moved_release_gives_the_same_tables(context, frozen, release):
    assert checksums.verify(release.folder, checksums.checksum(frozen))
    assert made(release.context) == made(context)
    assert joined_rows([release]) == made(context)[0]


def test_it_holds_all_words_itself(context, release):
    sources = release.context.suite.profile.vocabularies.model_dump()
    assert all(str(release.folder) in source for source in sources.values())
    assert release.context.lexicon == context.lexicon


def test_it_can_be_checked_without_the_program(release):
    ran = subprocess.run(
        ["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=release.folder, check=False
    )
    assert ran.returncode == 0


def test_two_releases_of_the_same_artifacts_are_the_same_bytes(context, frozen, tmp_path):
    again = make(context, "1.0.0", tmp_path / "again", "As you like.\n")
    assert again == checksums.checksum(frozen)


def test_the_first_wrong_file_is_named(release):
    names = [n for n in checksums.listed(release.folder) if n.endswith(".parquet")]
    for name in (names[3], names[1]):
        path = release.folder / name
        path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(UserError, match=names[1]):
        checksums.verify(release.folder)
    (release.folder / names[0]).unlink()
    with pytest.raises(UserError, match=f"{names[0]} is missing"):
        checksums.verify(release.folder)


def test_another_checksum_is_noticed(release):
    with pytest.raises(UserError, match="another release"):
        checksums.verify(release.folder, "0" * 64)


@pytest.mark.parametrize(
    ("version", "wrong"), [("1.0", "three numbers"), ("1.0.0+e1", "three numbers")]
)
def test_a_version_has_three_numbers(context, tmp_path, version, wrong):
    with pytest.raises(UserError, match=wrong):
        make(context, version, tmp_path / "new", "")
    assert not (tmp_path / "new").exists()


def test_a_folder_that_holds_something_is_refused(context, tmp_path):
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(UserError, match="not empty"):
        make(context, "1.0.0", tmp_path, "")


def test_an_erratum_changes_exactly_what_it_should(context, release):
    """Against wins counted one by one from the release's original scores."""
    before, tables_before = made(release.context)
    rows = context.current("negatives", KEY).read(["concept_id", "track"]).to_pylist()
    ids = sorted({row["concept_id"] for row in rows})
    gone = [ids[0], ids[3], ids[5]]
    old = checksums.checksum(release.folder)

    corrected = errata.add(release, KEY, gone, "The pictures show other things.")

    assert corrected.facts.version == "1.0.0+e1"
    assert Release.open(release.folder).facts == corrected.facts
    assert checksums.verify(release.folder) != old
    (erratum,) = errata.read_errata(corrected)
    assert (erratum.number, erratum.benchmark, erratum.before) == (1, KEY, old)
    assert erratum.concepts == tuple(sorted(gone))
    after, tables_after = made(corrected.context)
    for slug, model in (("check-random", "check:random"), ("check-oracle", "check:oracle")):
        for track in ("minimal", "contextual"):
            wins = swap_wins(context, KEY, slug, track, gone)
            where = {"benchmark": KEY, "track": track, "set": "all", "readout": "score"}
            where |= {"model": model, "family": "confusion", "semantics": "strict"}
            found = cell(after, **where)
            assert (found["n_items"], found["accuracy"]) == (len(wins), sum(wins) / len(wins))
            assert cell(before, **where)["n_items"] == len(wins) + 3
    assert others(after) == others(before)
    # Of the tables, only numbers of this benchmark's items change, and what the checks did stays.
    changed = {
        (one["table"], *(one[n] for n in ("block", "row", "column")))
        for one, two in zip(tables_after, tables_before, strict=True)
        if one != two
    }
    assert changed
    assert all(any(KEY in str(word) for word in where) for where in changed), changed
    assert not {where[0] for where in changed} & {"3", "4", "16", "21"}


def others(rows):
    """The rows of the benchmark that was not corrected, but p-values are of the whole table."""
    kept = [row for row in rows if row["benchmark"] != KEY]
    return [{name: value for name, value in row.items() if name != "p_value"} for row in kept]


def test_withdrawing_one_by_one_gives_the_same_figures(context, release, frozen, tmp_path):
    ids = sorted(set(context.current("negatives", KEY).read()["concept_id"].to_pylist()))[:2]
    errata.add(release, KEY, ids, "wrong")
    second = Release.open(shutil.copytree(frozen, tmp_path / "second"))
    step = errata.add(second, KEY, ids[:1], "wrong")
    step = errata.add(step, KEY, ids[1:], "wrong as well")
    assert step.facts.version == "1.0.0+e2"
    assert step.context.store.frozen == "1.0.0+e2"
    items = step.context.current("negatives", KEY).summary["items"]
    assert f"{items['minimal']} minimal items" in (step.folder / "README.md").read_text()
    with pytest.raises(UserError, match=f"{ids[0]} of {KEY} is withdrawn by e1 already"):
        errata.add(step, KEY, ids[:1], "again")
    assert made(step.context) == made(release.context)


@pytest.mark.parametrize(
    ("key", "ids", "reason", "wrong"),
    [
        (KEY, ["nowhere"], "x", "no item of concept nowhere"),
        ("color-n3", ["x"], "x", "benchmark 'color-n3'"),
        (KEY, [], "x", "no concept"),
        (KEY, None, " ", "--reason"),
    ],
)
def test_what_can_not_be_withdrawn_changes_nothing(context, release, key, ids, reason, wrong):
    ids = context.current("negatives", KEY).read()["concept_id"].to_pylist() if ids is None else ids
    before = checksums.verify(release.folder)
    with pytest.raises(UserError, match=wrong):
        errata.add(release, key, ids, reason)
    assert checksums.verify(release.folder) == before
    assert not (release.folder / "errata.yaml").exists()


def test_a_damaged_release_is_not_corrected(release):
    (release.folder / "README.md").write_text("other")
    with pytest.raises(UserError, match=r"README.md is altered"):
        errata.add(release, KEY, ["x"], "x")
