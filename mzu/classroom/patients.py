"""The patients of assignment 6: the corridor of `mzu/explain/toy.py`, in which one function is wrong.

    mzu.explain(patient("A"), episode=0, step=1)          # as it is handed out, with a bug in it
    mzu.explain(patient("A", read), episode=0, step=1)    # with a function of one's own in place of its `read`

Each holds a bug of `mzu/explain/bugs.py`; which one is for the student to find out.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from mzu.classroom.checks.find_the_bug import MENDED, SICK_PART, WRONG
from mzu.config_fields import did_you_mean
from mzu.explain import mistakes
from mzu.explain.system import System
from mzu.explain.toy import played, toy_system
from mzu.games.stored_game import StoredGame
from mzu.replay.priorities import position_priority
from mzu.replay.replay import Batch
from mzu.search import reference

HEALTHY = {question.name: question.right for question in MENDED} | {"backup": reference.backup}
SICK = {**WRONG, "P": mistakes.backup}


def patient(letter: str, *mended: Callable) -> System:
    """The system of this letter; each mended function takes the place of the patient's own of the same name."""
    if letter not in SICK:
        raise ValueError(f"There is no patient {letter!r}; there are {', '.join(sorted(SICK))}")
    names = [getattr(function, "__name__", repr(function)) for function in mended]
    for name in names:
        if name not in HEALTHY:
            raise ValueError(f"A patient has no function {name!r}; {did_you_mean(name, list(HEALTHY))}")
    parts = HEALTHY | {SICK_PART[letter]: SICK[letter]} | dict(zip(names, mended, strict=True))
    system = _played(parts)
    learner_step(system)
    return dataclasses.replace(system, name=f"patient {letter}")


def file_record(episode: int) -> dict[str, np.ndarray]:
    """An episode of the corridor as the patients' file has it: T + 1 rows of what was seen, done and paid."""
    return _record(toy_system().episodes[episode])


def batch_of(system: System, *places: tuple[int, int]) -> Batch:
    """What the learner gets if it draws these positions, each an episode and a step."""
    length = system.config.replay.segment_length
    segments = [-(-len(episode) // length) for episode in system.episodes]  # the last one of each may be shorter
    starts = length * np.cumsum([0, *segments])
    positions = np.array([starts[episode] + step for episode, step in places])
    return system.replay.at(positions, np.random.default_rng(0))


def learner_step(system: System) -> None:
    """Gives all positions of the replay, as one batch in any order, the priorities |nu - z| of now."""
    positions = np.random.default_rng(0).permutation(_positions(system.replay))
    batch = system.replay.at(positions, np.random.default_rng(0))
    targets, td_steps = system.targets(batch), system.config.learning.td_steps
    system.update(positions, position_priority(batch.search_value[:, 0], targets.values[:, 0], None, td_steps))


def _played(parts: dict[str, Callable]) -> System:
    toy = toy_system()
    episodes = []
    for episode in toy.episodes:
        observations, actions, rewards = parts["read"](_record(episode))
        arrays = {"observations": observations, "actions": actions, "rewards": np.float32(rewards)}
        episodes.append(dataclasses.replace(episode, **arrays))
    replaced = {"add_noise": _on_edges(parts["add_noise"]), "backup": parts["backup"]}
    system = Patient(**vars(toy) | {"episodes": episodes}, replaced=replaced, parts=parts)
    return played(system, _game(parts["record_step"]))


@dataclass(eq=False)
class Patient(mistakes.PlainSearch):
    """A system that is made of functions with names."""

    parts: dict[str, Callable] = field(default_factory=dict)

    def targets(self, batch):
        bootstrap = self.target_values(batch.bootstrap_observations)
        discount, td_steps = self.config.search.discount, self.config.learning.td_steps
        ends = batch.steps_left, batch.terminated
        values = self.parts["value_targets"](batch.rewards, bootstrap, *ends, discount, td_steps)
        return super().targets(batch)._replace(values=np.float32(values))

    def update(self, positions, priorities):
        alpha, there = self.config.replay.priority_exponent, _positions(self.replay)
        table = np.zeros(there.max() + 1)
        table[there] = [self.replay.priority(position)["to_the_alpha"] for position in there]
        self.parts["write_back"](table, positions, priorities, alpha)
        super().update(there, table[there] ** (1 / alpha))


def _record(episode) -> dict[str, np.ndarray]:
    return {
        "observation": episode.observations,
        "action": np.append(episode.actions, np.int32(0)),
        "reward": np.append(np.float32(0), episode.rewards),
    }


def _on_edges(add_noise):
    """A function of arrays in place of the search's own, which works on edges."""

    def on_edges(edges, log_gamma, fraction):
        priors = np.array([edge.prior for edge in edges])
        add_noise(priors, np.array(log_gamma[: len(edges)]), fraction)
        for edge, prior in zip(edges, priors.tolist(), strict=True):
            edge.prior = prior

    return on_edges


def _game(record_step) -> type[StoredGame]:
    class Game(StoredGame):
        def take(self, action, policy, candidates, value, raw_value):
            names = {"observation": "observations", "action": "actions", "reward": "rewards"}
            arrays = {name: getattr(self.piece, name).copy() for name in names.values()}
            stored = {one: arrays[name][self.position] for one, name in names.items()}
            kept = record_step(stored, {"action": action, "policy": policy, "value": value})
            for one, name in names.items():
                arrays[name][self.position] = kept[one]
            self.piece = dataclasses.replace(self.piece, **arrays)
            super().take(action, np.float32(kept["policy"]), candidates, float(kept["value"]), raw_value)

    return Game


def _positions(replay) -> np.ndarray:
    """The handles of all positions of a replay that never was full."""
    lengths = replay.state()["lengths"]
    return np.concatenate([m * replay.config.segment_length + np.arange(size) for m, size in enumerate(lengths)])
