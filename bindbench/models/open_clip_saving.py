"""An open_clip model as a folder in the library's own format, which loads without a network."""

import shutil
from pathlib import Path
from typing import Any

import open_clip
from open_clip.push_to_hf_hub import save_config_for_hf
from safetensors.torch import save_file

from bindbench.errors import UserError
from bindbench.models.open_clip_names import CONFIG, Source

WEIGHTS_FILE = "open_clip_model.safetensors"
_TOKENIZER_FILES = (".json", ".txt", ".model")


def save_folder(model: Any, tokenizer: Any, source: Source, folder: Path) -> None:
    """Write configuration, tokenizer and weights; the weights appear whole or not at all.

    Args:
        model: of open_clip.
        tokenizer: its tokenizer.
        source: what the model was loaded from.
        folder: is made where it is not there.

    Raises:
        UserError: the tokenizer can't be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if source.path is not None and source.path.is_dir():
        for file in source.path.iterdir():
            if file.suffix in _TOKENIZER_FILES:  # the configuration is one of them
                shutil.copyfile(file, folder / file.name)
    else:
        _write_description(model, tokenizer, source, folder)
    tensors = {name: value.detach().contiguous() for name, value in model.state_dict().items()}
    part = folder / (WEIGHTS_FILE + ".part")
    save_file({name: value.cpu().clone() for name, value in tensors.items()}, part)
    part.replace(folder / WEIGHTS_FILE)


def _write_description(model: Any, tokenizer: Any, source: Source, folder: Path) -> None:
    config = open_clip.get_model_config(source.model)
    if hasattr(tokenizer, "tokenizer"):
        tokenizer.tokenizer.save_pretrained(folder)
    elif config and "siglip" in source.model.lower():
        # open_clip finds such a tokenizer by the architecture's name, which a folder does not have.
        raise UserError(
            f"{source.model}: its tokenizer can't be written into a folder: give the model of the "
            "hub instead (open_clip:hf-hub:timm/...)."
        )
    write: Any = save_config_for_hf  # it says str, and opens the path
    write(model, folder / CONFIG, config)
