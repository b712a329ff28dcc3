"""What an installed package holds beside its code."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_data_file_of_the_package_is_in_the_wheel():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["bindbench"]
    package = ROOT / "bindbench"
    packed = {file for pattern in patterns for file in package.glob(pattern) if file.is_file()}
    data = {
        file for file in package.rglob("*") if file.is_file() and file.suffix not in (".py", ".pyc")
    }
    assert data - packed == set()
    assert len(packed) > 50
