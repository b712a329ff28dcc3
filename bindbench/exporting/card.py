"""The card of an exported dataset: what ``datasets`` reads at its top, and words for people."""

from collections.abc import Sequence

import yaml

from bindbench.exporting.data_files import DataFile
from bindbench.exporting.items import Exported, families_of

_TEXT = """
# {name}

A compositional-binding benchmark: each image comes with its right caption and with captions of the
same words bound otherwise. Made by BindBench from the suite `{name}`; the images are by
`{generator}`, and each was checked to show its caption.

| benchmark | split | images | candidates of an image |
|---|---|---|---|
{table}

```python
from datasets import load_dataset

rows = load_dataset("{name}", "{config}", split="{split}")
```

- `image`, `caption`: the picture and its right caption.
- `candidates`: all captions, the right one first. `semantics` says of each whether it is `true` of
  the picture, `false` or `undecided`, `reasons` why, `families` which kind it is: `positive`,
  `swap`, `confusion`, `vary_color` or `vary_object`. Every swap is a Confusion candidate too.
- `objects`, `labels`: what the picture shows, in the order in which the caption mentions it.
- `scene_id`: pictures of the same scene share it; cluster intervals by it.

**strict accuracy** is the share of images whose right caption scores higher than every `false`
candidate of a family; a tie is a loss, and images without a false candidate are left out. **paper
accuracy** counts every other candidate. A random choice among F + 1 captions is right once in
F + 1. The definitions are those of Auto-Comp (arXiv 2602.02043), except that no true caption counts
as wrong in strict accuracy.
"""


def card(suite: Exported, files: Sequence[DataFile]) -> str:
    """Return ``README.md``: configs and splits as YAML, then a description."""
    first, name = files[0], suite.suite.name
    described = _TEXT.format(
        name=name,
        generator=suite.generator,
        table="\n".join(_lines(suite, files)),
        config=first.benchmark,
        split=first.split,
    )
    head = {
        "pretty_name": name,
        "language": ["en"],
        "task_categories": ["zero-shot-image-classification", "image-to-text"],
        "tags": ["compositionality", "vision-language", "bindbench"],
        "configs": _configs(files),
    }
    return f"---\n{yaml.safe_dump(head, sort_keys=False)}---\n{described}"


def splits(files: Sequence[DataFile]) -> dict[tuple[str, str], list[DataFile]]:
    """Return the files of each benchmark and split."""
    found: dict[tuple[str, str], list[DataFile]] = {}
    for file in files:
        found.setdefault((file.benchmark, file.split), []).append(file)
    return dict(sorted(found.items(), key=lambda entry: entry[0][0]))


def _configs(files: Sequence[DataFile]) -> list[dict[str, object]]:
    configs: dict[str, list[dict[str, object]]] = {}
    for (key, split), own in splits(files).items():
        entry = {"split": split, "path": [file.path for file in own]}
        configs.setdefault(key, []).append(entry)
    return [{"config_name": key, "data_files": entries} for key, entries in configs.items()]


def _lines(suite: Exported, files: Sequence[DataFile]) -> list[str]:
    families = {one.key: " and ".join(families_of(one.key)) for one in suite.benchmarks}
    return [
        f"| `{key}` | `{split}` | {sum(file.rows for file in own):,} | {families[key]} |"
        for (key, split), own in splits(files).items()
    ]
