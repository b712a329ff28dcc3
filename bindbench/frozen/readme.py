"""The README of a release: what it holds, how it was made, how to use and to check it."""

from bindbench.pipeline import negatives
from bindbench.pipeline.base import Context
from bindbench.suite import Profile

_TEXT = """# {title}

A frozen release of a benchmark made by BindBench {bindbench}. Its license is in LICENSE.

## What it holds

{benchmarks}

`store/` holds every artifact as Parquet files with its manifest: concepts, captions, images,
verdicts of all checks (rejected images too), candidates with their semantics, and the scores of
each model. `suite.yaml` and `profile.yaml` hold all settings. `errata.yaml`, if there is one, lists
what was withdrawn since, and why.

## How it was made

{roles}

Seed {seed}. Scored models: {models}.

## Use

    bindbench release verify FOLDER
    bindbench release tables FOLDER
    bindbench release leaderboard FOLDER
    bindbench evaluate --model MODEL --suite FOLDER/suite.yaml --store FOLDER/store

`sha256sum -c SHA256SUMS` checks the files without BindBench. The release's checksum is the sha256
of SHA256SUMS.
"""


def readme(context: Context, title: str, bindbench: str) -> str:
    """Return the README of a release, given its own context."""
    suite = context.suite
    return _TEXT.format(
        title=title,
        bindbench=bindbench,
        benchmarks="\n".join(_benchmark(context, key) for key in suite.benchmarks),
        roles=_roles(suite.profile),
        seed=suite.seed,
        models=", ".join(settings.model for settings in suite.profile.listed) or "none",
    )


def _benchmark(context: Context, key: str) -> str:
    items = context.current(negatives.NAME, key).summary["items"]
    counts = " and ".join(f"{count} {track}" for track, count in items.items())
    return f"- {key}: {counts} items, of {context.suite.concepts[key]} concepts"


def _roles(profile: Profile) -> str:
    roles = ("writer", "generator", "detector", "judge")
    return "\n".join(f"- {role}: {getattr(profile, role).model}" for role in roles)
