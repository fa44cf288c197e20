"""The check of an environment finds each fault."""

import re

import numpy as np
import pytest

from mzu.environments.check import check_environment
from mzu.environments.environment import Environment
from mzu.environments.spaces import Spaces


class Faulty(Environment):
    """A world with one fault."""

    def __init__(self, fault):
        super().__init__("faulty", Spaces((2,), 2))
        self.fault, self.shared = fault, np.zeros(2, np.float32)

    def reset(self, seed=None):
        self.steps, self.rng = 0, np.random.default_rng(None if self.fault == "seed" else seed)
        return self._look()

    def step(self, action):
        if self.steps == 5 and self.fault != "autoreset":
            raise ValueError("ended")
        self.steps += 1
        end = self.steps >= 5
        reward = np.nan if self.fault == "reward" else 1.0
        return self._look(), reward, 1 if self.fault == "flag" else end, end and self.fault == "both"

    def legal_actions(self):
        return [True, True] if self.fault == "legal" else None

    def _look(self):
        observation = self.rng.normal(size=2).astype(np.float32)
        if self.fault == "shared":
            self.shared[:] = observation
            return self.shared
        if self.fault == "large":
            observation *= 1e4
        if self.fault == "nan":
            observation[0] = np.nan
        return {"list": list(observation), "dtype": observation.astype(float)}.get(self.fault, observation)


@pytest.mark.parametrize(
    "fault, sentence",
    [
        ("seed", "two episodes with the seed 0 and the same actions differ"),
        ("autoreset", r"step\(\) goes on after the end"),
        ("reward", "the reward nan, but must return a finite number"),
        ("flag", "terminated = 1, but must return True or False"),
        ("both", "both terminated and truncated"),
        ("legal", "legal_actions"),
        ("shared", "return a copy"),
        ("large", "scale them to about the size of 1"),
        ("nan", "NaN or infinity"),
        ("list", "a list of 2 as observation, but must return a numpy array"),
        ("dtype", r"an observation float64 \(2,\), but spaces says float32 \(2,\)"),
    ],
)
def test_the_check_finds_each_fault(fault, sentence):
    findings = check_environment(Faulty(fault))
    assert any(re.search(sentence, finding) for finding in findings), findings
    assert check_environment(Faulty(None)) == []
