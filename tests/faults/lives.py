"""Runs that die again and again, each life in a process of its own, forked after TensorFlow has been imported.

    python tests/faults/lives.py kills KIND FOLDER COUNT     kill -9 at COUNT moments; prints what was found as JSON
    python tests/faults/lives.py sizes KIND FOLDER COUNT     COUNT limits of the size of a file, as a full disk
    python tests/faults/lives.py disks KIND FOLDER COUNT     COUNT small disks that are full

KIND is one of KINDS. A whole run stands beside the one that dies: in the end both must have learned the same.
`disks` is started behind `unshare --map-root-user --mount`, and mounts what it and its children alone see.
Only processes that this one has started are killed, and limits are those of such a process.
"""

import contextlib
import functools
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "made"))

from made_runs import CONTINUOUS, ONLINE, TINY, write_data

from mzu.config import Config
from mzu.training.run_folder import RunFolder
from mzu.training.trainer import Trainer

LONGER = ("learning.training_steps=60", "run.checkpoint_period=2", "run.log_period=1", "evaluation.period=20")
KINDS = {
    "online": ONLINE,
    "offline": CONTINUOUS,
    "images": (*TINY, "environment=catch", "reanalyse.fraction=0.5", "network.frame_stack=2", "network.width=8"),
    "compiled by XLA": (*ONLINE, "learning.jit_compile=true"),
}


def config_of(kind: str, folder: Path) -> Config:
    data = ("data=" + str(write_data(folder / "data.npz")),) if kind == "offline" else ()
    return Config().override(*KINDS[kind], *LONGER, *data)


def begin(path: Path, most_bytes: int | None = None, last_step: int | None = None) -> int:
    """Starts a process that goes on with the run in `path` -> its id.

    It ends with 0, with 1 after an OSError, or with 2 after `last_step`, by the Ctrl-C that it gives to itself.
    """

    def control_c(trainer, _):
        if trainer.steps == last_step:
            os.kill(os.getpid(), signal.SIGINT)

    def live() -> int:
        if most_bytes is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write beyond the limit is an error instead
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
        folder = RunFolder(path)
        return 0 if Trainer(folder.config).run(folder, control_c, say=print) else 2

    return in_a_process_of_its_own(live)


def in_a_process_of_its_own(work: Callable[[], int]) -> int:
    """Starts it -> its id. This process itself never uses TensorFlow: a fork inherits its locks, but no threads."""
    child = os.fork()
    if child:
        return child
    status = 3
    try:
        status = work()
    except OSError as error:
        print(error, *getattr(error, "__notes__", []), sep="; ")
        status = 1
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):  # where it is a file, it is limited, too
            sys.stdout.flush()
        os._exit(status)


def end(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def last_step(folder: RunFolder) -> int:
    rows = folder.read_log()
    return int(rows[-1]["step"]) if rows else 0


def leftovers(path: Path) -> list[str]:
    return [str(one) for one in path.rglob(".*.tmp")]


def same(path: Path, other: Path) -> bool:
    """Whether two runs have logged and learned the same."""
    first, second = ((one / "log.csv").read_text() for one in (path, other))
    folders = RunFolder(path), RunFolder(other)
    states = [folder.load_checkpoint(folder.checkpoints()[-1]) for folder in folders]
    equal = all((states[0][name] == states[1][name]).all() for name in states[0])
    return first == second and states[0].keys() == states[1].keys() and equal


def read_all(folder: RunFolder) -> int:
    """Reads every checkpoint, which raises an error where one is not whole."""
    for step in folder.checkpoints():
        folder.load_checkpoint(step)
        folder.load_network(str(step))
    return 0


def whole_run(kind: str, folder: Path) -> RunFolder:
    folder.mkdir(parents=True, exist_ok=True)
    whole = RunFolder.create(folder / "whole", config_of(kind, folder))
    assert end(begin(whole.path)) == 0
    return whole


def kills(kind: str, folder: Path, count: int) -> dict:
    """Kills the run `count` times, every fourth time soon after its start, else after a new step; then lets it end."""
    whole = whole_run(kind, folder)
    killed = RunFolder.create(folder / "killed", whole.config)
    draw, reached, inside = random.Random(kind), 0, 0
    for number in range(count):
        child = begin(killed.path)
        if number % 4 == 3:
            time.sleep(draw.uniform(0, 3))
        else:
            while last_step(killed) <= reached:
                time.sleep(0.005)
            time.sleep(draw.uniform(0, 0.1))
        os.kill(child, signal.SIGKILL)
        assert end(child) == -signal.SIGKILL
        reached = max(reached, last_step(killed))
        inside += bool(leftovers(killed.path))
    assert end(begin(killed.path)) == 0
    left = leftovers(killed.path)
    return {"kills": count, "while writing": inside, "left behind": left, "same": same(killed.path, whole.path)}


def sizes(kind: str, folder: Path, count: int) -> dict:
    """Goes on from a checkpoint with limits from nothing to what the largest file needs; then without."""
    whole = whole_run(kind, folder)
    largest = max(file.stat().st_size for file in whole.path.rglob("*") if file.is_file())
    begun = RunFolder.create(folder / "begun", whole.config)
    assert end(begin(begun.path, last_step=20)) == 2
    found = {"sizes": count, "refused": 0, "half files": [], "different": []}
    for number in range(count):
        limit = largest * number // count
        copy = folder / f"full_{limit}"
        shutil.copytree(begun.path, copy)
        status = end(begin(copy, limit))
        assert status in (0, 1), status
        found["refused"] += status
        assert end(in_a_process_of_its_own(functools.partial(read_all, RunFolder(copy)))) == 0
        found["half files"] += leftovers(copy)
        assert end(begin(copy)) == 0
        if not same(copy, whole.path):
            found["different"].append(limit)
        shutil.rmtree(copy)
    return found


OUTSIDE = ["0", "0", "4294967295"]  # all users, as a process sees them that is in no namespace of its own


def mount(disk: Path, option: str) -> None:
    assert Path("/proc/self/uid_map").read_text().split() != OUTSIDE, "start it behind unshare"
    subprocess.run(["mount", "-t", "tmpfs", "-o", option, "tmpfs", disk], check=True)


def used(disk: Path) -> int:
    about = os.statvfs(disk)
    return (about.f_blocks - about.f_bfree) * about.f_frsize


def disks(kind: str, folder: Path, count: int) -> dict:
    """Goes on from a checkpoint on a disk with room for nothing to one more checkpoint; then on a large one."""
    whole = whole_run(kind, folder)
    begun = RunFolder.create(folder / "begun", whole.config)
    assert end(begin(begun.path, last_step=20)) == 2
    checkpoint = sum(file.stat().st_size for file in (begun.path / "checkpoints").glob("*/*")) / 2
    disk = folder / "disk"
    disk.mkdir()
    found = {"sizes": count, "refused": 0, "half files": [], "different": []}
    for number in range(count):
        mount(disk, "size=1g")
        run = disk / "run"
        shutil.copytree(begun.path, run)
        mount(disk, f"remount,size={used(disk) + int(checkpoint * number / count)}")
        status = end(begin(run))
        assert status in (0, 1), status
        found["refused"] += status
        found["half files"] += leftovers(run)
        assert end(in_a_process_of_its_own(functools.partial(read_all, RunFolder(run)))) == 0
        mount(disk, "remount,size=1g")
        assert end(begin(run)) == 0
        if not same(run, whole.path):
            found["different"].append(number)
        subprocess.run(["umount", disk], check=True)
    return found


if __name__ == "__main__":
    task, kind, folder, count = sys.argv[1:]
    found = {"kills": kills, "sizes": sizes, "disks": disks}[task](kind, Path(folder), int(count))
    print(json.dumps(found))
