"""One machine, one seed: one log.csv, whatever the process did before and wherever its kernels come from."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from made_runs import assert_same_state, tiny_config, train

PACKAGE = Path(__file__).parent.parent.parent / "mzu"
SHORT = ("learning.training_steps=30", "evaluation.period=0", "evaluation.episodes=1", "run.log_period=1")


def test_a_run_is_the_same_after_another_one_in_its_process(tmp_path):
    config = tiny_config("offline", tmp_path)
    alone, _ = train(config)
    train(config.override("learning.policy_loss=crr", "learning.td_steps=2", "network.width=24", "seed=3"))
    assert_same_state(train(config)[0], alone)


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["cartpole_offline", "catch_offline", "swingup_offline"])
def test_a_shipped_preset_gives_one_log_alone_or_compared_with_an_empty_or_a_full_cache(preset, tmp_path):
    settings = [f"--set={setting}" for setting in SHORT]
    # The first process finds no kernels, the second those that the first has compiled.
    alone = logs(tmp_path / "alone", tmp_path / "cache", preset, "--only", "unplugged", *settings)
    compared = logs(tmp_path / "compared", tmp_path / "cache", preset, *settings)
    assert compared["unplugged"] == alone["unplugged"]


def logs(out: Path, cache: Path, *arguments: str) -> dict[str, str]:
    """{run: its log.csv} of `mzu train` in a process of its own."""
    command = [sys.executable, "-m", "mzu", "train", *arguments, "--out", str(out)]
    environment = os.environ | {"PYTHONPATH": str(PACKAGE.parent), "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {path.parent.name: path.read_text() for path in out.glob("**/log.csv")}
