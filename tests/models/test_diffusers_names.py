"""What names and options of pipelines mean, and what is said where a pipeline can't be had."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from diffusers_use import requests
from safetensors.torch import load_file, save_file

from bindbench.errors import UserError
from bindbench.models import diffusers_names, hf_names, registry
from bindbench.models.availability import parameters
from bindbench.models.diffusers_options import KNOWN, DiffusersOptions
from bindbench.suite import RoleSettings, VocabularySources

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def settings(name: object, **options: Any) -> RoleSettings:
    return RoleSettings(model=f"diffusers:{name}", options=options)


def load(name: object, **options: Any) -> Any:
    return registry.load("generator", settings(name, **options), VocabularySources())


def copied(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to / "copy")
    return to / "copy"


def renamed(folder: Path, to: Path, class_name: Any) -> Path:
    """Return an index alone, of another class."""
    index = json.loads((folder / "model_index.json").read_text())
    (to / "model_index.json").write_text(json.dumps(index | {"_class_name": class_name}))
    return to


@pytest.mark.parametrize(
    ("class_name", "reason"),
    [
        ("StableDiffusionImg2ImgPipeline", "makes no images from texts alone: give a text-to-im"),
        ("StableDiffusionXLControlNetPipeline", "makes no images from texts alone"),
        ("StableVideoDiffusionPipeline", "makes no images from texts alone"),
        ("WanPipeline", "makes no images from texts alone"),
        ("StableAudioPipeline", "makes no images from texts alone"),
        ("NoSuchPipeline", "has no pipeline NoSuchPipeline: install the version"),
        ("UNet2DConditionModel", "has no pipeline UNet2DConditionModel"),
        (["pipeline", "MyPipeline"], "this pipeline needs the code in its repository"),
    ],
)
def test_other_classes_are_refused(class_name, reason, pipeline_folder, tmp_path):
    folder = renamed(pipeline_folder("sd3"), tmp_path, class_name)
    with pytest.raises(UserError, match=reason) as caught:
        registry.resolve("generator", settings(folder))
    assert str(caught.value).startswith(f"diffusers:{folder}: ")


@pytest.mark.parametrize(
    "class_name",
    ["FluxKontextPipeline", "SanaPipeline", "QwenImagePipeline", "HiDreamImagePipeline"],
)
def test_any_class_that_makes_images_from_texts_will_do(class_name, pipeline_folder, tmp_path):
    folder = renamed(pipeline_folder("sd3"), tmp_path, class_name)
    source = diffusers_names.find_source(str(folder), "", DiffusersOptions())
    assert (source.pipeline, source.commit) == (class_name, None)


def test_names_that_mean_nothing(pipeline_folder, tmp_path):
    def said(name: object) -> str:
        with pytest.raises(UserError) as caught:
            registry.resolve("generator", settings(name))
        return str(caught.value)

    assert "there is no folder nowhere: give one, or a name of the hub" in said("./nowhere")
    assert f"{tmp_path} holds no model_index.json: give what save_pretra" in said(tmp_path)
    assert "a folder has no revisions, leave out @main" in said(f"{pipeline_folder('sd3')}@main")
    (tmp_path / "model_index.json").write_text("[]")
    assert "model_index.json is no JSON object with the field _class_name" in said(tmp_path)


@pytest.mark.parametrize(
    ("family", "options", "reason"),
    [
        ("sd3", {"preset": "stabilityai/stable-diffusion-3-5"}, "did you mean stabilityai/stable"),
        ("sd3", {"steps": 0}, "steps is 0: Input should be greater than or equal to 1"),
        ("sd3", {"arguments": {"steps_": 4}}, "takes no steps_: leave out the option arguments"),
        ("sd3", {"arguments": {"width": 64}}, "width does not belong into the option arguments: u"),
        (
            "sd3",
            {"arguments": {"generator": 1}},
            "generator does not belong .*: it can't be ch",
        ),
        (
            "sd3",
            {"negative_prompt": "x", "guidance": 1},
            "where guidance_scale is 1.0: set guidance",
        ),
        ("flux", {"negative_prompt": "x"}, r"where true_cfg_scale is 1.0: set arguments: \{true_"),
        ("sd3", {"devices": ["cuda:0", "auto"]}, "devices holds auto: name devices such as cuda:0"),
        ("sd3", {"device": "cpu", "devices": ["cuda:0"]}, "exclude each other: leave one out"),
        (
            "sd3",
            {"cpu_offload": "model"},
            "cpu_offload model needs an accelerator, and device is c",
        ),
        ("sd3", {"quantisation": "4bit"}, "quantisation 4bit needs a GPU, and device is cpu: name"),
        ("sd3", {"quantisation": "4bit", "device": "cuda"}, "needs the package bitsandbytes and a"),
    ],
)
def test_options_that_can_not_be(family, options, reason, pipeline_folder, monkeypatch):
    monkeypatch.setattr(diffusers_names, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=reason):
        registry.resolve("generator", settings(pipeline_folder(family), **options))


def test_a_pipeline_on_an_accelerator_is_held_by_one_process(pipeline_folder):
    folder = pipeline_folder("sd3")
    assert registry.processes("generator", settings(folder), 4) == 4
    assert registry.processes("generator", settings(folder, device="cuda"), 4) == 1
    several = settings(folder, devices=["cuda:0", "cuda:1"])
    assert registry.processes("generator", several, 4) == 1


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"device": "cuda:99"}, "device 'cuda:99' can't be used here: give cpu, or a device"),
        ({"devices": ["cpu", "nowhere"]}, "device 'nowhere' can't be used here"),
        ({"width": 30}, "StableDiffusion3Pipeline can't draw with these options"),
        ({"variant": "fp16"}, r"can't be loaded \(.*variant=fp16.*\): complete the checkpoint"),
    ],
)
def test_what_shows_when_a_pipeline_is_loaded_and_used(options, reason, pipeline_folder):
    with pytest.raises(UserError, match=reason):
        load(pipeline_folder("sd3"), steps=1, **options).generate(requests())


@pytest.mark.parametrize(
    ("family", "part", "file", "key"),
    [
        ("sd3", "transformer", "diffusion_pytorch_model", "proj_out.weight"),
        ("sd3", "text_encoder_3", "model", "encoder.final_layer_norm.weight"),
        ("sd2", "vae", "diffusion_pytorch_model", "quant_conv.bias"),
    ],
)
def test_a_checkpoint_without_some_weights_is_refused(
    family, part, file, key, pipeline_folder, tmp_path
):
    folder = copied(pipeline_folder(family), tmp_path)
    weights = folder / part / f"{file}.safetensors"
    kept = load_file(weights)
    del kept[key]
    save_file(kept, weights, metadata={"format": "pt"})
    with pytest.raises(UserError, match=rf"lacks weights \({key}\): it is incomplete, or of anot"):
        load(folder)


def test_damaged_checkpoints_are_one_sentence(pipeline_folder, tmp_path):
    folder = copied(pipeline_folder("sd3"), tmp_path)
    weights = folder / "transformer" / "diffusion_pytorch_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(UserError, match=r"the pipeline in .* can't be loaded \(.+\): complete the"):
        load(folder)
    weights.unlink()
    with pytest.raises(UserError, match=r"can't be loaded \(.*no file named .*\): complete"):
        load(folder)


def test_where_the_weights_are(pipeline_folder, tmp_path):
    folder = copied(pipeline_folder("sd3"), tmp_path)

    def found(**options: Any) -> Any:
        return diffusers_names.weights_of(str(folder), "", DiffusersOptions(**options))

    parts = sorted(folder.glob("*/*.safetensors"))
    assert [file.parent.name for file in parts] == [
        *("text_encoder", "text_encoder_2", "text_encoder_3", "transformer", "vae")
    ]
    assert (found().where, list(found().files)) == ("local", parts)
    assert found().memory("bfloat16") == 2 * sum(map(parameters, parts))
    # One part also comes in half precision, and in two files.
    stem = "diffusion_pytorch_model.fp16"
    half = [folder / "vae" / f"{stem}-0000{i}-of-00002.safetensors" for i in (1, 2)]
    for file in half:
        shutil.copy(parts[-1], file)
    assert list(found().files) == parts
    assert list(found(variant="fp16").files) == [*parts[:-1], *half]
    half[0].unlink()
    assert found(variant="fp16").where == "missing"
    parts[0].unlink()
    assert (found().where, found().place) == ("missing", str(folder / "text_encoder"))
    assert diffusers_names.weights_of("org/none", "", DiffusersOptions()).where == "missing"


def test_known_models_have_the_settings_of_the_paper_and_of_their_cards():
    paper = KNOWN["stabilityai/stable-diffusion-3.5-large"]
    assert (paper.steps, paper.guidance, paper.side) == (28, 4.5, 1024)  # Auto-Comp, A.6
    for name, known in KNOWN.items():
        turbo = "turbo" in name or "schnell" in name
        assert (known.guidance == 0 and known.steps <= 4) == turbo
    assert set(KNOWN) == set(registry.FAMILIES["generator", "diffusers"].known())


class Hub(BaseHTTPRequestHandler):
    """Gives the files of one pipeline as a repository of the hub."""

    folder: Path

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body: bool) -> None:
        path = self.path.partition("?")[0]
        if path.startswith("/api/models/org/sd"):
            return self.send(self.listing(path), body)
        repository, _, rest = path.strip("/").partition("/resolve/")
        revision, _, name = rest.partition("/")
        if repository == "org/gated":
            return self.refuse(403, "GatedRepo")
        if repository != "org/sd":
            return self.refuse(404, "RepoNotFound")
        if revision not in ("main", "v1", COMMIT):
            return self.refuse(404, "RevisionNotFound")
        file = self.folder / name
        if not file.is_file():
            return self.refuse(404, "EntryNotFound")
        return self.send(file.read_bytes(), body)

    def listing(self, path: str) -> bytes:
        files = [file for file in sorted(self.folder.rglob("*")) if file.is_file()]
        names = [str(file.relative_to(self.folder)) for file in files]
        if "/tree/" in path:
            tree = [
                {"type": "file", "path": name, "size": file.stat().st_size, "oid": name}
                for name, file in zip(names, files, strict=True)
            ]
            return json.dumps(tree).encode()
        siblings = [{"rfilename": name} for name in names]
        return json.dumps({"id": "org/sd", "sha": COMMIT, "siblings": siblings}).encode()

    def send(self, content: bytes, body: bool) -> None:
        self.send_response(200)
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{hash(self.path)}"')
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content if body else b"")

    def refuse(self, status: int, code: str) -> None:
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("X-Error-Message", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format, *args):
        pass


@pytest.fixture
def hub(pipeline_folder) -> Iterator[str]:
    handler = type("PipelineHub", (Hub,), {"folder": pipeline_folder("sd2")})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


ASK = """
import hashlib, sys
from bindbench.concepts import Concept
from bindbench.errors import UserError
from bindbench.models.base import ImageRequest
from bindbench.models.families import FAMILIES
from bindbench.models.registry import describe, load, named
from bindbench.suite import RoleSettings, VocabularySources
request = ImageRequest(Concept("color", ("cup",), ("red",)), "a red cup", "minimal", 5)
for name in sys.argv[1:]:
    settings = RoleSettings(model=name, options={"steps": 1, "width": 32, "height": 32})
    try:
        commit = describe("generator", settings)["commit"]
        image = load("generator", settings, VocabularySources()).generate([request])[0].image
        where = FAMILIES["generator", "diffusers"].weights(*named("generator", settings)[::2]).where
        print(commit, where, hashlib.sha256(image.tobytes()).hexdigest())
    except UserError as error:
        print(error)
"""


def ask(names: list[str], **environment: str) -> list[str]:
    """Return what a new process says, since the hub's client reads its settings on import."""
    command = [sys.executable, "-c", ASK, *names]
    found = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return found.stdout.splitlines()


@pytest.mark.slow
def test_a_pipeline_of_the_hub_is_fetched_once_and_kept(hub, tmp_path):
    names = ["org/sd@v1", "org/gated", "org/none", "org/sd@none"]
    names = [f"diffusers:{name}" for name in names]
    lines = ask(names, HF_ENDPOINT=hub, HF_HOME=str(tmp_path), HF_HUB_OFFLINE="0")
    assert lines[0].startswith(f"{COMMIT} cached ")
    assert lines[1].startswith("diffusers:org/gated: this model is gated: accept its terms")
    assert lines[2].startswith("diffusers:org/none: the hub has no such model, or it is private")
    assert lines[3].startswith("diffusers:org/sd@none: there is no such revision")
    # Without a network the same model is drawn with, and others can't be.
    names = ["diffusers:org/sd@v1", "diffusers:org/other"]
    again = ask(names, HF_HOME=str(tmp_path), HF_HUB_OFFLINE="1")
    assert again[0] == lines[0]
    assert again[1].startswith("diffusers:org/other: this model is not in the cache and the hub")


def test_a_full_disk_is_one_sentence(monkeypatch, pipeline_folder):
    import errno

    import diffusers

    def full(*args, **how):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(diffusers.DiffusionPipeline, "download", full)
    monkeypatch.setattr(
        hf_names, "fetch_file", lambda *_: pipeline_folder("sd2") / "model_index.json"
    )
    with pytest.raises(UserError, match=r"diffusers:org/full: the disk is full: free space in the"):
        load("org/full")
