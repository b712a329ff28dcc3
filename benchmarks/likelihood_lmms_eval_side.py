"""lmms-eval's side of likelihood_lmms_eval.py: reads a JSON document, ends by writing one."""

import json
import sys
import time
from types import SimpleNamespace

import torch
from lmms_eval.models.simple.llava_hf import LlavaHf
from PIL import Image

TASK, SPLIT = "task", "split"


def main() -> None:
    asked = json.loads(sys.stdin.read())
    torch.set_num_threads(1)
    model = LlavaHf(asked["checkpoint"], device="cpu", device_map="cpu", dtype="float32")
    image = Image.open(asked["image"]).convert("RGB")
    # Its default template is Vicuna's; the checkpoint's own is passed the way it takes one.
    model.task_dict = {TASK: {SPLIT: [{}] * len(asked["texts"])}}
    requests = [
        SimpleNamespace(args=(asked["prompt"], text, lambda doc: [image], i, TASK, SPLIT))
        for i, text in enumerate(asked["texts"])
    ]
    model.loglikelihood(requests[:2])
    started = time.process_time()
    losses = [loss for loss, _ in model.loglikelihood(requests)]
    seconds = time.process_time() - started
    labels = [count_labels(model, asked["prompt"], text, image) for text in asked["texts"]]
    print(json.dumps({"losses": losses, "labels": labels, "seconds": seconds}))


def count_labels(model: LlavaHf, prompt: str, text: str, image: Image.Image) -> int:
    """Return over how many tokens its loss is a mean: all but as many as it finds in the prompt."""
    user = {"role": "user", "content": f"<image>\n{prompt}"}
    answer = {"role": "assistant", "content": text}
    render = model.tokenizer.apply_chat_template
    start = render([user], tokenize=False, add_generation_prompt=True)
    whole = render([user, answer], tokenize=False)
    read = model._image_processor
    ids = read(text=[whole], images=[image], return_tensors="pt")["input_ids"]
    return ids.shape[1] - read(text=[start], return_tensors="pt")["input_ids"].shape[1]


if __name__ == "__main__":
    main()
