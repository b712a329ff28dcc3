"""The asset ``conme_labels``: what the questions of the final set are about, by each taxonomy."""

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bindbench.conme.labelling import Labelled, label
from bindbench.conme.samples import Sample
from bindbench.conme.settings import WORDING
from bindbench.conme.taxonomy import Taxonomy, load_taxonomy
from bindbench.conme.wording import label_by_wording
from bindbench.models import registry
from bindbench.pipeline import conme_images, conme_second_round
from bindbench.pipeline.asking import usage_summary
from bindbench.pipeline.base import Context, ShardInputs, aligned, table
from bindbench.pipeline.conme_cells import settings_of, slug, split
from bindbench.pipeline.conme_images import shown
from bindbench.pipeline.conme_rounds import COLUMNS
from bindbench.pipeline.conme_targets import load_target
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite

NAME = "conme_labels"
CODE_VERSION = "2"
SCHEMA = pa.schema(
    [
        ("sample_id", pa.string()),
        ("taxonomy", pa.string()),
        ("label", pa.string()),  # "": the reply names no category
        ("text", pa.string()),
        ("raw", pa.string()),
    ]
)


@dataclass(frozen=True)
class LabelSamples:
    """Finds the categories of a shard's final samples."""

    suite: Suite
    labeller: RoleSettings | None
    taxonomies: tuple[Taxonomy, ...]

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each sample and taxonomy; none without a labeller.

        Raises:
            Unfinished: a server gave no answer for some samples.
        """
        samples = final_samples(task)
        if self.labeller is None or not samples:
            return table([], SCHEMA)
        found = {one.name: self._labels(one, samples, task) for one in self.taxonomies}
        return table(
            [
                {
                    "sample_id": sample.id,
                    "taxonomy": taxonomy,
                    "label": one.label,
                    "text": one.reply.text,
                    "raw": one.reply.raw,
                }
                for taxonomy, labels in found.items()
                for sample, one in zip(samples, labels, strict=True)
            ],
            SCHEMA,
        )

    def _labels(
        self, taxonomy: Taxonomy, samples: Sequence[Sample], task: ShardInputs
    ) -> list[Labelled]:
        assert self.labeller is not None
        if self.labeller.model == WORDING:
            return label_by_wording(taxonomy, samples)
        model = load_target(self.suite, slug(self.labeller), self.labeller)
        return label(model.reply, taxonomy, samples, shown(task))


def final_samples(task: ShardInputs) -> list[Sample]:
    """Return the samples of a shard that are left of the second round."""
    rows = task.rows(conme_second_round.NAME, [*COLUMNS, "kept"])
    return [Sample(**{name: row[name] for name in COLUMNS}) for row in rows if row["kept"]]


def build(context: Context, where: str, labeller: RoleSettings | None = None) -> Artifact:
    """Build the labels of a set and panel.

    Args:
        context: of the build.
        where: the image set and the panel.
        labeller: in place of the suite's own.
    """
    section = settings_of(context.suite)
    chosen = labeller or section.labeller
    taxonomies = tuple(load_taxonomy(name) for name in section.taxonomies)
    settings = {
        "code": CODE_VERSION,
        "labeller": _describe(chosen),
        "taxonomies": [one.model_dump() for one in taxonomies],
    }
    inputs = {
        conme_images.NAME: context.current(conme_images.NAME, split(where)[0]),
        conme_second_round.NAME: context.current(conme_second_round.NAME, where),
    }
    if chosen and chosen.model != WORDING:
        context = context.holding("answerer", chosen)
    return context.build(
        NAME,
        where,
        SCHEMA,
        settings,
        aligned(settings, inputs),
        LabelSamples(context.suite, chosen, taxonomies),
        functools.partial(_summary, labeller=chosen),
    )


def _describe(labeller: RoleSettings | None) -> dict[str, Any] | None:
    """Return what determines a labeller's output; None where nobody labels."""
    if labeller is None:
        return None
    if labeller.model == WORDING:
        return {"model": WORDING}
    return registry.describe("answerer", labeller)


def _summary(artifact: Artifact, labeller: RoleSettings | None) -> dict[str, Any]:
    rows = artifact.read(["taxonomy", "label", "raw"]).to_pylist()
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        counts.setdefault(row["taxonomy"], Counter())[row["label"] or "none"] += 1
    found: dict[str, Any] = {"labels": {k: dict(sorted(own.items())) for k, own in counts.items()}}
    if labeller is None:
        return found | {"labeller": "none"}
    found["labeller"] = labeller.model
    return found | usage_summary("answerer", labeller, (row["raw"] for row in rows))


def labels_in(artifact: Artifact) -> dict[str, dict[str, str]]:
    """Return the label of each sample id, by taxonomy."""
    found: dict[str, dict[str, str]] = {}
    for row in artifact.read(["sample_id", "taxonomy", "label"]).to_pylist():
        found.setdefault(row["taxonomy"], {})[row["sample_id"]] = row["label"]
    return found
