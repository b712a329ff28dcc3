"""The scenes that a model was trained on, shipped beside its weights, to keep evaluations apart."""

from pathlib import Path

import numpy as np

from bindbench.training.nano_clip_data import NanoPlan
from bindbench.training.nano_clip_images import Scenes


def save_scenes(data: Scenes, plan: NanoPlan, folder: Path) -> None:
    """Write the ids of all scenes that were rendered for training, as sorted 64-bit numbers."""
    told = [data.said(row, data.colors[row], plan) for row in range(len(data))]
    scenes = {concept.scene_id(plan.lexicon) for concept in (*data.concepts, *told)}
    ids = np.array(sorted(int(scene, 16) for scene in scenes), np.uint64)
    np.save(folder / "training_scenes.npy", ids, allow_pickle=False)


def trained_scenes(folder: Path) -> frozenset[str]:
    """Return the canonical ids of the scenes that a model was trained on."""
    ids = np.load(folder / "training_scenes.npy", allow_pickle=False)
    return frozenset(f"{int(scene):016x}" for scene in ids)
