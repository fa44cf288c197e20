"""The paper's scale is said, and refused where it cannot be run."""

import pytest

from mzu.commands.cli import main
from mzu.experiments.catalogue import EXPERIMENTS
from mzu.experiments.definition import run_config
from mzu.experiments.paper_scale import ATARI, CONTROL_TASKS, OWN, at_paper_scale
from mzu.learning.learner import check_possible


def test_every_experiment_has_a_paper_scale_or_is_our_own():
    kinds = [ATARI, CONTROL_TASKS, OWN]
    assert sorted(name for kind in kinds for name in kind) == sorted(EXPERIMENTS)


@pytest.mark.parametrize("name", OWN)
def test_an_experiment_of_our_own_has_none(name, capsys):
    assert main(["reproduce", name, "--scale", "paper"]) == 2
    assert "which the paper has not; leave --scale out" in capsys.readouterr().err


@pytest.mark.parametrize("name", ATARI)
def test_atari_is_refused_before_anything_is_made(name, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["reproduce", name, "--scale", "paper", "--out", str(out)]) == 2
    assert f"mzu: {name} at the paper's scale is" in capsys.readouterr().err and not out.exists()


def test_without_data_the_download_is_named(capsys):
    assert main(["reproduce", "control", "--scale", "paper"]) == 2
    assert "needs RL Unplugged's DM Control episodes" in capsys.readouterr().err


def test_data_that_are_not_there_are_missed(tmp_path, capsys):
    assert main(["reproduce", "control", "--scale", "paper", "--data-root", str(tmp_path)]) == 2
    assert "There are no files of rlu:" in capsys.readouterr().err


def make_shards(root, names):
    for name in names:
        folder = root / "dm_control_suite_episodes" / name
        folder.mkdir(parents=True)
        (folder / "train-00000-of-00100").write_bytes(b"")


@pytest.mark.parametrize("name", CONTROL_TASKS)
def test_with_data_one_cell_must_be_named(name, tmp_path):
    make_shards(tmp_path, CONTROL_TASKS[name])
    with pytest.raises(ValueError, match="runs of 1,000,000 learner steps for each seed"):
        at_paper_scale(EXPERIMENTS[name], tmp_path, None)
    chosen, tasks = at_paper_scale(EXPERIMENTS[name], tmp_path, "a cell")
    assert chosen.tasks == CONTROL_TASKS[name]
    for variant in chosen.variants:
        config = run_config(tasks[0], variant, 0)
        check_possible(config)
        learning, is_crr = config.learning, config.learning.policy_loss == "crr"
        assert (learning.training_steps, learning.batch_size) == (1_000_000, 1024)
        assert learning.td_steps == (5 if is_crr else 0)
        assert config.data_root == str(tmp_path) and config.data == f"rlu:{tasks[0].name}"
        assert config.network.num_blocks == 10 and config.environment == "dm_control:" + tasks[0].name.replace(
            "_", "-", 1
        )
