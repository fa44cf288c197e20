"""Trains the example runs of the package again, and cuts them to what is looked at (`mzu/training/example_runs.py`).

    python -m mzu.explain.record_examples              # all three; after a change of their presets
    python -m mzu.explain.record_examples swingup      # only this one

An example keeps config, logs, result, the final network, and of the checkpoint what an explanation needs: the newest
segments of the replay, the episodes that were played, and no optimiser, no games and no second copy of the weights.
"""

import argparse
import json
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from mzu.explain.found_position import find_in_replay
from mzu.explain.system import System, open_system
from mzu.files import remove_whole, seal, written_whole
from mzu.nested_arrays import inside, under
from mzu.training.example_runs import EXAMPLES, FOLDER, NOTE, Example
from mzu.training.plan import plan_new
from mzu.training.run_folder import FORMAT, RunFolder
from mzu.training.train import train

POSITIONS = 1000  # of the replay, at least; those of the swing-up take 170 bytes each
KEPT = ("config.json", "log.csv", "timing.csv", "result.json")
MACHINE = ("processor", "cores", "search threads", "machine")  # which is another one wherever an example is looked at


def record_example(name: str, runs: Path, out: Path = FOLDER, say: Callable[[str], None] = print, **settings) -> Path:
    """Trains the example in `runs`, unless it is finished there, and writes it to `out` -> its folder."""
    example = EXAMPLES[name]
    folder = runs / name / (example.only or "")
    if RunFolder(folder).result():
        wanted = plan_new(example.preset, seed=example.seed, only=example.only).runs[0].config.replace(**settings)
        if RunFolder(folder).config != wanted:
            raise ValueError(f"{folder} was trained with other settings than {example.preset} has now; remove it")
    else:
        begun = (folder / "config.json").is_file()
        new = {"preset": example.preset, "seed": example.seed, "only": example.only, **settings}
        how = {"resume": True} if begun else new
        train(out=runs / name, **how)
    with tempfile.TemporaryDirectory() as temporary:
        made = Path(temporary) / name
        cut_run(RunFolder(folder), example, made)
        if (out / name).exists():
            remove_whole(out / name)
        with written_whole(out / name) as whole:
            shutil.copytree(made, whole)
    size = sum(file.stat().st_size for file in (out / name).rglob("*") if file.is_file())
    result = RunFolder(out / name).result()
    say(f"{out / name}: {size / 1000:.0f} kB, mean return {result['mean']:.4g} by {result['select']}")
    return out / name


def cut_run(run: RunFolder, example: Example, out: Path) -> None:
    """Writes what an example keeps of a finished run to the folder `out`."""
    step = run.checkpoints()[-1]
    checkpoint = out / "checkpoints" / f"{step:08d}"
    checkpoint.mkdir(parents=True)
    for name in KEPT:
        shutil.copy(run.path / name, out / name)
    versions = json.loads((run.path / "versions.json").read_text())
    _write_json(out / "versions.json", {key: value for key, value in versions.items() if key not in MACHINE})
    network = run.network_file()
    for file in network.parent.glob("*.json"):  # beside the network its description, and the scale of advantages
        shutil.copy(file, checkpoint / file.name)
    repack(network, checkpoint / network.name)
    state, weights = run.load_checkpoint(step), [one.numpy() for one in run.load_network().trainable_variables]
    kept = cut_state(state, weights)
    np.savez_compressed(checkpoint / "state.npz", format=FORMAT, **kept)
    with zipfile.ZipFile(checkpoint / "state.npz", "a") as archive:
        seal(archive)
    _write_json(
        out / NOTE,
        {
            "preset": example.preset,
            "only": example.only,
            "position": explained_position(open_system(out), example.step),
            "segments": [len(kept["replay/lengths"]), len(state["replay/lengths"])],
        },
    )


def cut_state(state: dict[str, np.ndarray], weights: list[np.ndarray], positions: int = POSITIONS) -> dict:
    """What an explanation needs of a checkpoint's state; networks that have the `weights` of the file are left out."""
    kept = {"learner/steps": state["learner/steps"]}
    for name in ("network", "target_network"):
        own = inside(state, f"learner/{name}")
        if any(not np.array_equal(own[str(number)], array) for number, array in enumerate(weights)):
            kept |= under(f"learner/{name}", own)
    kept |= under("sources", inside(state, "sources"))
    return kept | under("replay", newest_segments(inside(state, "replay"), positions))


def newest_segments(replay: dict[str, np.ndarray], positions: int) -> dict[str, np.ndarray]:
    """The state of a replay, cut to its newest segments: as many as have this number of positions together."""
    lengths, added = replay["lengths"], int(replay["added"])
    newest_first = (added - 1 - np.arange(len(lengths))) % len(lengths)  # their slots
    count = 1 + int(np.searchsorted(np.cumsum(lengths[newest_first]), positions))
    slots = newest_first[:count][::-1]
    return {name: _of_slots(name, array, replay, slots) for name, array in replay.items()} | {
        "settings": replay["settings"],
        "added": np.array(len(slots)),
    }


def _of_slots(name: str, array: np.ndarray, replay: dict[str, np.ndarray], slots: np.ndarray) -> np.ndarray:
    """The rows of these slots, of an array that has those of all slots one behind the other."""
    if name in ("settings", "added"):
        return array
    lengths, steps = replay["lengths"], replay["steps"]
    rows = {"observations": steps + (len(replay["observations"]) - steps.sum()) // len(steps)}
    rows |= {"actions": steps, "rewards": steps}
    rows |= dict.fromkeys(("lengths", "steps", "ended", "terminated"), np.ones(len(lengths), int))
    stops = np.cumsum(rows.get(name, lengths))  # searches and priorities are of positions
    starts = np.concatenate([[0], stops[:-1]])
    return np.concatenate([array[starts[slot] : stops[slot]] for slot in slots])


def explained_position(system: System, step: int) -> tuple[int, int]:
    """The longest episode of which the replay holds the piece around this step: it shows most."""
    for number in sorted(range(len(system.episodes)), key=lambda number: -len(system.episodes[number])):
        if step < len(system.episodes[number]):
            game = system.game(number, step)
            if find_in_replay(system, game.piece, step - game.position, game.position)[0] is not None:
                return number, step
    raise ValueError(f"No episode whose step {step} is in the replay; keep more positions than {POSITIONS}")


def repack(source: Path, target: Path) -> None:
    """The same archive with its entries compressed, which Keras does not do."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for entry in old.namelist():
            new.writestr(entry, old.read(entry))
        new.comment = old.comment


def _write_json(path: Path, content: dict) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(EXAMPLES)} (default all of them)")
    parser.add_argument("--runs", type=Path, default=Path("runs/examples"), metavar="DIR",
                        help="folder of the whole runs (default runs/examples); what is finished there is not trained "
                        "again")  # fmt: skip
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in EXAMPLES]:
        parser.error(f"there is no example {unknown[0]!r}; there are {', '.join(EXAMPLES)}")
    for name in arguments.names or EXAMPLES:
        record_example(name, arguments.runs)


if __name__ == "__main__":
    main()
