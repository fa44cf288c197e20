"""Episodes of an agent that is not MuZero: Stable-Baselines3's SAC while it learns, from its first random step on.

    python -m mzu.experiments.record_with_sac "dm_control:walker-walk" --decisions 120000 --seed 3 --out walker.npz

The data that `tutorials/steady_learning.md` measures on. It needs torch and stable-baselines3, which are no part of
mzu's requirements: install them in an environment of their own. About 200 decisions a second on one core.
"""

import argparse

import gymnasium
import numpy as np

from mzu.environments.environment import Environment
from mzu.environments.make import make
from mzu.episodes.episode import Episode
from mzu.episodes.readers.npz import write_npz
from mzu.experiments.recordings import RECORDINGS, Recording


class Recorded(gymnasium.Env):
    """An environment of mzu as Gymnasium knows them, which keeps every episode that is played to its end."""

    def __init__(self, environment: Environment, seed: int):
        self.world, self.episodes = environment, []
        self._seeds = np.random.default_rng(seed)
        spaces = environment.spaces
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, spaces.observation_shape, np.float32)
        self.action_space = gymnasium.spaces.Box(-1, 1, (spaces.num_actions,), np.float32)

    def reset(self, seed=None, options=None):
        self.seed = int(self._seeds.integers(2**31))
        self.observations, self.actions, self.rewards = ([self.world.reset(seed=self.seed)], [], [])
        return self.observations[0], {}

    def step(self, action):
        observation, reward, terminated, truncated = self.world.step(action)
        self.observations.append(observation)
        self.actions.append(np.float32(action))
        self.rewards.append(reward)
        if terminated or truncated:
            arrays = (np.stack(self.observations), np.stack(self.actions), np.float32(self.rewards))
            ends = {"terminated": terminated, "truncated": truncated}
            self.episodes.append(Episode(*arrays, **ends, seed=self.seed, repeat=self.world.repeat))
        return observation, reward, terminated, truncated, {}


def main() -> None:
    import torch
    from stable_baselines3 import SAC

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "what", help=f"{', '.join(RECORDINGS)}, or an environment, such as dm_control:cheetah-run?repeat=4"
    )
    parser.add_argument("--decisions", type=int, default=25_000, help="of an environment (default 25000)")
    parser.add_argument("--seed", type=int, default=0, help="of an environment (default 0)")
    parser.add_argument("--out", required=True, metavar="FILE.npz")
    arguments = parser.parse_args()
    own = Recording(arguments.what, arguments.decisions, arguments.seed, float("nan"))
    chosen = RECORDINGS.get(arguments.what, own)
    torch.set_num_threads(1)
    with make(chosen.environment) as environment:
        recorded = Recorded(environment, chosen.seed)
        agent = SAC(
            "MlpPolicy", recorded, learning_rate=1e-3, learning_starts=1000, batch_size=128, gamma=0.98,
            policy_kwargs={"net_arch": [128, 128]}, seed=chosen.seed,
        )  # fmt: skip
        agent.learn(chosen.decisions)
    write_npz(arguments.out, recorded.episodes)
    returns = [episode.total_reward for episode in recorded.episodes]
    print(f"{arguments.out}: {len(returns)} episodes, mean return {np.mean(returns):.0f}, best {max(returns):.0f}")


if __name__ == "__main__":
    main()
