"""The tasks at classroom scale: presets with smaller budgets, so that a run takes a minute or two on two cores.

Random play scores the mean over 1,000 episodes of CartPole, 2,000 of Catch and 40 of each DM Control task
(standard errors 0.4, 0.02, and at most 9). The behaviour scores the mean return of the dataset, as its
recipe or recording says; online, where nobody played before, it is the highest return there is.
"""

from mzu.config_fields import did_you_mean
from mzu.episodes.embedded import RECIPES
from mzu.experiments.definition import Task
from mzu.experiments.recordings import recording
from mzu.presets import (
    CARTPOLE,
    CATCH,
    CLASSROOM,
    CONTINUOUS,
    ONLINE,
    STEADY,
    STEADY_SAMPLED,
    preset,
)

SWINGUP = ("environment=dm_control:cartpole-swingup", *CONTINUOUS)
# Twenty candidates of equal prior: where the untried count as the worst, the first that is tried gets all the visits.
EXPLORING = ("search.unvisited_value=parent",)
# Values travel ten steps whenever the target network is copied, which is every fifty learner steps.
FAST_VALUES = ("learning.td_steps=10", "learning.target_network_period=50")
KEPT = ("run.keep_checkpoints=1", "run.checkpoint_period=500")
OFFLINE = (*CLASSROOM, *KEPT, "reanalyse.fraction=1")
CONTROL = (
    *OFFLINE, *CONTINUOUS, *EXPLORING, *FAST_VALUES, "search.num_simulations=50", "evaluation.period_episodes=5",
)  # fmt: skip
# The learner sees what was searched within the last two or three hundred steps, not targets from the beginning.
FRESH_TARGETS = ("replay.capacity=300", "acting.games=96", "acting.positions_per_step=96")
# One set of settings for data of agents that are not MuZero; discount, width and steps are the task's.
AGENTS = (*OFFLINE, *STEADY, "search.num_simulations=50", "replay.capacity=600", "evaluation.period=1000000")


def _recorded(name: str, title: str, random: float, dimensions: int, *settings: str) -> Task:
    made = recording(name)
    where = (f"environment={made.environment}", f"data=recorded:{name}")
    settings = (*AGENTS, *STEADY_SAMPLED, *where, "search.discount=0.97", "learning.training_steps=5000", *settings)
    prefix = "" if "screening" in name else "agents_"
    return Task(f"{prefix}{name}", title, settings, 20, random, made.mean_return, dimensions)


TASKS = {
    task.name: task
    for task in (
        Task(
            "cartpole", "CartPole-v1",
            (*OFFLINE, *CARTPOLE, "data=recipe:cartpole", "search.discount=0.97", "replay.capacity=620",
             "acting.games=96", "acting.positions_per_step=96",
             "learning.training_steps=1500"),
            episodes=50, random=21.649, behaviour=RECIPES["cartpole"].mean_return,
        ),
        Task(
            "catch", "Catch, by its pictures",
            (*OFFLINE, *CATCH, *EXPLORING, "data=recipe:catch", "replay.capacity=400", "acting.games=64",
             "acting.positions_per_step=64",  # 16 would search each stored position only every 225 learner steps
             "learning.training_steps=600", "evaluation.period=200"),
            episodes=50, random=-0.607, behaviour=RECIPES["catch"].mean_return,
        ),
        Task(
            "swingup", "cartpole.swingup",
            (*CONTROL, *FRESH_TARGETS, *SWINGUP, "data=recipe:swingup", "learning.training_steps=2000"),
            episodes=20, random=33.251, behaviour=RECIPES["swingup"].mean_return, dimensions=1,
        ),
        Task(
            "point_mass", "point_mass.easy",
            (*CONTROL, *FRESH_TARGETS, "environment=dm_control:point_mass-easy", "data=recipe:point_mass",
             "learning.training_steps=1500"),
            episodes=20, random=0.254, behaviour=RECIPES["point_mass"].mean_return, dimensions=2,
        ),
        Task(
            "cheetah", "cheetah.run",
            (*CONTROL, *FRESH_TARGETS, "environment=dm_control:cheetah-run", "data=recipe:cheetah",
             "learning.training_steps=2000"),
            episodes=20, random=3.478, behaviour=RECIPES["cheetah"].mean_return, dimensions=6,
        ),
        Task(
            "cartpole_online", "CartPole-v1, online",
            (*CLASSROOM, *ONLINE, *KEPT, *CARTPOLE, "learning.td_steps=10", "learning.training_steps=1000",
             "acting.games=48", "acting.positions_per_step=48", "evaluation.period=250"),
            episodes=50, random=21.649, behaviour=500.0, reference="the most there is",
        ),
        Task(
            "cartpole_goal", "CartPole-v1",
            (*KEPT, "learning.training_steps=1500", "evaluation.period=100", "evaluation.period_episodes=20"),
            episodes=50, random=21.649, behaviour=500.0, reference="the most there is",
            base=preset("cartpole").config, goal=preset("cartpole").goal,
        ),
        Task(
            "agents_cartpole", "CartPole-v1",
            (*AGENTS, *CARTPOLE, "data=recipe:cartpole:250:2", "search.discount=0.97", "learning.training_steps=4000"),
            episodes=20, random=21.649, behaviour=100.376,
        ),
        _recorded("swingup", "cartpole.swingup, held for 4 steps", 96.871, 1),
        _recorded("cheetah", "cheetah.run, held for 4 steps", 13.091, 6, "network.width=128"),
        _recorded("walker", "walker.walk", 32.792, 6, "network.width=128"),
        Task(
            "screening_cartpole", "CartPole-v1",
            (*AGENTS, *CARTPOLE, "data=recipe:cartpole", "search.discount=0.97", "learning.training_steps=2000"),
            episodes=20, random=21.649, behaviour=RECIPES["cartpole"].mean_return,
        ),
        _recorded("swingup_screening", "cartpole.swingup, held for 4 steps", 96.871, 1,
                  "learning.training_steps=2000"),
    )
}  # fmt: skip


def task(name: str) -> Task:
    """The task of this name; one sentence where there is none."""
    if name not in TASKS:
        raise ValueError(f"There is no task {name!r}; {did_you_mean(name, TASKS)}")
    return TASKS[name]
