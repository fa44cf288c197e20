"""`mzu network` prints sub-models, parameters and memory, and tells mistakes in a sentence."""

import pytest

from mzu.commands.cli import main

SMALL = ["--set", "network.width=16", "--set", "network.num_blocks=2"]


def test_the_command_prints_sub_models_parameters_and_memory(capsys):
    assert main(["network", "--observation", "5", "--actions", "3", *SMALL]) == 0
    output = capsys.readouterr().out
    for text in ("representation: observation (5)", "dynamics: hidden (16)", "prediction: hidden (16)"):
        assert text in output
    assert "memory of one search: 0.6 MB for 64 positions, 50 simulations, 3 candidates" in output


def test_the_command_takes_images_dimensions_and_an_automatic_width(capsys):
    arguments = ["--observation", "10,5,1", "--dimensions", "2", "--set", "network.width=auto"]
    arguments += ["--datapoints", "256", "--set", "network.num_blocks=1", "--set", "search.num_sampled_actions=20"]
    assert main(["network", *arguments]) == 0
    output = capsys.readouterr().out
    assert "10 x 5 x 16" in output and "21 candidates" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--observation", "5", "--actions", "3", "--set", "network.width=auto"], "needs the number of stored steps"),
        (["--observation", "5", "--actions", "3", "--set", "network.wdth=3"], "did you mean 'network.width'?"),
        (["--observation", "5,5", "--actions", "3"], "observation_shape is (5, 5)"),
        (["--observation", "5", "--actions", "3", "--batch", "0"], "--batch is 0"),
        (["--observation", "5", "--dimensions", "2"], "set search.num_sampled_actions"),
    ],
)
def test_mistakes_are_told_in_a_sentence(capsys, arguments, message):
    assert main(["network", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("mzu: ") and message in error


def test_a_shape_that_is_none_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["network", "--observation", "84xx84", "--actions", "3"])
    assert "'84xx84' is not a shape; write 8 or 84,84,4" in capsys.readouterr().err
