"""The asset ``conme_report``: a page on all sets and panels, for a browser."""

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from PIL import Image

from bindbench.conme.results import FINAL
from bindbench.conme.verification import Verified, verified
from bindbench.pipeline import conme_images, conme_results, conme_second_round, conme_verification
from bindbench.pipeline.base import UNPARTITIONED, Context, ShardInputs, table, whole
from bindbench.pipeline.conme_cells import cells_of, settings_of, split
from bindbench.pipeline.conme_verification import Pictures
from bindbench.storage.files import write_atomically
from bindbench.storage.paths import SCRATCH
from bindbench.storage.store import Artifact
from bindbench.suite import Suite

NAME = "conme_report"
CODE_VERSION = "2"
SCHEMA = pa.schema([("page", pa.string()), ("html", pa.large_string())])
FOLDER = "conme"  # below that of the suite's report
SHOWN = 12  # samples of a set and panel
SIDE, LIMIT = 240, 40_000  # pixels and bytes of a picture


@dataclass(frozen=True)
class RenderPage:
    """Renders the page."""

    suite: Suite

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each page."""
        from bindbench.conme.report import Shown, render_report
        from bindbench.reporting.thumbnails import thumbnail

        people: dict[tuple[str, str], Verified] = {}
        gallery: list[Shown] = []
        for where in cells_of(self.suite):
            votes = conme_results.votes_of(self.suite, where, task.artifacts)
            if not votes:
                continue
            name, panel = split(where)
            if found := _verified(task.artifacts.get(f"{conme_verification.NAME}/{where}"), votes):
                people[name, panel] = found
            picture = Pictures(task.artifacts[f"{conme_images.NAME}/{name}"])
            for sample, missed in _hardest(votes):
                pixels = Image.open(io.BytesIO(picture(sample.image_id))).convert("RGB")
                small = thumbnail(np.asarray(pixels), SIDE, LIMIT)
                texts = (sample.question, sample.answer, sample.negative)
                gallery.append(Shown(small, *texts, f"{name}, {panel}", missed))
        rows = task.artifacts[f"{conme_results.NAME}/{UNPARTITIONED}"].read().to_pylist()
        pages = render_report(f"{self.suite.name}: ConMe", rows, people, gallery)
        return table([{"page": name, "html": html} for name, html in pages.items()], SCHEMA)


def _verified(
    artifact: Artifact | None, votes: Mapping[str, conme_results.Votes]
) -> Verified | None:
    """Return what people found, on the final set."""
    if artifact is None:
        return None
    first = next(iter(votes.values()))
    final = first.of(FINAL)
    ids = [s.id for s, keep in zip(first.samples, final, strict=True) if keep]
    said = {row["sample_id"]: row["right"] for row in artifact.read().to_pylist()}
    drawn = [i for i, key in enumerate(ids) if key in said]
    right = np.array([said[ids[i]] for i in drawn], bool)
    ballots = {k: next(iter(own.ballots.values())).where(final) for k, own in votes.items()}
    return verified(np.array(drawn, int), right, ballots) if drawn else None


def _hardest(
    votes: Mapping[str, conme_results.Votes],
) -> Iterator[tuple[conme_results.Sample, list[str]]]:
    """Yield final samples with the models that miss them: the most missed first, one an image."""
    first = next(iter(votes.values()))
    right = {name: next(iter(own.ballots.values())).both for name, own in votes.items()}
    places = np.flatnonzero(first.of(FINAL))
    missed = {int(i): [name for name, own in right.items() if not own[i]] for i in places}
    used: set[str] = set()
    for i in sorted(missed, key=lambda i: -len(missed[i])):
        sample = first.samples[i]
        if sample.image_id not in used and len(used) < SHOWN:
            used.add(sample.image_id)
            yield sample, missed[i]


def build(context: Context) -> Artifact:
    """Build the page of what has been evaluated."""
    settings = {
        "code": CODE_VERSION,
        "suite": context.suite.name,
        "section": settings_of(context.suite).model_dump(mode="json"),
    }
    current = context.store.current
    read = conme_results.inputs(context)
    results = context.current(conme_results.NAME, UNPARTITIONED)
    read[f"{conme_results.NAME}/{UNPARTITIONED}"] = results
    for where in cells_of(context.suite):
        name = split(where)[0]
        if images := current(conme_images.NAME, name):
            read[f"{conme_images.NAME}/{name}"] = images
        said, played = (
            current(asset, where) for asset in (conme_verification.NAME, conme_second_round.NAME)
        )
        if said and played and said.settings["inputs"] == {played.asset: played.digest}:
            read[f"{conme_verification.NAME}/{where}"] = said
    function = RenderPage(context.suite)
    return context.build(NAME, UNPARTITIONED, SCHEMA, settings, whole(settings, read), function)


def export(context: Context, artifact: Artifact) -> str:
    """Write the page beside the artifacts and return its path."""
    folder = context.store.path / "html" / FOLDER
    rows = artifact.read().to_pylist()
    for row in rows:
        write_atomically(folder / row["page"], row["html"].encode(), context.store.path / SCRATCH)
    return str(folder / rows[0]["page"])
