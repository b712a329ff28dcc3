"""Taxonomies of questions: what a question is about, and where models err (ConMe, section 5.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from bindbench.analysis.resampling import Estimate, proportion
from bindbench.conme.choices import Ballots
from bindbench.errors import unknown_name
from bindbench.suite import Strict, parse, read_yaml

FOLDER = Path(__file__).parent / "taxonomies"
BUILT_IN = ("formats", "topics")


class Taxonomy(Strict):
    """Categories of questions, each with its definition."""

    name: str
    question: Annotated[str, Field(description="what a model is asked about each sample")]
    categories: Annotated[dict[str, str], Field(min_length=2)]


def load_taxonomy(source: str) -> Taxonomy:
    """Return a built-in taxonomy, or that of a YAML file.

    Raises:
        UserError: there is none of this name, or the file breaks the schema.
    """
    if source.endswith((".yaml", ".yml")):
        path = Path(source)
    elif source in BUILT_IN:
        path = FOLDER / f"{source}.yaml"
    else:
        raise unknown_name("taxonomy", source, BUILT_IN)
    return parse(Taxonomy, read_yaml(path), str(path))


@dataclass(frozen=True)
class CategoryErrors:
    """A model's error rate on the samples of one category."""

    category: str
    n: int
    rate: Estimate  # of wrong choices, mean of both orders; the interval is clustered by image


def error_rates(
    taxonomy: Taxonomy, labels: Sequence[str], ballots: Ballots
) -> list[CategoryErrors]:
    """Return a model's error rate in each category (ConMe, figures 3 and 4).

    Args:
        taxonomy: whose categories are listed, in its order; one without samples has n = 0.
        labels: the category of each sample; "" where none was given.
        ballots: the model's choices on the same samples.
    """
    names, wrong = np.array(labels, object), ~ballots.correct
    found = []
    for category in taxonomy.categories:
        own = names == category
        images = np.repeat(ballots.images[own], wrong.shape[1])
        found.append(
            CategoryErrors(category, int(own.sum()), proportion(wrong[own].ravel(), images))
        )
    return found


def shares(taxonomy: Taxonomy, labels: Sequence[str]) -> Mapping[str, float]:
    """Return the share of samples in each category, and of those without one under ""."""
    names = np.array(labels, object)
    total = max(len(names), 1)
    return {name: float(np.sum(names == name)) / total for name in (*taxonomy.categories, "")}
