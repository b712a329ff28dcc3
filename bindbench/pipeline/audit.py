"""Audits by people: questions out of the store, and their answers as the artifact ``people``.

The tables of people's answers (Auto-Comp, Tables 11 and 20) are made from that artifact.
"""

import base64
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from bindbench.analysis.choice import MOST_WRONG
from bindbench.candidates import candidate_families, candidate_texts
from bindbench.concepts import content_id
from bindbench.errors import UserError
from bindbench.instabind.located_json import read_json
from bindbench.people.answers import Answered, Kind
from bindbench.people.audits import (
    FORMS,
    KEY,
    VERDICTS,
    Question,
    answered,
    read_key,
    task_of,
    write_key,
)
from bindbench.people.label_studio import config, export_tasks, read_judgements
from bindbench.people.page import is_page, read_page, render_page
from bindbench.people.tasks import Judgement
from bindbench.pipeline import images, negatives, validated
from bindbench.pipeline.base import UNPARTITIONED, Context, seed_of, strings, table
from bindbench.semantics import FALSE
from bindbench.storage.datasets import Shard
from bindbench.storage.store import Artifact
from bindbench.tasks import TRACKS, get_benchmark
from bindbench.text_files import write_text

NAME = "people"
CODE_VERSION = "1"
T = TypeVar("T")
PAGE = "page.html"
ON_PAGE = 50  # questions
SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in ("validator", "item", "scene", "benchmark")),
        *(pa.field(name, pa.string()) for name in ("track", "kind")),
        ("offered", strings()),
        ("chosen", pa.string()),
        ("right", pa.string()),
    ]
)


@dataclass(frozen=True)
class Drawn:
    """The questions of an audit and their images."""

    questions: list[Question]
    images: dict[str, str]  # by question id, a data URI


def draw(context: Context, keys: Sequence[str], count: int, seed: int) -> Drawn:
    """Return questions about images that are drawn alike from all of each benchmark and track.

    Concordance is asked of all images, accepted or not; the captions to choose from are of
    accepted ones, and hold no negative that may be true.

    Args:
        context: the suite, of which the benchmarks are built.
        keys: the benchmarks.
        count: images of each benchmark, track and kind of question, at most.
        seed: of the draw.
    """
    questions: list[Question] = []
    pictures: dict[str, str] = {}
    for key in keys:
        found = [*_concordance(context, key, count, seed), *_captions(context, key, count, seed)]
        wanted = {one.item for one in found}
        shown = dict(_pictures(context.current(images.NAME, key), wanted))
        questions += found
        pictures |= {one.id: shown[one.item] for one in found}
    return Drawn(questions, pictures)


def _sample(rows: Sequence[T], count: int, *seed: object) -> list[T]:
    rng = np.random.default_rng(seed_of(*seed))
    chosen = rng.choice(len(rows), min(count, len(rows)), replace=False)
    return [rows[i] for i in np.sort(chosen)]


def _concordance(context: Context, key: str, count: int, seed: int) -> Iterator[Question]:
    columns = ["concept_id", "scene_id", "track", "caption", "presence", "accepted"]
    rows = context.current(validated.NAME, key).read(columns).to_pylist()
    rows = [row for row in rows if row["presence"] != "not_run"]  # an image was made
    for track in TRACKS:
        own = [row for row in rows if row["track"] == track]
        for row in _sample(own, count, seed, "concordance", key, track):
            right = VERDICTS[0] if row["accepted"] else VERDICTS[1]
            yield _question("concordance", key, row, VERDICTS, right, seed)


def _captions(context: Context, key: str, count: int, seed: int) -> Iterator[Question]:
    """Yield the questions which caption fits; one object has nothing to be told from."""
    if get_benchmark(key).n == 1:
        return
    columns = ["concept_id", "scene_id", "track", "objects", "labels", "caption", "slots"]
    rows = context.current(negatives.NAME, key).read([*columns, "semantics"]).to_pylist()
    for track in TRACKS:
        own = [row for row in rows if row["track"] == track]
        for kind in ("swap", "confusion"):
            for row in _sample(own, count, seed, kind, key, track):
                texts = _offered(context, key, row, kind, seed)
                if texts:
                    yield _question(kind, key, row, texts, row["caption"], seed)


def _offered(
    context: Context, key: str, row: Mapping[str, Any], kind: Kind, seed: int
) -> list[str]:
    """Return the item's caption among false ones, at most 50, in a drawn order; [] without any."""
    concept = validated.concept_of(key, dict(row))
    texts = candidate_texts(negatives.template_of(dict(row)), concept, context.lexicon)
    families = candidate_families(concept, context.lexicon)
    semantics = np.frombuffer(row["semantics"], np.int8)
    wrong = {
        texts[i]
        for i in np.flatnonzero(semantics == FALSE)
        if kind == "confusion" or families[i] == "swap"
    } - {row["caption"]}
    rng = random.Random(seed_of(seed, kind, row["concept_id"], row["track"]))
    drawn = rng.sample(sorted(wrong), min(MOST_WRONG, len(wrong)))
    offered = [row["caption"], *drawn] if drawn else []
    rng.shuffle(offered)
    return offered


def _question(
    kind: Kind, key: str, row: Mapping[str, Any], offered: Sequence[str], right: str, seed: int
) -> Question:
    item = f"{row['concept_id']}/{row['track']}"
    return Question(
        content_id(["audit", seed, kind, key, item]),
        *(kind, key, row["track"], item, row["scene_id"], tuple(offered), right, row["caption"]),
    )


def _pictures(artifact: Artifact, wanted: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the images of items as data URIs."""
    for i in range(len(artifact.shards)):
        names = artifact.read_shard(i, ["concept_id", "track"]).to_pylist()
        if not any(f"{row['concept_id']}/{row['track']}" in wanted for row in names):
            continue
        for row in artifact.read_shard(i, ["concept_id", "track", "image"]).to_pylist():
            item = f"{row['concept_id']}/{row['track']}"
            if item in wanted:
                png = base64.b64encode(row["image"]["bytes"]).decode()
                yield item, f"data:image/png;base64,{png}"


def export(context: Context, drawn: Drawn, out: Path, seed: int) -> list[Path]:
    """Write the key, each kind's tasks with their labeling config, and the plain page.

    Returns:
        The files, the key first.

    Raises:
        UserError: a file can't be written.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{out} can't be made ({error}): name another folder.") from None
    written = [out / KEY]
    write_key(written[0], context.suite.name, drawn.questions)
    for kind, form in FORMS.items():
        own = [one for one in drawn.questions if one.kind == kind]
        if own:
            file = out / f"{kind}.json"
            export_tasks(file, [task_of(one, drawn.images[one.id]) for one in own], form)
            write_text(file.with_suffix(".xml"), config(form))
            written += [file, file.with_suffix(".xml")]
    quick = _sample(drawn.questions, ON_PAGE, seed, "page")
    write_text(out / PAGE, render_page(context.suite.name, quick, drawn.images))
    return [*written, out / PAGE]


def read(context: Context, folder: Path, labels: Sequence[Path]) -> Artifact:
    """Read what people answered, and keep it beside what earlier audits brought.

    Of a person and a question the answer that was read last counts.

    Args:
        context: the suite.
        folder: of ``export``.
        labels: exports of Label Studio, and files that the page saved.

    Raises:
        UserError: a file is neither, or does not fit the key; or nobody has answered.
    """
    questions = {one.id: one for one in read_key(folder / KEY, context.suite.name)}
    said = [one for path in labels for one in _judgements(path, questions)]
    if not said:
        raise UserError(
            f"{', '.join(map(str, labels))} hold no answers: answer some tasks and export again."
        )
    before = context.store.current(NAME, UNPARTITIONED)
    rows = [Answered(**row) for row in before.read().to_pylist()] if before else []
    latest = {
        (one.validator, one.kind, one.benchmark, one.item): one
        for one in [*rows, *answered(said, questions)]
    }
    return build(context, list(latest.values()))


def _judgements(path: Path, questions: Mapping[str, Question]) -> list[Judgement]:
    raw = read_json(path)
    if isinstance(raw, dict) and not is_page(raw):
        raise UserError(
            f"{path} is neither Label Studio's export, which is a list of tasks, nor what the page "
            "saves, which has name and answers."
        )
    if is_page(raw):
        return read_page(path, questions)
    # Tasks of all kinds may be in one project; each has the answers that it was given out with.
    return read_judgements(path, list(questions), FORMS["swap"])


@dataclass(frozen=True)
class AsTable:
    """The one shard of the artifact: answers that are there, as a table."""

    def __call__(self, rows: tuple[dict[str, Any], ...]) -> pa.Table:
        """Return one row for each answer."""
        return table(rows, SCHEMA)


def build(context: Context, answers: Sequence[Answered]) -> Artifact:
    """Keep answers in the store."""
    rows = tuple(asdict(one) for one in answers)
    settings = {"code": CODE_VERSION, "rows": content_id(rows)}
    shard = Shard(content_id([settings]), rows)
    return context.build(NAME, UNPARTITIONED, SCHEMA, settings, [shard], AsTable())


def answers_of(artifact: Artifact) -> list[Answered]:
    """Return the answers that the store holds."""
    rows = artifact.read().to_pylist()
    return [Answered(**{**row, "offered": tuple(row["offered"])}) for row in rows]
