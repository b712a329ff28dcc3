"""CLIP_benchmark evaluates nano:clip on an exported webdataset. Run by its own interpreter.

Prints JSON: by webdataset, whether each item was right by CLIP_benchmark's own metric.
"""

import contextlib
import json
import sys
from pathlib import Path

from clip_benchmark.datasets.builder import build_dataset
from clip_benchmark.metrics.image_caption_selection import evaluate
from torch.utils.data import DataLoader

from bindbench.models import registry
from bindbench.suite import RoleSettings, VocabularySources


class Model:
    """What the metric asks of a model."""

    def __init__(self, encoders):
        self.encode_image = encoders.model.encode_image
        self.encode_text = encoders.model.encode_text


def main(folder: Path, names: list[str]) -> dict[str, list[bool]]:
    scorer = registry.load("scorer", RoleSettings(model="nano:clip"), VocabularySources())
    encoders = scorer.encoders
    found = {}
    for name in names:
        dataset = build_dataset(
            "wds/bindbench",
            root=str(folder / name),
            transform=encoders._preprocess,
            split="test",
            task="image_caption_selection",
        )
        # As its command line does.
        batches = DataLoader(dataset.batched(1), batch_size=None, shuffle=False)
        found[name] = [
            evaluate(Model(encoders), [batch], encoders._tokenizer, "cpu", amp=False)["text_acc"]
            for batch in batches
        ]
    return found


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):
        result = main(Path(sys.argv[1]), sys.argv[2:])
    print(json.dumps(result))
