"""People verify the final set: tasks out of the store, and what their answers say of the results.

What they found becomes the artifact ``conme_verified``, from which the report takes Table 2's
"Manual Subset".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from bindbench.conme.review import FORM, Found, judged, tasks
from bindbench.conme.samples import Sample
from bindbench.conme.verification import Verified, draw, verified
from bindbench.errors import UserError
from bindbench.people.label_studio import config, export_tasks, read_judgements
from bindbench.people.tasks import Judgement
from bindbench.pipeline import conme_images, conme_results, conme_second_round
from bindbench.pipeline.base import Context, ShardInputs, table, whole
from bindbench.pipeline.conme_cells import split
from bindbench.pipeline.conme_rounds import kept_in, samples_in
from bindbench.storage.store import Artifact
from bindbench.text_files import write_text

NAME = "conme_verified"
CODE_VERSION = "1"
SCHEMA = pa.schema([("sample_id", pa.string()), ("right", pa.bool_())])


@dataclass(frozen=True)
class Pictures:
    """Finds the images of a set."""

    artifact: Artifact

    def __call__(self, image_id: str) -> bytes:
        """Return the bytes of an image."""
        for i in range(len(self.artifact.shards)):
            names = self.artifact.read_shard(i, ["image_id"])["image_id"].to_pylist()
            if image_id in names:
                images = self.artifact.read_shard(i, ["image"])["image"]
                return images[names.index(image_id)].as_py()["bytes"]
        raise KeyError(image_id)


def final_of(context: Context, where: str) -> list[Sample]:
    """Return the samples that are left of the second round.

    Raises:
        UserError: none are, or the round has not been built.
    """
    artifact = context.current(conme_second_round.NAME, where)
    kept = kept_in(artifact)
    final = [sample for sample, keep in zip(samples_in(artifact), kept, strict=True) if keep]
    if not final:
        raise UserError(f"{where} has no sample after the second round: there is none to verify.")
    return final


def export(context: Context, where: str, size: int, seed: int, out: Path) -> int:
    """Write a random sample as tasks of Label Studio, and its labeling config beside it.

    Returns:
        How many tasks there are.

    Raises:
        UserError: there are no samples, or a file can't be written.
    """
    final = final_of(context, where)
    drawn = draw([one.image_id for one in final], size, seed)
    pictures = Pictures(context.current(conme_images.NAME, split(where)[0]))
    export_tasks(out, tasks([final[i] for i in drawn], pictures), FORM)
    write_text(out.with_suffix(".xml"), config(FORM))
    return len(drawn)


@dataclass(frozen=True)
class Imported:
    """What people said, and what follows from it."""

    judgements: list[Judgement]
    found: Found
    verified: Verified
    artifact: Artifact


def read(context: Context, where: str, labels: Path) -> Imported:
    """Read what people said of a final set and keep it in the store.

    Raises:
        UserError: the file is no export, names samples that are not of the final set as it is now,
            or no model has been evaluated.
    """
    final = final_of(context, where)
    said = read_judgements(labels, [one.id for one in final], FORM)
    found = judged(final, said)
    votes = conme_results.votes_of(context.suite, where, conme_results.inputs(context))
    if not votes:
        raise UserError(f"No model has been evaluated on {where}: run bindbench conme evaluate.")
    first = next(iter(votes.values()))
    order = {sample.id: i for i, sample in enumerate(first.samples)}
    rows = np.array([order[sample.id] for sample in final])
    ballots = {name: next(iter(own.ballots.values())).where(rows) for name, own in votes.items()}
    result = verified(found.drawn, found.right, ballots)
    return Imported(said, found, result, _keep(context, where, final, found))


@dataclass(frozen=True)
class _Rows:
    rows: Sequence[dict[str, object]]

    def __call__(self, task: ShardInputs) -> pa.Table:
        return table(self.rows, SCHEMA)


def _keep(context: Context, where: str, final: Sequence[Sample], found: Found) -> Artifact:
    rows = [
        {"sample_id": final[i].id, "right": bool(right)}
        for i, right in zip(found.drawn, found.right, strict=True)
    ]
    inputs = {conme_second_round.NAME: context.current(conme_second_round.NAME, where)}
    settings = {"code": CODE_VERSION, "judged": rows}
    return context.build(NAME, where, SCHEMA, settings, whole(settings, inputs), _Rows(rows))
