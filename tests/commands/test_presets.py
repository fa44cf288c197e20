"""`mzu presets` lists the presets and shows what makes one."""

import pytest

from mzu.commands.cli import main
from mzu.config import Config
from mzu.presets import PRESETS, preset


def test_the_command_lists_all_presets(capsys):
    assert main(["presets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name, one in PRESETS.items():
        assert any(line.startswith(name) and one.summary in line for line in lines)


@pytest.mark.parametrize("name", PRESETS)
def test_what_the_command_shows_makes_the_preset_again(name, capsys):
    assert main(["presets", name]) == 0
    settings = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("#")]
    assert Config().override(*settings) == preset(name).config
    assert main(["presets", name, "--json"]) == 0
    assert Config.from_json(capsys.readouterr().out) == preset(name).config


def test_the_command_refuses_an_unknown_name(capsys):
    assert main(["presets", "swing_up"]) == 2
    assert "did you mean 'swingup'?" in capsys.readouterr().err
