"""Log-likelihoods of all candidates of an image against lmms-eval's own loop, on one checkpoint.

    python benchmarks/likelihood_lmms_eval.py --venv /tmp/lmms-eval [--candidates 729]

lmms-eval needs versions of packages that sam2 does not bear, and so has a virtual environment of
its own, made in ``--venv`` if there is none. Both sides get a small LLaVA checkpoint with 256 image
tokens, one thread and float32; they exchange JSON. lmms-eval returns the model's mean loss over all
that it labels. That is more than the caption: its count of the prompt's tokens leaves out the
image's, which are labelled too. Times the number of labels, the losses of two captions of one image
differ by what their log-likelihoods do, and by this they are compared.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
import transformers as hf
from likelihood_models import TEXT, VISION, candidate_captions
from PIL import Image as PILImage
from tokenizers import Tokenizer, models, pre_tokenizers

from bindbench.models.base import ScoreRequest
from bindbench.models.registry import load
from bindbench.suite import RoleSettings, VocabularySources

# Of later versions of transformers its loop is refused: it gives the prompt without its image.
PACKAGES = ("lmms-eval==0.7.3", "decord==0.6.0", "transformers==5.12.0")
PROMPT = "Describe the image."
SPECIAL = ("<pad>", "</s>", "<s>", "<image>")
# Of a message's content, lmms-eval gives a text and the project a list of parts.
TEMPLATE = """\
{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}USER: {% if m.content is string %}\
{{ m.content }}{% else %}{% for part in m.content %}{% if part.type == 'image' %}<image>
{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %} ASSISTANT:{% else %} \
{% if m.content is string %}{{ m.content }}{% else %}{{ m.content[0].text }}{% endif %}\
{% endif %}{% endfor %}"""
THEIRS = Path(__file__).with_name("likelihood_lmms_eval_side.py")


def save_checkpoint(folder: Path, texts: list[str]) -> None:
    """Write a LLaVA checkpoint whose tokens are the words of the captions."""
    pieces = pre_tokenizers.Whitespace()
    words = {w for text in [*texts, PROMPT, "USER: ASSISTANT:"] for w, _ in split(pieces, text)}
    names = [*SPECIAL, "<unk>", *sorted(words)]
    core = Tokenizer(models.WordLevel({w: i for i, w in enumerate(names)}, unk_token="<unk>"))
    core.pre_tokenizer = pieces
    tokens = hf.PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<pad>",
        eos_token="</s>",
        bos_token="<s>",
        unk_token="<unk>",
        extra_special_tokens={"image_token": "<image>"},
    )
    config = hf.LlavaConfig(
        text_config=TEXT | {"model_type": "llama", "pad_token_id": 0},
        vision_config=VISION | {"model_type": "clip_vision_model", "projection_dim": 64},
        image_token_index=3,
        image_seq_length=256,
    )
    size = {"height": 224, "width": 224}
    processor = hf.LlavaProcessor(
        hf.CLIPImageProcessor(size={"shortest_edge": 224}, crop_size=size),
        tokens,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE,
    )
    torch.manual_seed(0)
    model = hf.LlavaForConditionalGeneration(config)
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(6.0)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    # Where lmms-eval reads it; processors keep it in a file of its own.
    tokens.chat_template = TEMPLATE
    tokens.save_pretrained(folder)


def split(pieces: Any, text: str) -> Any:
    return pieces.pre_tokenize_str(text)


def python_of(venv: Path) -> Path:
    """Return the interpreter of the environment that holds lmms-eval, made if it is not there."""
    python = venv / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *PACKAGES], check=True)
    return python


def theirs(venv: Path, folder: Path, picture: Path, texts: list[str]) -> dict[str, Any]:
    """Return the losses, the numbers of labels and the seconds of lmms-eval's loop."""
    asked = {"checkpoint": str(folder), "image": str(picture), "prompt": PROMPT, "texts": texts}
    found = subprocess.run(
        [str(python_of(venv)), str(THEIRS)],
        input=json.dumps(asked),
        env=os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
    )
    if found.returncode:
        sys.exit(found.stderr[-3000:])
    return json.loads(found.stdout.splitlines()[-1])


def ours(folder: Path, image: np.ndarray, texts: list[str]) -> tuple[np.ndarray, float]:
    """Return the log-likelihoods and the seconds, the self-test not counted."""
    settings = RoleSettings(model=f"hf:{folder}", options={"image_free": False})
    scorer = load("scorer", settings, VocabularySources())
    scorer.score([ScoreRequest("first", image, texts[:2], np.empty(0, np.int8))])
    started = time.process_time()
    (found,) = scorer.score([ScoreRequest("image", image, texts, np.empty(0, np.int8))])
    return found.values, time.process_time() - started


def main() -> None:
    """Run both and print the ratio."""
    parser = argparse.ArgumentParser(description="Log-likelihoods against lmms-eval's loop.")
    parser.add_argument("--venv", type=Path, required=True, help="of lmms-eval, made if needed")
    parser.add_argument("--candidates", type=int, default=729)
    options = parser.parse_args()
    torch.set_num_threads(1)
    texts = candidate_captions("color-n3")[: options.candidates]
    image = np.random.default_rng(0).integers(0, 256, (224, 224, 3), np.uint8)
    with tempfile.TemporaryDirectory() as temporary:
        folder, picture = Path(temporary) / "llava", Path(temporary) / "image.png"
        save_checkpoint(folder, texts)
        PILImage.fromarray(image).save(picture)
        values, seconds = ours(folder, image, texts)
        found = theirs(options.venv, folder, picture, texts)
    sums = -np.array(found["losses"]) * np.array(found["labels"])
    apart = np.abs((sums - sums[0]) - (values - values[0])).max()
    print(
        f"{len(texts)} captions: bindbench {seconds:.2f} s, lmms-eval {found['seconds']:.2f} s: "
        f"{found['seconds'] / seconds:.1f} times faster; differences between captions at most "
        f"{apart:.1e} nats apart"
    )


if __name__ == "__main__":
    main()
