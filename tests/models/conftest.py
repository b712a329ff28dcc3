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


@pytest.fixture(scope="session")
def detector(tmp_path_factory) -> Callable[[str], Path]:
    """The folder of a tiny zero-shot detector of a family, which no test may change."""
    from detector_checkpoints import save_detector

    saved: dict[str, Path] = {}

    def folder(family: str) -> Path:
        if family not in saved:
            saved[family] = save_detector(family, tmp_path_factory.mktemp(family))
        return saved[family]

    return folder


@pytest.fixture(scope="session")
def segmenter(tmp_path_factory) -> tuple[Path, Path]:
    """A tiny checkpoint of SAM 2 and its configuration, which no test may change."""
    from detector_checkpoints import save_sam2

    return save_sam2(tmp_path_factory.mktemp("sam2"))
