"""`mzu reproduce NAME --scale paper`: the paper's own tasks and settings, and what they need.

The DM Control experiments can be run, one cell at a time, where RL Unplugged's data are. The Atari ones are only said:
a game has 200 million frames, and a Trainer keeps its episodes in memory.
"""

import dataclasses
from pathlib import Path

from mzu.environments.control import OBSERVATION_KEYS
from mzu.episodes.readers.rlu_control import ACTION_DIMENSIONS
from mzu.experiments.catalogue import AUTOMATIC_WIDTH, UNPLUGGED
from mzu.experiments.definition import Experiment, Task, Variant
from mzu.experiments.running import FIRST_SEED
from mzu.presets import preset

EPISODES = 300  # Evaluation
# Extrapolated: a learner step at width 512 took 4.7 processor seconds (AMD EPYC, without XLA), so 27 days on two cores.
WEEKS = 4
CONTROL_TASKS = {
    "control": tuple(OBSERVATION_KEYS),
    "checkpoints": tuple(OBSERVATION_KEYS),
    "injection": ("fish_swim", "manipulator_insert_ball", "manipulator_insert_peg", "walker_stand", "cheetah_run",
                  "humanoid_run"),
    "width": ("cartpole_swingup", "fish_swim", "walker_stand", "walker_walk"),
}  # fmt: skip
WIDTHS = (32, 64, 128, 256, 512)
ATARI = {
    "overall": "46 games of RL Unplugged (22 to 81 GB for each of 5 runs of a game)",
    "ablations": "46 games of RL Unplugged (22 to 81 GB for each of 5 runs of a game)",
    "improvement": "46 games of RL Unplugged (22 to 81 GB for each of 5 runs of a game)",
    "low_data": "1 % and 10 % of five games of DQN Replay",
    "fraction": "57 games played online for 20 million to 2 billion frames",
    "td_steps": "57 games played online for 20 million frames",
}
OWN = {
    "agents": "data of agents that learned here",
    "efficiency": "a count of steps until a return",
    "screening": "settings that were chosen here",
    "operators": "settings that were chosen here",
}


def at_paper_scale(experiment: Experiment, data_root: Path | None, cell: str | None) -> tuple[Experiment, list[Task]]:
    """The experiment with the paper's tasks; one sentence where it cannot be run."""
    if experiment.name in OWN:
        raise ValueError(f"{experiment.name} has {OWN[experiment.name]}, which the paper has not; leave --scale out")
    if experiment.name in ATARI:
        raise ValueError(
            f"{experiment.name} at the paper's scale is {ATARI[experiment.name]}, 1 million learner steps with 1,024 "
            "positions on 256 planes for each game and variant: that needs accelerators and data that do not fit into "
            "memory, so it is not started; `mzu presets paper_atari` shows the settings"
        )
    tasks = [paper_control_task(name, data_root) for name in CONTROL_TASKS[experiment.name]]
    chosen = dataclasses.replace(experiment, tasks=tuple(task.name for task in tasks), variants=_variants(experiment))
    if data_root is None:
        raise ValueError(
            f"{experiment.name} at the paper's scale needs RL Unplugged's DM Control episodes; say where they are with "
            "--data-root DIR (tutorials/data.md has the download)"
        )
    _look_for_data(tasks, data_root)
    if cell is None:
        example = f"{tasks[0].name}/{chosen.variants[-1].name}/{FIRST_SEED}"
        raise ValueError(
            f"{experiment.name} at the paper's scale has {len(tasks) * len(chosen.variants)} runs of 1,000,000 learner "
            f"steps for each seed, up to {WEEKS} weeks each on two cores; start one of them with --cell {example}"
        )
    return chosen, tasks


def paper_control_task(name: str, data_root: Path | None) -> Task:
    """One of RL Unplugged's tasks; returns lie in [0, 1000], which are taken as they are."""
    domain, _, rest = name.partition("_")
    settings = [f"environment=dm_control:{domain}-{rest}", f"data=rlu:{name}", *AUTOMATIC_WIDTH]
    if data_root is not None:
        settings.append(f"data_root={data_root.resolve()}")
    title, base = f"{domain}.{rest}", preset("paper_control").config
    scores = {"random": 0.0, "behaviour": 1000.0, "reference": "the most there is"}
    return Task(name, title, tuple(settings), EPISODES, **scores, dimensions=ACTION_DIMENSIONS[name], base=base)


def _variants(experiment: Experiment) -> tuple[Variant, ...]:
    """Those of the classroom, with the paper's widths; CRR has no value of its own with TD-0 and learns by TD-5."""
    if experiment.name == "width":
        kinds = experiment.variants[0].measures
        return tuple(
            Variant(f"width_{width}", f"width {width}", (*UNPLUGGED, f"network.width={width}"), kinds)
            for width in WIDTHS
        )
    return tuple(
        dataclasses.replace(variant, settings=(*variant.settings, "learning.td_steps=5"))
        if "learning.policy_loss=crr" in variant.settings
        else variant
        for variant in experiment.variants
    )


def _look_for_data(tasks: list[Task], data_root: Path) -> None:
    from mzu.episodes.locate import locate

    for task in tasks:
        locate(f"rlu:{task.name}", data_root)
