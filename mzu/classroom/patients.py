"""The patients of assignment 6: the corridor of `mzu/explain/toy.py`, with one function that a student may replace.

    mzu.explain(patient("A"), episode=0, step=1)          # as it is handed out, with a bug in it
    mzu.explain(patient("A", read), episode=0, step=1)    # with a function of one's own in its place

Each holds a bug of `mzu/explain/bugs.py`; which one is for the student to find out.
"""

import dataclasses

import numpy as np

from mzu.classroom.checks.find_the_bug import WRONG
from mzu.explain.bugs import PlainSearch
from mzu.explain.system import System
from mzu.explain.toy import played, toy_system
from mzu.reanalyse.stored_game import StoredGame


def patient(letter: str, function=None) -> System:
    """The system of this letter; `function` takes the place of the one that is wrong."""
    if letter not in WRONG:
        raise ValueError(f"There is no patient {letter!r}; there are {', '.join(WRONG)}")
    plant = {"A": _reader, "B": _search, "C": _game, "D": _learner, "E": _targets}[letter]
    return dataclasses.replace(plant(function or WRONG[letter]), name=f"patient {letter}")


def file_record(episode: int) -> dict[str, np.ndarray]:
    """An episode of the corridor as patient A's file has it: T + 1 rows of what was seen, done and paid."""
    return _record(toy_system().episodes[episode])


def learner_step(system: System) -> None:
    """Gives all positions of the replay, in any order, the priorities |nu - z| of now."""
    positions = np.random.default_rng(0).permutation(_positions(system.replay))
    batch = system.replay.at(positions, np.random.default_rng(0))
    system.update(positions, np.abs(batch.search_value[:, 0] - system.targets(batch).values[:, 0]))


def _record(episode) -> dict[str, np.ndarray]:
    return {
        "observation": episode.observations,
        "action": np.append(episode.actions, np.int32(0)),
        "reward": np.append(np.float32(0), episode.rewards),
    }


def _reader(read) -> System:
    system, episodes = toy_system(), []
    for episode in system.episodes:
        observations, actions, rewards = read(_record(episode))
        episodes.append(
            dataclasses.replace(episode, observations=observations, actions=actions, rewards=np.float32(rewards))
        )
    return played(dataclasses.replace(system, episodes=episodes))


def _search(add_noise) -> System:
    def on_edges(edges, log_gamma, fraction):
        priors = np.array([edge.prior for edge in edges])
        add_noise(priors, np.array(log_gamma[: len(edges)]), fraction)
        for edge, prior in zip(edges, priors.tolist(), strict=True):
            edge.prior = prior

    return played(PlainSearch(**vars(toy_system()), replaced={"add_noise": on_edges}))


def _game(record_step) -> System:
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

    return played(toy_system(), Game)


def _learner(write_back) -> System:
    class Learner(System):
        def update(self, positions, priorities):
            alpha, there = self.config.replay.priority_exponent, _positions(self.replay)
            table = np.zeros(there.max() + 1)
            table[there] = [self.replay.priority(position)["to_the_alpha"] for position in there]
            write_back(table, positions, priorities, alpha)
            super().update(there, table[there] ** (1 / alpha))

    system = Learner(**vars(toy_system()))
    learner_step(system)
    return system


def _targets(value_targets) -> System:
    class Targets(System):
        def targets(self, batch):
            values = value_targets(
                batch.rewards, self.target_values(batch.bootstrap_observations), batch.steps_left, batch.terminated,
                self.config.search.discount, self.config.learning.td_steps,
            )  # fmt: skip
            return super().targets(batch)._replace(values=np.float32(values))

    return Targets(**vars(toy_system()))


def _positions(replay) -> np.ndarray:
    """The handles of all positions of a replay that never was full."""
    lengths = replay.state()["lengths"]
    return np.concatenate([m * replay.config.segment_length + np.arange(size) for m, size in enumerate(lengths)])
