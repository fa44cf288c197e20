"""The tasks at classroom scale: presets with smaller budgets, so that a run takes a minute or two on two cores.

Random play scores the mean over 1,000 episodes of CartPole, 2,000 of Catch and 40 of each DM Control task
(standard errors 0.4, 0.02, and at most 4). The behaviour scores the mean return of the dataset, as its
recipe says; online, where nobody played before, it is the highest return there is.
"""

from mzu.episodes.embedded import RECIPES
from mzu.experiments.definition import Task
from mzu.presets import CARTPOLE, CATCH, CLASSROOM, CONTINUOUS, EXPLORING, FAST_VALUES, ONLINE, SWINGUP
from mzu.settings import did_you_mean

KEPT = ("run.keep_checkpoints=1", "run.checkpoint_period=500")
OFFLINE = (*CLASSROOM, *KEPT, "reanalyse.fraction=1")
CONTROL = (
    *OFFLINE, *CONTINUOUS, *EXPLORING, *FAST_VALUES, "search.num_simulations=50", "evaluation.period_episodes=5",
)  # fmt: skip
# The learner sees what was searched within the last two or three hundred steps, not targets from the beginning.
FRESH_TARGETS = ("replay.capacity=300", "acting.games=96", "acting.positions_per_step=96")

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
    )
}  # fmt: skip


def task(name: str) -> Task:
    """The task of this name; one sentence where there is none."""
    if name not in TASKS:
        raise ValueError(f"There is no task {name!r}; {did_you_mean(name, TASKS)}")
    return TASKS[name]
