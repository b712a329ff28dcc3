"""Drawing captions by the project's generator against a plain loop of diffusers, in one run.

    python benchmarks/diffusion.py [--images 16] [--batch 8]
    python benchmarks/diffusion.py --size sd3.5-large --device cuda [--images 64] [--batch 16]

Both sides draw with the same pipeline of Stable Diffusion 3.5's kind, whose weights are random:
``small`` in float32 (256 pixels, 4 steps; for a CPU), ``sd3.5-large`` with the published widths and
depths in bfloat16 (1024 pixels, 28 steps, guidance 4.5; for a GPU with 40 GB or more). The plain
loops are those of a reader of the documentation: a call for each image, and a call for each batch.
"""

import argparse
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import diffusers as df
import numpy as np
import torch
import transformers as hf

from bindbench.captions.minimal import write_minimal
from bindbench.concepts import sample_concepts
from bindbench.models.base import ImageRequest
from bindbench.models.diffusers_generator import DiffusersGenerator, Drawer, Limit
from bindbench.models.diffusers_prompts import Prompts
from bindbench.tasks import BENCHMARKS
from bindbench.training.validator_data import embedded_lexicon


@dataclass(frozen=True)
class Size:
    """Widths and depths of a pipeline, and how it is called."""

    dtype: torch.dtype
    side: int  # of the images, in pixels
    steps: int
    clips: tuple[tuple[int, int, int], ...]  # width, layers and heads of both
    t5: tuple[int, int, int]  # width, layers and heads
    transformer: tuple[int, int]  # layers and heads of 64
    vae: tuple[int, ...]  # channels of its blocks


SIZES = {
    "small": Size(
        torch.float32, 256, 4, ((256, 4, 4), (256, 4, 4)), (512, 4, 8), (4, 8), (32, 64, 64, 64)
    ),
    "sd3.5-large": Size(
        *(torch.bfloat16, 1024, 28, ((768, 12, 12), (1280, 32, 20)), (4096, 24, 64), (38, 38)),
        (128, 256, 512, 512),
    ),
}


def build_pipeline(size: Size) -> Any:
    """Return a pipeline with random weights; its tokenizers know no words, which costs the same."""
    clips = [
        hf.CLIPTextModelWithProjection(
            hf.CLIPTextConfig(
                hidden_size=width,
                intermediate_size=4 * width,
                num_hidden_layers=layers,
                num_attention_heads=heads,
                projection_dim=width,
                bos_token_id=0,
                eos_token_id=1,
            )
        )
        for width, layers, heads in size.clips
    ]
    width, layers, heads = size.t5
    t5 = hf.T5EncoderModel(
        hf.T5Config(
            d_model=width,
            d_kv=64,
            d_ff=width * 5 // 2,
            num_layers=layers,
            num_heads=heads,
            feed_forward_proj="gated-gelu",
        )
    )
    depth, heads = size.transformer
    transformer = df.SD3Transformer2DModel(
        sample_size=size.side // 8,
        patch_size=2,
        in_channels=16,
        out_channels=16,
        num_layers=depth,
        attention_head_dim=64,
        num_attention_heads=heads,
        joint_attention_dim=width,
        caption_projection_dim=64 * heads,
        pooled_projection_dim=sum(clip[0] for clip in size.clips),
        pos_embed_max_size=192,
        qk_norm="rms_norm",
    )
    blocks = len(size.vae)
    vae = df.AutoencoderKL(
        block_out_channels=size.vae,
        down_block_types=("DownEncoderBlock2D",) * blocks,
        up_block_types=("UpDecoderBlock2D",) * blocks,
        layers_per_block=2,
        latent_channels=16,
        scaling_factor=1.5305,
        shift_factor=0.0609,
        use_quant_conv=False,
        use_post_quant_conv=False,
    )
    tokens = hf.CLIPTokenizer(model_max_length=77)
    pipeline = df.StableDiffusion3Pipeline(
        transformer=transformer,
        scheduler=df.FlowMatchEulerDiscreteScheduler(shift=3.0),
        vae=vae,
        text_encoder=clips[0],
        tokenizer=tokens,
        text_encoder_2=clips[1],
        tokenizer_2=tokens,
        text_encoder_3=t5,
        tokenizer_3=hf.T5Tokenizer(model_max_length=512),
    )
    for part in (*clips, t5, transformer, vae):
        part.eval()
    pipeline.set_progress_bar_config(disable=True)
    return pipeline


def requests(count: int) -> list[ImageRequest]:
    """Return minimal captions, each with a seed."""
    lexicon = embedded_lexicon()
    sampled = sample_concepts(BENCHMARKS["color-n2"], lexicon, count, seed=0)
    concepts = [item.concept for item in sampled]
    texts = [write_minimal(concept, lexicon).text for concept in concepts]
    pairs = zip(concepts, texts, strict=True)
    return [ImageRequest(c, text, "minimal", seed) for seed, (c, text) in enumerate(pairs)]


def plain(pipeline: Any, call: dict[str, Any], asked: Sequence[ImageRequest]) -> list[np.ndarray]:
    """Draw a batch as the documentation shows it, a generator for each image."""
    generators = [torch.Generator("cpu").manual_seed(request.seed) for request in asked]
    texts = [request.caption for request in asked]
    return [np.asarray(image) for image in pipeline(texts, generator=generators, **call).images]


Draw = Callable[[Sequence[ImageRequest]], list[np.ndarray]]


def timed(
    start_shard: Callable[[], Draw], asked: Sequence[ImageRequest], batch: int
) -> tuple[float, list[np.ndarray]]:
    """Return the seconds that all batches of a shard take, and the images."""
    start_shard()(asked[:batch])  # what is slow only once
    draw = start_shard()
    images: list[np.ndarray] = []
    started = time.perf_counter()
    for start in range(0, len(asked), batch):
        images += draw(asked[start : start + batch])
    return time.perf_counter() - started, images


def main() -> None:
    """Run all three and print the ratios."""
    parser = argparse.ArgumentParser(description="Drawing captions against plain diffusers.")
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--images", type=int, default=16)
    parser.add_argument("--batch", type=int, default=8)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    hf.utils.logging.set_verbosity_error()
    df.utils.logging.set_verbosity_error()
    size = SIZES[options.size]
    torch.set_default_dtype(size.dtype)
    with torch.device(options.device):
        pipeline = build_pipeline(size).to(options.device)
    torch.set_default_dtype(torch.float32)
    call = {
        "num_inference_steps": size.steps,
        "guidance_scale": 4.5,
        "width": size.side,
        "height": size.side,
    }
    asked = requests(options.images)

    def theirs() -> Draw:
        return lambda part: plain(pipeline, call, part)

    def ours() -> Draw:
        generator = DiffusersGenerator(options.size, [drawer.fresh()])
        return lambda part: [made.image for made in generator.generate(part)]

    found = {
        "diffusers, one by one": timed(theirs, asked, 1),
        f"diffusers, batches of {options.batch}": timed(theirs, asked, options.batch),
    }
    pipeline.vae.enable_slicing()  # as the project loads pipelines
    drawer = Drawer(options.size, pipeline, Prompts(pipeline, call), Limit())
    seconds, images = timed(ours, asked, options.batch)
    print(f"{options.size} on {options.device}, {len(asked)} images of {size.side} pixels")
    print(f"bindbench, batches of {options.batch}: {len(asked) / seconds:.3f} images/s")
    for name, (plainly, right) in found.items():
        pairs = zip(images, right, strict=True)
        apart = max(int(np.abs(a.astype(int) - b.astype(int)).max()) for a, b in pairs)
        print(
            f"{name}: {len(asked) / plainly:.3f} images/s, bindbench is {plainly / seconds:.2f} "
            f"times as fast; pixels differ by {apart} of 255 at most"
        )


if __name__ == "__main__":
    main()
