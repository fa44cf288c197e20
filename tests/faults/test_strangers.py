"""What a stranger hands over runs no code: settings of a run, networks, the folder of compiled kernels.

Every hostile file would only write a marker into the test's own folder; the tests look for it.
"""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from made_runs import tiny_config, train

import mzu.compilation
from mzu.commands.cli import main
from mzu.config import NetworkConfig
from mzu.environments.make import import_trusted
from mzu.environments.spaces import Spaces
from mzu.networks.network import build_network
from mzu.networks.saving import load_network, save_network
from mzu.training.run_folder import RunFolder

ROOT = Path(__file__).parents[2]
# Ids by which a config.json could ask for code; {module} lies in the current directory and on the path of Python.
HOSTILE_IDS = (
    "{module}:Env-v0",
    "{module}:Env-v0?repeat=2",
    "{module}.inside:Env-v0",
    " {module}:Env-v0",
    "{module} :Env-v0",
    "{module}::Env-v0",
    "{module}:",
    "./{module}:Env-v0",
    "antigravity:Env-v0",
    "this:Env-v0",
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    train(tiny_config("online", folder.parent), folder)
    return folder


@pytest.fixture
def stranger(tmp_path, monkeypatch, finished):
    """A function that gives a run's folder with another environment; a hostile module lies in the current directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")  # as `python -m mzu` has it
    marker = tmp_path / "marker"
    Path("hostile_world.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    content = json.loads((finished / "config.json").read_text())

    def make(environment):
        os.makedirs("run", exist_ok=True)
        Path("run/config.json").write_text(json.dumps(content | {"environment": environment}))
        if not Path("run/checkpoints").exists():
            os.symlink(finished / "checkpoints", "run/checkpoints")
        return Path("run")

    yield make
    assert not marker.exists(), "code of the stranger has run"
    assert not {"hostile_world", "antigravity", "this"} & sys.modules.keys()


@pytest.mark.parametrize("id", HOSTILE_IDS)
def test_a_config_that_asks_for_a_module_is_refused_by_every_command(stranger, capsys, id):
    run = str(stranger(id.format(module="hostile_world")))
    for command in (
        ["evaluate", run, "--episodes", "1"],
        ["explain", run, "--episode", "0", "--step", "0"],
        ["explain", run, "--model"],
        ["train", "--resume", "--out", run],
        ["collect", "--run", run, "--out", "a.npz"],
    ):
        assert main(command) == 2
        said = capsys.readouterr().err
        assert "config.json asks for the environment" in said and "--trust" in said


def test_trust_imports_nothing_from_the_current_directory(stranger, capsys, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    run = stranger("hostile_world:Env-v0")
    assert main(["evaluate", str(run), "--trust"]) == 2
    assert "lies in the current directory" in capsys.readouterr().err


def test_trust_imports_a_module_where_packages_are_or_pythonpath_points_to(tmp_path, monkeypatch):
    (tmp_path / "friendly_world.py").write_text("seen = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    import_trusted("friendly_world:Env-v0")
    assert sys.modules.pop("friendly_world").seen
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    import_trusted("friendly_world:Env-v0")
    assert sys.modules.pop("friendly_world").seen


def test_another_environment_that_the_user_names_needs_no_trust(stranger, capsys):
    run = stranger("hostile_world:Env-v0")
    assert main(["evaluate", str(run), "--env", "identity", "--episodes", "1", "--select", "policy"]) == 0
    assert "identity" in capsys.readouterr().out


def test_a_comparison_is_looked_at_run_by_run(stranger, capsys):
    stranger("hostile_world:Env-v0")
    os.makedirs("both")
    os.rename("run", "both/unplugged")
    assert main(["train", "--resume", "--out", "both"]) == 2
    assert "--trust" in capsys.readouterr().err


def lambda_layer(marker):
    """A function as Keras 3 stores it: marshalled code, in base64."""
    import base64
    import marshal

    code = (lambda x: [open(marker, "w").close(), x][1]).__code__
    return {"class_name": "__lambda__", "config": {"code": base64.b64encode(marshal.dumps(code)).decode()}}


def hostile_layers(marker):
    """Layers by which a .keras file could run code, each with one way to do so."""
    call = {"class_name": "function", "config": "system", "module": "os", "registered_name": "system"}
    yield "lambda", {"class_name": "Lambda", "module": "keras.layers", "config": {"function": lambda_layer(marker)}}
    yield "os.system", {"class_name": "Lambda", "module": "keras.layers", "config": {"function": call}}
    for module, name in (("hostile_world", "Layer"), ("os", "system"), ("subprocess", "Popen"), ("builtins", "exec")):
        yield f"{module}.{name}", {"class_name": name, "module": module, "config": {"name": f"touch {marker}"}}
    unsafe = {"class_name": "function", "module": "keras.config", "config": "enable_unsafe_deserialization"}
    yield "unsafe", {"class_name": "Lambda", "module": "keras.layers", "config": {"function": unsafe}}
    yield "pickle", {"class_name": "loads", "module": "pickle", "config": {"data": "cos\nsystem\n"}}
    yield "torch", {"class_name": "TorchModuleWrapper", "module": "keras.layers", "config": {"module": "gASV"}}
    get_file = {"class_name": "function", "module": "keras.utils", "config": "get_file"}
    yield "download", {"class_name": "Lambda", "module": "keras.layers", "config": {"function": get_file}}


LAYERS = [name for name, _ in hostile_layers("")]


@pytest.mark.parametrize("name", LAYERS)
def test_a_network_with_hostile_layers_gives_its_weights_and_nothing_else(tmp_path, monkeypatch, name):
    """The models in the file are never looked at; a config of them that is no JSON at all would do as well."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    marker = tmp_path / "marker"
    Path("hostile_world.py").write_text(f"open({str(marker)!r}, 'w').close()\nclass Layer: pass\n")
    network = build_network(NetworkConfig(width=8, num_blocks=1, value_support=3, reward_support=3), Spaces((4,), 2))
    save_network(network, "network.keras")
    layer = dict(hostile_layers(str(marker)))[name]
    rewrite_member("network.keras", "config.json", json.dumps({**layer, "registered_name": None}))
    loaded = load_network("network.keras").read_weights()
    assert all(np.array_equal(loaded[key], value) for key, value in network.read_weights().items())
    assert not marker.exists() and "hostile_world" not in sys.modules


def test_a_network_whose_weights_are_of_another_is_refused(tmp_path):
    settings = {"num_blocks": 1, "value_support": 3, "reward_support": 3}
    for width in (8, 9):
        network = build_network(NetworkConfig(width=width, **settings), Spaces((4,), 2))
        save_network(network, tmp_path / f"{width}.keras")
    with zipfile.ZipFile(tmp_path / "9.keras") as other:
        rewrite_member(tmp_path / "8.keras", "model.weights.h5", other.read("model.weights.h5"))
    with pytest.raises(ValueError, match=r"8.keras is damaged"):
        load_network(tmp_path / "8.keras")


def rewrite_member(path, name, content):
    with zipfile.ZipFile(path) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in {**members, name: content}.items():
            archive.writestr(member, data)


def kernels(tmp_path, **environment):
    """Calls one kernel in a process of its own -> (where its cache is, what was said)."""
    program = (
        "from mzu.compilation import cache_folder; from mzu.episodes.readers.tfrecord import masked_crc;"
        "print(masked_crc(b'abc'), cache_folder())"
    )
    set_to = {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path), "HOME": "/nowhere", "NUMBA_CACHE_DIR": ""}
    set_to |= {"XDG_CACHE_HOME": "/proc/nowhere"} | environment
    done = subprocess.run([sys.executable, "-c", program], env=os.environ | set_to, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    number, folder = done.stdout.split()
    return int(number), folder, done.stderr


NEEDS_OWNERS = pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows has no owners of this kind")


@NEEDS_OWNERS
def test_the_temporary_kernel_cache_is_private_and_reused(tmp_path):
    number, folder, said = kernels(tmp_path)
    base = tmp_path / f"mzu-kernels-{os.getuid()}"
    assert Path(folder).parent == base and base.stat().st_mode & 0o777 == 0o700 and said == ""
    assert kernels(tmp_path)[:2] == (number, folder)


@NEEDS_OWNERS
@pytest.mark.parametrize("trap", ["link", "file"])
def test_a_kernel_cache_that_is_not_the_users_own_folder_is_done_without(tmp_path, trap):
    base = tmp_path / f"mzu-kernels-{os.getuid()}"
    if trap == "link":
        (tmp_path / "elsewhere").mkdir()
        base.symlink_to(tmp_path / "elsewhere")
    else:
        base.write_text("")
    _, folder, said = kernels(tmp_path)
    assert folder == "None" and "every process compiles them anew; set NUMBA_CACHE_DIR" in said
    assert trap == "file" or list((tmp_path / "elsewhere").iterdir()) == []


@NEEDS_OWNERS
def test_a_kernel_cache_of_another_user_is_done_without(tmp_path, monkeypatch):
    (tmp_path / "base").mkdir()
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(ValueError, match="is not a folder of your own"):
        mzu.compilation._keep_private(tmp_path / "base")


@NEEDS_OWNERS
def test_a_kernel_cache_that_others_could_write_to_is_emptied_first(tmp_path):
    number, folder, _ = kernels(tmp_path)
    planted = Path(folder) / "planted.nbc"
    planted.write_bytes(b"code")
    Path(folder).parent.chmod(0o777)
    again, same, said = kernels(tmp_path)
    assert (again, same) == (number, folder) and "could be written by others: it was emptied" in said
    assert not planted.exists() and Path(folder).parent.stat().st_mode & 0o777 == 0o700


@NEEDS_OWNERS
def test_a_kernel_cache_below_a_folder_that_anybody_may_change_is_done_without(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)  # without the sticky bit of /tmp
    _, folder, said = kernels(tmp_path / "open")
    assert folder == "None" and "where others may put a folder in its place" in said


def test_a_damaged_kernel_cache_is_named_and_compiled_again(tmp_path):
    number, folder, _ = kernels(tmp_path)
    for suffix in ("nbi", "nbc"):
        (path,) = Path(folder).rglob(f"*.{suffix}")
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        again, _, said = kernels(tmp_path)
        assert again == number and "The kernel cache is damaged" in said and path.name in said
        assert kernels(tmp_path)[2] == ""


def test_a_kernel_cache_that_cannot_be_written_is_done_without_and_named(tmp_path):
    program = (
        "import resource; from mzu.episodes.readers.tfrecord import masked_crc;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); print(masked_crc(b'abc'))"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "cannot be written" in done.stderr and "Traceback" not in done.stderr


def test_the_doctor_finds_a_damaged_kernel_cache(tmp_path, monkeypatch):
    (tmp_path / "kernel.nbc").write_bytes(b"0" * 100)
    monkeypatch.setattr(mzu.compilation, "cache_folder", lambda: tmp_path)
    assert "kernel.nbc does not match its checksum" in mzu.compilation.cache_trouble()
    (tmp_path / "kernel.nbc").unlink()
    assert mzu.compilation.cache_trouble() == ""
    monkeypatch.setattr(mzu.compilation, "cache_folder", lambda: None)
    assert "no folder that only you may write to" in mzu.compilation.cache_trouble()


def test_a_run_of_ones_own_that_names_no_module_opens_as_before(finished):
    assert RunFolder.open(finished).config.environment == "identity"
