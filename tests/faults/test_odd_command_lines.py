"""Command lines that nobody should type: each ends with an exit status and at most a sentence, never a traceback."""

import numpy as np
import pytest
from made_runs import ONLINE, tiny_config, train, write_data

from mzu.commands.cli import main

ODD = ("", " ", "-1", "0", "1", "1e9", "-1e400", "nan", "inf", "none", "true", "[]", "{}", "[[1]]", "ä", "x" * 500,
       "a=b",
       "=", ":", "?", "?repeat=0", "catch?repeat=x", "dm_control:", "atari:", "atari:Nothing", "embedded:", "rlu:",
       "minari:", "dqn_replay:", "rlu_atari:Pong/x", "..", "/", "/dev/null", "/proc/self/mem", "\\", "%s", "{0}", "-",
       "--", "0x10", "1_000", "９", "1,2", "1.5", "2**3", "None", "latest", "best", "*", "~", "\x00")  # fmt: skip
NUMBERS = ("-1", "0", "1", "2", "3", "-0.5", "0.5", "1e-9", "7", "99999")
FIELDS = ("seed", "data", "data_root", "environment", "search", "search.num_simulations", "search.discount",
          "search.num_sampled_actions", "network.width", "network.num_blocks", "network.value_support",
          "network.frame_stack", "network.scalar_head", "replay.capacity", "replay.segment_length", "replay.start_size",
          "replay.priority_exponent", "reanalyse.fraction", "reanalyse.demonstrations", "acting.games",
          "acting.temperatures", "acting.positions_per_step", "learning.batch_size", "learning.unroll_steps",
          "learning.td_steps", "learning.policy_loss", "learning.learning_rate", "evaluation.episodes",
          "evaluation.select", "run.log_period", "run.keep_checkpoints", "nothing", "search.nothing", ".", "search.",
          "learning.jit_compile", "learning.weight_average")  # fmt: skip
# What would be allowed and take long, or more memory than a test should: not typed here.
LARGE = ("learning.batch_size", "acting.games", "replay.capacity", "evaluation.episodes", "search.num_simulations",
         "learning.unroll_steps", "acting.positions_per_step", "replay.segment_length", "replay.start_size",
         "learning.td_steps", "network.width", "network.value_support")  # fmt: skip
LONG = tuple(f"{name}={number}" for name in LARGE for number in ("1e9", "99999", "1_000"))
SETTINGS = (*ONLINE, "learning.training_steps=1", "evaluation.period=0")
TRAIN = ["train", "--env", "identity", *(part for setting in SETTINGS for part in ("--set", setting))]


def lines(run, data):
    """Every command as it should be typed, and options that may take an odd value: (beginning, options)."""
    position, network = ["--episode", "0", "--step", "0"], ["--observation", "4", "--actions", "2"]
    return (
        (TRAIN, ["--seed", "--env", "--data", "--only", "--jobs", "--out", "--resume"]),
        ([*TRAIN, "--set"], None),
        ([*TRAIN, "--set"], None),
        (["data", "info", data], ["--root", "--reward-shift", "--fraction", "--num-actions", "--skip-bad", "--none"]),
        (["data", "info"], ["--quiet", "--skip-bad"]),
        (["data", "check", data], ["--env", "--reward-shift", "--num-actions", "--html"]),
        (["data", "convert", data, "copy"], ["--format", "--files", "--limit", "--root", "--fraction"]),
        (["collect", "identity", "--out", "a.npz", "--episodes", "1", "--overwrite"], [
            "--policy", "--episodes", "--out", "--seed", "--noise", "--sticky", "--option", "--run", "--network",
            "--set", "--recipe"]),
        (["evaluate", run, "--episodes", "1", "--select", "policy"], [
            "--select", "--episodes", "--checkpoint", "--env", "--seed", "--video", "--trust"]),
        (["evaluate"], ["--checkpoint", "--trust"]),
        (["explain", run, *position], ["--episode", "--step", "--simulations", "--checkpoint", "--compare", "--json",
                                       "--html", "--trust"]),
        (["explain", run, "--model"], ["--episodes", "--checkpoint", "--json", "--html"]),
        (["explain"], ["--trust", "--episode"]),
        (["network", *network], ["--observation", "--actions", "--datapoints", "--batch"]),
        (["network", *network, "--set"], None),
        (["presets"], ["--json", "--nothing"]),
        (["grade"], ["--nothing", "--help"]),
        ([], ["--version", "--traceback", "--help", "--nothing"]),
    )  # fmt: skip


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    train(tiny_config("online", folder), folder / "run")
    return str(folder / "run"), str(write_data(folder / "data.npz", "identity"))


@pytest.mark.parametrize("count", [pytest.param(40, id="share"), pytest.param(300, id="all", marks=pytest.mark.slow)])
def test_an_odd_command_line_ends_in_a_sentence(places, tmp_path, monkeypatch, capsys, count):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    kinds = lines(*places)
    for number in range(count):
        argv = odd_line(*kinds[number % len(kinds)], rng)
        if any(word.startswith(LONG) for word in argv) or ("99999" in argv and {"--episodes", "--files"} & set(argv)):
            continue
        try:
            status = main(argv)
        except SystemExit as end:  # argparse has said what is wrong, or shown the help
            status = end.code
        said = capsys.readouterr().err
        assert status in (0, 1, 2), argv
        assert "Traceback" not in said, argv
        assert status != 2 or said.strip(), argv


def odd_line(beginning, options, rng):
    """A beginning, then one or two options with odd values, or, without options, an odd value of a field."""

    def one_of(things):
        return things[int(rng.integers(len(things)))]

    def odd():
        return one_of(NUMBERS) if rng.random() < 0.5 else one_of(ODD)

    if options is None:
        return [*beginning, f"{one_of(FIELDS)}={odd()}"]
    argv = list(beginning)
    if len(argv) < 3 or rng.random() < 0.1:
        argv.append(odd())
    for _ in range(int(rng.integers(1, 3))):
        option = one_of(options)
        takes_none = option in ("--trust", "--resume", "--skip-bad", "--quiet", "--json") and argv[0] != "explain"
        argv += [option] if takes_none or option == "--trust" or rng.random() < 0.05 else [option, odd()]
    return argv
