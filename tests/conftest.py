"""What all tests share. The settings come first, because the libraries read them when they are imported."""

import os

os.environ.setdefault("MUJOCO_GL", "disable")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from pathlib import Path

import pytest


@pytest.fixture
def fixtures_folder() -> Path:
    """The folder of small files that other projects wrote in their formats; without it the test is skipped."""
    if not os.environ.get("MZU_FIXTURES"):
        pytest.skip("needs other projects' data: set MZU_FIXTURES to the folder that holds them")
    folder = Path(os.environ["MZU_FIXTURES"])
    assert folder.is_dir(), f"MZU_FIXTURES is {folder}, which is not a folder"
    return folder
