"""Masks by SAM 2 against the package's own use, one image at a time; what is not loaded."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from detector_checkpoints import sam2_config, save_sam2
from sam2.build_sam import build_sam2
from sam2.sam2_image_predictor import SAM2ImagePredictor

from bindbench.errors import UserError
from bindbench.models import sam2_masks
from bindbench.models.sam2_masks import Sam2Masks, load_sam2
from bindbench.models.sam2_names import find_segmenter

RNG = np.random.default_rng(0)
IMAGES = [RNG.integers(0, 256, (h, w, 3), np.uint8) for h, w in ((48, 64), (40, 40), (48, 64))]
BOXES = [
    np.array([[2.0, 3, 30, 40], [5, 5, 20, 20]]),
    np.array([[1.0, 1, 30, 30]]),
    np.array([[0.0, 0, 64, 48], [20, 10, 60, 44], [30, 2, 50, 9]]),
]


def load(checkpoint: Path, config: Path, dtype: str = "float32") -> Sam2Masks:
    return load_sam2(find_segmenter(str(checkpoint), str(config)), "cpu", dtype)


def plain_masks(predictor: SAM2ImagePredictor, image: np.ndarray, box: np.ndarray) -> np.ndarray:
    predictor.set_image(image)
    return predictor.predict(box=box, multimask_output=False)[0][0].astype(bool)


def built(config: Path, checkpoint: Path | None) -> torch.nn.Module:
    """What the package makes of a configuration; it is looked for where Hydra looks."""
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

    kept = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(config.parent), version_base="1.2"):
            return build_sam2(config.name, checkpoint and str(checkpoint), device="cpu")
    finally:
        GlobalHydra.instance().initialize(kept)


def test_masks_are_those_of_the_package_at_its_own_size(tmp_path):
    checkpoint, config = save_sam2(tmp_path, side=1024)
    predictor = SAM2ImagePredictor(built(config, checkpoint))
    found = load(checkpoint, config).masks(IMAGES[:1], BOXES[:1])
    for mask, box in zip(found[0], BOXES[0], strict=True):
        wanted = plain_masks(predictor, IMAGES[0], box)
        assert 0 < wanted.mean() < 1
        assert mask.dtype == bool
        np.testing.assert_array_equal(mask, wanted)


def test_masks_of_a_batch_are_those_of_one_box_at_a_time(segmenter):
    checkpoint, config = segmenter
    predictor = SAM2ImagePredictor(built(config, checkpoint))
    predictor._bb_feat_sizes = [(32, 32), (16, 16), (8, 8)]  # of an image of 128 pixels
    found = load(checkpoint, config).masks(IMAGES, BOXES)
    assert [masks.shape for masks in found] == [(2, 48, 64), (1, 40, 40), (3, 48, 64)]
    for image, boxes, masks in zip(IMAGES, BOXES, found, strict=True):
        for box, mask in zip(boxes, masks, strict=True):
            wanted = plain_masks(predictor, image, box)
            # In a batch the last bit of a sum may differ, and with it a pixel at the rim.
            assert (mask != wanted).mean() < 1e-3
    assert len({masks[0].tobytes() for masks in found}) == 3


def test_half_precision_gives_nearly_the_same(segmenter):
    single = load(*segmenter).masks(IMAGES, BOXES)
    half = load(*segmenter, dtype="bfloat16").masks(IMAGES, BOXES)
    for one, other in zip(single, half, strict=True):
        assert (one == other).mean() > 0.95


def test_where_memory_runs_out_batches_are_halved(segmenter, monkeypatch, caplog):
    masks = load(*segmenter)
    whole = masks.masks(IMAGES, BOXES)
    sizes = []
    plain = masks._masks

    def scarce(items):
        sizes.append(len(items))
        if len(items) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return plain(items)

    monkeypatch.setattr(masks, "_masks", scarce)
    for one, other in zip(masks.masks(IMAGES, BOXES), whole, strict=True):
        assert (one == other).mean() > 0.999
    assert sizes == [3, 1, 1, 1]
    assert "out of memory, going on with 1 at a time" in caplog.text


def test_a_published_configuration_builds_what_the_package_builds():
    ours = sam2_masks._build(find_segmenter("facebook/sam2.1-hiera-tiny", ""))
    theirs = build_sam2("configs/sam2.1/sam2.1_hiera_t.yaml", device="cpu")
    assert str(ours) == str(theirs)
    shapes = [{k: v.shape for k, v in m.state_dict().items()} for m in (ours, theirs)]
    assert shapes[0] == shapes[1]
    for field in sam2_masks.STABLE_MASKS:
        assert getattr(ours.sam_mask_decoder, field) == getattr(theirs.sam_mask_decoder, field)


# What is not loaded


def test_a_checkpoint_with_code_is_not_run(segmenter, tmp_path):
    marker = tmp_path / "ran"

    class Evil:
        def __reduce__(self):
            return Path.touch, (marker,)

    file = tmp_path / "evil.pt"
    torch.save({"model": Evil()}, file)
    with pytest.raises(UserError, match=r"evil.pt is damaged, or holds more than tensors"):
        load(file, segmenter[1])
    file.write_bytes(pickle.dumps(Evil()))
    with pytest.raises(UserError, match=r"evil.pt is damaged, or holds more than tensors"):
        load(file, segmenter[1])
    assert not marker.exists()


@pytest.mark.parametrize(
    "target", ["os.system", "sam2.modeling.sam2_base.torch.hub.load", "builtins.exec"]
)
def test_a_configuration_builds_nothing_but_the_classes_of_the_package(segmenter, tmp_path, target):
    config = sam2_config()
    config["model"]["image_encoder"]["trunk"] = {"_target_": target, "command": "touch ran"}
    file = tmp_path / "evil.yaml"
    file.write_text(yaml.safe_dump(config))
    with pytest.raises(UserError, match=rf"evil.yaml names {target}, which is none of SAM 2's"):
        load(segmenter[0], file)


def test_damage_is_one_sentence_each(segmenter, tmp_path):
    checkpoint, config = segmenter
    cut = tmp_path / "cut.pt"
    cut.write_bytes(checkpoint.read_bytes()[:2000])
    with pytest.raises(UserError, match=r"cut.pt is damaged"):
        load(cut, config)
    weights = torch.load(checkpoint, weights_only=True)["model"]
    first = sorted(weights)[0]
    for name, content, problem in (
        ("bare", weights, "bare.pt holds no weights under the name model"),
        (
            "short",
            {"model": {k: v for k, v in weights.items() if k != first}},
            f"short.pt lacks 1 of its weights, {first} first",
        ),
        (
            "more",
            {"model": weights | {"extra": weights[first]}},
            "more.pt has 1 weights that it does not know, extra first",
        ),
        (
            "other",
            {"model": weights | {first: torch.zeros(3, 1)}},
            f"other.pt has 1 weights of another size, {first} first",
        ),
    ):
        file = tmp_path / f"{name}.pt"
        torch.save(content, file)
        with pytest.raises(UserError, match=problem):
            load(file, config)
    broken = tmp_path / "broken.yaml"
    broken.write_text("model: [unclosed")
    with pytest.raises(UserError, match=r"broken.yaml is no YAML file with the field model"):
        load(checkpoint, broken)
    config_of = sam2_config()
    del config_of["model"]["image_encoder"]["trunk"]
    broken.write_text(yaml.safe_dump(config_of))
    with pytest.raises(UserError, match=r"no model can be built from .*broken.yaml"):
        load(checkpoint, broken)
