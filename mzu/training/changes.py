"""What may change when a run is resumed: `mzu train --resume --out RUN --set learning.learning_rate=1e-4`.

A checkpoint carries the settings it was learned with. A run goes on under the same ones, unless a change of them was
asked for and stands in its changes.json: a config.json edited by hand is noticed.
"""

import json
import time

from mzu.config import Config
from mzu.config_fields import differing_fields
from mzu.training.run_folder import RunFolder
from mzu.training.seals import check_as_written

# What a checkpoint has learned keeps its meaning under another value of these.
MAY_CHANGE = (
    *("learning.training_steps", "learning.learning_rate", "learning.weight_decay", "learning.max_gradient_norm"),
    *("learning.jit_compile", "acting.max_episode_steps", "data", "data_root"),
)
NOT_LEARNED_FROM = (
    "evaluation.",
    "run.",
)  # sections that decide what is measured and kept: they may change freely


def change_settings(folders: list[RunFolder], assignments: list[str]) -> None:
    """Changes settings of runs that are to go on, and records that; a sentence where it cannot be.

    A finished run goes on where it gets more steps. All of them are changed or, after a sentence, none.
    """
    changes = [_checked_change(folder, folder.config.override(*assignments)) for folder in folders]
    if not any(changes):
        raise ValueError(
            f"{folders[0].path} has ended or has these settings already, and a change would have no effect; give it "
            "more with --set learning.training_steps=N, or play more episodes with `mzu evaluate`"
        )
    for folder, changed in zip(folders, changes, strict=True):
        if not changed:
            continue
        entry = {"when": time.strftime("%Y-%m-%d %H:%M:%S"), "after_step": _learned(folder), "settings": changed}
        with folder.locked():
            after = folder.config.override(*assignments)
            # The record first: after a crash between the two the run goes on as it was.
            folder.save_text("changes.json", json.dumps([*_recorded(folder), entry], indent=2) + "\n")
            folder.save_text("config.json", after.to_json() + "\n")
            folder.reopen()


def _checked_change(folder: RunFolder, after: Config) -> dict[str, tuple[str, str]]:
    """What changes in a run; nothing where it has ended and gets no more steps."""
    changed = differing_fields(folder.config, after)
    refused = [name for name in changed if name not in MAY_CHANGE and not name.startswith(NOT_LEARNED_FROM)]
    if refused:
        raise ValueError(
            f"{_spoken(changed, refused[0])}: what {folder.path} has learned would no longer fit; a resumed run may "
            f"change {', '.join(MAY_CHANGE)}, and all of evaluation and run; train anew for another {refused[0]}"
        )
    learned, steps = _learned(folder), after.learning.training_steps
    if steps < learned:
        raise ValueError(f"learning.training_steps is {steps}, but {folder.path} has learned {learned} steps already")
    return {} if folder.result() and steps == learned else changed


def check_unchanged(folder: RunFolder, config: Config, learned_with: Config) -> None:
    """A sentence where a run is to go on under settings other than those it has learned with, unrecorded."""
    changed = differing_fields(learned_with, config)
    recorded = {name: after for entry in _recorded(folder) for name, (_, after) in entry["settings"].items()}
    unknown = [
        name
        for name, (_, after) in changed.items()
        if not name.startswith(NOT_LEARNED_FROM) and recorded.get(name) != after
    ]
    if not unknown:
        return
    name = unknown[0]
    advice = "put that back, or train anew with another --out"
    if name in MAY_CHANGE:
        advice = f"put that back and change it by --resume --set {name}={changed[name][1]}, which records it"
    raise ValueError(
        f"{_spoken(changed, name)} in the config.json of {folder.path}, which has learned so far; {advice}"
    )


def _learned(folder: RunFolder) -> int:
    return (folder.checkpoints() or [0])[-1]


def _spoken(changed: dict, name: str) -> str:
    before, after = changed[name]
    return f"{name} was {before} and is now {after}"


def _recorded(folder: RunFolder) -> list[dict]:
    path = folder.path / "changes.json"
    if not path.is_file():
        return []
    try:
        recorded = json.loads(path.read_text(encoding="utf-8"))
        if not all(len(change) == 2 for entry in recorded for change in entry["settings"].values()):
            raise ValueError("a change has a value before and one after it")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} is damaged ({error}); put it back from a copy, or remove it") from None
    check_as_written(path)
    return recorded
