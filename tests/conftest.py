"""What all tests share. The settings come first, because the libraries read them when they are imported."""

import os

os.environ.setdefault("MUJOCO_GL", "disable")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# The core, for the loop of editing and testing: `pytest -m quick`. No training, no processes, no notebooks.
QUICK = (
    "test_config.py",
    "test_files.py",
    "networks/test_blocks.py",
    "networks/test_policy_heads.py",
    "networks/test_scalars.py",
    "search/test_bad_input.py",
    "search/test_cores.py",
    "search/test_first_evaluations.py",
    "search/test_gumbel.py",
    "search/test_history.py",
    "search/test_improvement.py",
    "search/test_search.py",
    "search/test_tree.py",
    "replay/test_priorities.py",
    "replay/test_replay.py",
    "replay/test_returns.py",
    "replay/test_segment.py",
    "reanalyse/test_buffers.py",
    "reanalyse/test_fraction.py",
    "games/test_fresh_game.py",
    "games/test_piece.py",
    "games/test_player.py",
    "games/test_search_games.py",
    "games/test_searches.py",
    "games/test_stored_game.py",
    "acting/test_selection.py",
    "learning/test_losses.py",
    "learning/test_optimiser.py",
    "learning/test_targets.py",
)


def pytest_collection_modifyitems(config, items):
    """Marks the tests of the files above as quick, unless they are slow."""
    missing = [name for name in QUICK if not (TESTS / name).is_file()]
    if missing:
        raise pytest.UsageError(f"QUICK in tests/conftest.py names {', '.join(missing)}, which is not there")
    files = {TESTS / name for name in QUICK}
    for item in items:
        if item.path in files and item.get_closest_marker("slow") is None:
            item.add_marker(pytest.mark.quick)


@pytest.fixture
def fixtures_folder() -> Path:
    """The folder of small files that other projects wrote in their formats; without it the test is skipped."""
    if not os.environ.get("MZU_FIXTURES"):
        pytest.skip("needs other projects' data: set MZU_FIXTURES to the folder that holds them")
    folder = Path(os.environ["MZU_FIXTURES"])
    assert folder.is_dir(), f"MZU_FIXTURES is {folder}, which is not a folder"
    return folder
