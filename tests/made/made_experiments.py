"""An experiment so small that it takes seconds: an identity game, networks of width 8, a few learner steps."""

from mzu.experiments.definition import POLICY, SEARCH, Claim, Experiment, Measure, Side, Task, Variant
from mzu.experiments.running import COLUMNS

TINY = (
    "environment=identity",
    "network.width=8",
    "network.num_blocks=1",
    "network.value_support=5",
    "network.reward_support=5",
    "search.num_simulations=2",
    "replay.segment_length=10",
    "replay.capacity=20",
    "replay.start_size=20",
    "reanalyse.fraction=0.5",
    "acting.games=4",
    "acting.positions_per_step=4",
    "learning.batch_size=8",
    "learning.unroll_steps=1",
    "learning.training_steps=6",
    "learning.jit_compile=false",
    "evaluation.period=3",
    "evaluation.period_episodes=2",
    "run.checkpoint_period=2",
    "run.log_period=3",
)
TASK = Task("tiny", "Tiny", TINY, episodes=3, random=2.0, behaviour=6.0)
SLOW, FAST = ("learning.learning_rate=1e-4",), ("learning.learning_rate=1e-2",)
EXPERIMENT = Experiment(
    name="made",
    title="Made for a test",
    mirrors="nothing",
    tasks=("tiny",),
    variants=(
        Variant("slow", "slow", SLOW, (POLICY,)),
        Variant("fast", "fast", FAST, (POLICY, SEARCH, Measure("search", "best"))),
    ),
    claims=(Claim("Fast is above slow", Side(("fast",), POLICY), Side(("slow",), POLICY)),),
)


def row(variant, seed, value, task="tiny", select="policy", checkpoint="final"):
    known = {"task": task, "variant": variant, "seed": seed, "select": select, "checkpoint": checkpoint, "mean": value}
    known |= {"episodes": 3, "step": 6, "fresh_steps": 24, "minutes": 0.5, "processor_minutes": 0.75}
    known["run"] = f"{task}-{seed}-{variant}"
    return dict.fromkeys(COLUMNS, 0.0) | known


ROWS = [row("slow", 0, 2.0), row("slow", 1, 4.0), row("fast", 0, 10.0), row("fast", 1, 10.0)]
