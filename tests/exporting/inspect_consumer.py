"""Inspect evaluates nano:clip on an exported task. Run by its own interpreter.

Prints JSON: by file of samples, the score of each sample by its id, as Inspect's scorer gave it.
"""

import base64
import contextlib
import io
import json
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
from inspect_ai import eval as inspect_eval
from inspect_ai.model import ModelAPI, ModelOutput, modelapi
from PIL import Image as PILImage

from bindbench.models import registry
from bindbench.models.base import ScoreRequest
from bindbench.suite import RoleSettings, VocabularySources

SCORER = registry.load("scorer", RoleSettings(model="nano:clip"), VocabularySources())
OPTION = re.compile(r"^([A-Z]|\d+)\) (.+)$", re.MULTILINE)


@modelapi(name="nano")
class Nano(ModelAPI):
    """Answers with the option that nano:clip finds most similar."""

    async def generate(self, input, tools, tool_choice, config):
        parts = input[-1].content
        picture = next(part.image for part in parts if part.type == "image")
        text = next(part.text for part in parts if part.type == "text")
        options = OPTION.findall(text)
        data = base64.b64decode(picture.partition(",")[2])
        image = np.asarray(PILImage.open(io.BytesIO(data)).convert("RGB"))
        texts = [caption for _, caption in options]
        asked = ScoreRequest("item", image, texts, np.zeros(len(texts), np.int8))
        best = int(np.argmax(SCORER.score([asked])[0].values))
        return ModelOutput.from_content("nano", f"ANSWER: {options[best][0]}")


def main(folder: Path, names: list[str]) -> dict[str, dict[str, str]]:
    found = {}
    for name in names:
        key, track, family = name.rsplit("-", 2)
        arguments = {"benchmark": key, "track": track, "family": family}
        # It takes tasks of the folder that it is called in.
        with tempfile.TemporaryDirectory() as logs, contextlib.chdir(folder):
            (log,) = inspect_eval(
                "bindbench_task.py",
                task_args=arguments,
                model="nano/clip",
                log_dir=logs,
                display="none",
            )
            assert log.status == "success", log.error
            found[name] = {sample.id: sample.scores["choice"].value for sample in log.samples}
        right = list(found[name].values()).count("C") / len(found[name])
        assert abs(log.results.scores[0].metrics["accuracy"].value - right) < 1e-9
    return found


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):
        result = main(Path(sys.argv[1]), sys.argv[2:])
    print(json.dumps(result))
