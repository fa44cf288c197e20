"""The command line starts fast, and tells people about mistakes in a sentence."""

import subprocess
import sys
import types
from pathlib import Path

import pytest

import mzu
from mzu.commands.cli import COMMANDS, Command, main


@pytest.fixture
def example(monkeypatch):
    """A command `example` with one argument, whose `run` the test sets."""
    module = types.ModuleType("example_command")
    module.add_arguments = lambda parser: parser.add_argument("--number", type=int, default=1)
    monkeypatch.setitem(sys.modules, "example_command", module)
    return module


def run_example(*argv):
    return main([*argv], [Command("example", "example_command", "an example")])


def raiser(error):
    def run(arguments):
        raise error

    return run


def test_the_exit_status_is_what_the_command_returns(example):
    example.run = lambda arguments: arguments.number
    assert run_example("example", "--number", "7") == 7


def test_a_value_error_is_one_line_on_stderr_and_status_2(example, capsys):
    example.run = raiser(ValueError("actions[17] is 6, but the environment has 4 actions (0..3)"))
    assert run_example("example") == 2
    assert capsys.readouterr() == ("", "mzu: actions[17] is 6, but the environment has 4 actions (0..3)\n")


def test_a_missing_file_is_named_without_an_error_number(example, capsys):
    example.run = lambda arguments: Path("no/such/file").read_text()
    assert run_example("example") == 2
    assert capsys.readouterr().err == "mzu: no/such/file: No such file or directory\n"


def test_the_traceback_is_kept_when_asked_for(example):
    example.run = raiser(ValueError("a sentence"))
    with pytest.raises(ValueError, match="a sentence"):
        run_example("--traceback", "example")


def test_a_missing_package_of_an_extra_is_named_with_the_extra(example, capsys):
    example.run = raiser(ModuleNotFoundError("No module named 'nbformat'", name="nbformat.v4"))
    assert run_example("example") == 2
    assert capsys.readouterr().err == (
        "mzu: This command needs nbformat, which is not installed: pip install 'mzu[classroom]'\n"
    )
    with pytest.raises(ModuleNotFoundError):
        run_example("--traceback", "example")


@pytest.mark.parametrize("error", [ValueError(), KeyError("steps"), ModuleNotFoundError("x", name="mzu.no_such")])
def test_an_error_that_says_nothing_to_a_reader_keeps_its_traceback(example, error):
    example.run = raiser(error)
    with pytest.raises(type(error)):
        run_example("example")


def test_control_c_ends_quietly_with_status_130(example, capsys):
    example.run = raiser(KeyboardInterrupt())
    assert run_example("example") == 130
    assert capsys.readouterr() == ("", "")


def test_no_command_shows_the_help_and_status_2(capsys):
    assert main([]) == 2
    assert "usage: mzu" in capsys.readouterr().err


def test_an_unknown_command_is_refused_with_the_ones_there_are(capsys):
    with pytest.raises(SystemExit) as ending:
        main(["docter"])
    assert ending.value.code == 2
    assert "doctor" in capsys.readouterr().err


def test_help_lists_every_command_and_imports_none_of_the_large_libraries():
    code = """
import sys
from mzu.commands.cli import main
try:
    main(["--help"])
finally:
    large = {"tensorflow", "keras", "numba", "numpy", "gymnasium", "dm_control"} & set(sys.modules)
    assert not large, large
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    for command in COMMANDS:
        assert f"\n    {command.name} " in process.stdout


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_has_a_help_of_its_own(command, capsys):
    with pytest.raises(SystemExit) as ending:
        main([command.name, "--help"])
    assert ending.value.code == 0
    assert f"usage: mzu {command.name}" in capsys.readouterr().out


def test_python_m_mzu_is_the_same_command():
    process = subprocess.run([sys.executable, "-m", "mzu", "--version"], capture_output=True, text=True)
    assert process.stdout == f"mzu {mzu.__version__}\n"


def test_a_reader_that_closes_the_pipe_is_no_error():
    code = "from mzu.commands.cli import Command, main; sys.exit(main(['example'], [Command('example', 'm', '')]))"
    module = "def add_arguments(parser): pass\ndef run(arguments):\n    while True: print('line' * 1000)"
    prelude = f"import sys, types; m = types.ModuleType('m'); exec({module!r}, m.__dict__); sys.modules['m'] = m; "
    process = subprocess.Popen([sys.executable, "-c", prelude + code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.read(10)
    process.stdout.close()
    assert process.wait(timeout=60) == 141
    assert process.stderr.read() == b""
