from collections.abc import Callable
from pathlib import Path

import pytest
from hf_checkpoints import save_checkpoint


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory) -> Callable[[str], Path]:
    """The folder of a tiny checkpoint of a family, which no test may change."""
    saved: dict[str, Path] = {}

    def folder(family: str) -> Path:
        if family not in saved:
            saved[family] = save_checkpoint(family, tmp_path_factory.mktemp(family))
        return saved[family]

    return folder


@pytest.fixture(scope="session")
def pipeline_folder(tmp_path_factory) -> Callable[[str], Path]:
    """The folder of a tiny text-to-image pipeline of a family, which no test may change."""
    from diffusers_pipelines import save_pipeline  # diffusers takes seconds to import

    saved: dict[str, Path] = {}

    def folder(family: str) -> Path:
        if family not in saved:
            saved[family] = save_pipeline(family, tmp_path_factory.mktemp(family))
        return saved[family]

    return folder
