"""Scoring many captions of many images against CLIP_benchmark's caption selection, in one run.

    python benchmarks/contrastive.py [--images 200] [--captions 729] [--repeats 10]

The captions repeat: ``--repeats`` images share each set of captions, as the images of a scene's
seeds and counterparts do. Both sides use the same weights (nano:clip), one thread and float32. The
package clip-benchmark is installed without its dependencies into a folder of its own
(``--package``, a temporary one by default); the project does not depend on it.
"""

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import open_clip
import torch
from PIL import Image as PILImage

from bindbench.candidates import candidate_texts
from bindbench.captions.minimal import write_minimal
from bindbench.concepts import sample_concepts
from bindbench.models.base import ScoreRequest
from bindbench.models.open_clip_names import find_source
from bindbench.models.open_clip_scorer import load_open_clip
from bindbench.models.weights import WEIGHTS
from bindbench.tasks import BENCHMARKS
from bindbench.training.validator_data import embedded_lexicon

PACKAGE = "clip-benchmark==1.6.2"
MODULE = "clip_benchmark.metrics.image_caption_selection"
BATCH = 16  # images in a batch, on both sides


def caption_sets(images: int, captions: int, repeats: int) -> list[list[str]]:
    """Return the captions of each image: all candidates of a concept with three objects."""
    lexicon = embedded_lexicon()
    concepts = sample_concepts(BENCHMARKS["color-n3"], lexicon, -(-images // repeats), seed=0)
    sets = [
        candidate_texts(write_minimal(s.concept, lexicon), s.concept, lexicon)[:captions]
        for s in concepts
    ]
    return [sets[i // repeats] for i in range(images)]


def baseline(folder: Path) -> Any:
    """Return CLIP_benchmark's evaluation loop, installed into ``folder``."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
    if not (folder / "clip_benchmark").exists():
        subprocess.run([*pip, str(folder), PACKAGE], check=True)
    sys.path.append(str(folder))
    return importlib.import_module(MODULE)


def time_baseline(loop: Any, pictures: list[np.ndarray], texts: list[list[str]]) -> float:
    """Return the seconds that CLIP_benchmark takes; like ours, with images decoded already."""
    source = f"local-dir:{WEIGHTS / 'nano-clip'}"
    model, _, preprocess = open_clip.create_model_and_transforms(source)
    tokenizer = open_clip.get_tokenizer(source)
    started = time.perf_counter()
    pixels = [preprocess(PILImage.fromarray(picture)) for picture in pictures]
    loader = [
        (torch.stack(pixels[i : i + BATCH]), texts[i : i + BATCH])
        for i in range(0, len(pixels), BATCH)
    ]
    loop.evaluate(model.eval(), loader, tokenizer, "cpu", amp=False)
    return time.perf_counter() - started


def time_ours(pictures: list[np.ndarray], texts: list[list[str]]) -> float:
    """Return the seconds that the project's scorer takes."""
    source = find_source(str(WEIGHTS / "nano-clip"))
    scorer = load_open_clip("nano:clip", source, "float32", "cpu")
    truth = np.empty(0, np.int8)
    requests = [
        ScoreRequest(str(i), picture, captions, truth)
        for i, (picture, captions) in enumerate(zip(pictures, texts, strict=True))
    ]
    started = time.perf_counter()
    for start in range(0, len(requests), BATCH):
        scorer.score(requests[start : start + BATCH])
    return time.perf_counter() - started


def main() -> None:
    """Run both and print the ratio."""
    parser = argparse.ArgumentParser(description="Contrastive scoring against CLIP_benchmark.")
    parser.add_argument("--images", type=int, default=200)
    parser.add_argument("--captions", type=int, default=729, help="of each image, at most 729")
    parser.add_argument("--repeats", type=int, default=10, help="images that share their captions")
    parser.add_argument("--package", type=Path, help="folder for the package clip-benchmark")
    options = parser.parse_args()
    torch.set_num_threads(1)
    texts = caption_sets(options.images, options.captions, options.repeats)
    rng = np.random.default_rng(0)
    pictures = [rng.integers(0, 256, (128, 128, 3), np.uint8) for _ in texts]
    distinct = len({text for captions in texts for text in captions})
    print(f"{len(pictures)} images x {len(texts[0])} captions, {distinct} distinct captions")
    with tempfile.TemporaryDirectory() as temporary:
        loop = baseline(options.package or Path(temporary))
        ours = time_ours(pictures, texts)
        theirs = time_baseline(loop, pictures, texts)
    ratio = theirs / ours
    print(f"bindbench {ours:.1f} s, clip-benchmark {theirs:.1f} s: {ratio:.1f} times faster")


if __name__ == "__main__":
    main()
