"""Named settings: the paper's, and classroom-sized ones that train on two cores in minutes (`mzu presets`).

Settings are written as `--set` takes them, each as a difference to `Config()`. Where nothing is said here, the comments
of `config.py` say where a number comes from.
"""

from dataclasses import dataclass

from mzu.config import Config
from mzu.config_fields import did_you_mean

# What all classroom-sized runs share.
CLASSROOM = (
    "network.width=64",
    "network.num_blocks=2",
    "network.value_support=20",  # values up to about 420, once the transformation is undone
    "network.reward_support=5",  # rewards up to about 35
    "search.num_simulations=32",
    "search.discount=0.99",
    "replay.segment_length=50",
    "replay.capacity=1000",
    "acting.games=64",
    "acting.positions_per_step=64",
    "learning.batch_size=256",
    "learning.learning_rate=1e-3",
    "learning.training_steps=6000",
    "evaluation.episodes=100",
    "evaluation.period=500",
    "evaluation.period_episodes=10",
    "run.log_period=100",
    "run.checkpoint_period=1000",
)
# Half of what is searched is stored: fresh games are the slow part of a small task.
ONLINE = (
    "reanalyse.fraction=0.5",
    "reanalyse.most_recent_steps=20000",  # what is older was played by a much worse agent
    "replay.start_size=1000",
    "learning.weight_decay=1e-5",
)
CONTINUOUS = ("search.num_sampled_actions=20",)  # Sampled MuZero
# What holds over seeds and datasets (tutorials/steady_learning.md): values as plain numbers, every position drawn as
# often as any other, and searches no deeper than the model is good for.
STEADY = (
    "network.scalar_head=regression",
    "learning.value_loss_scale=4",  # a squared error after h is smaller than a cross-entropy
    "learning.unroll_steps=10",
    "replay.priority_exponent=0",
    "search.max_depth=2",
)
# Where actions are sampled: a target moves by how much better a candidate is, and three quarters of the prior lie on
# the stored action, which is judged by what really followed it.
STEADY_SAMPLED = (
    *CONTINUOUS,
    "search.improvement=advantage",
    "search.advantage_temperature=0.5",
    "search.advantage_clip=5",
    "search.injected_prior=0.75",
    "search.stored_value=data",
)
# Online (tutorials/steady_learning.md, section 6): the same values, and advantages in enumerated actions, too.
STEADY_ONLINE = (
    *STEADY,
    "learning.unroll_steps=5",  # more than the two that are searched
    "search.first_evaluations=true",
    "search.improvement=advantage",
    "search.advantage_temperature=0.5",
    "search.advantage_clip=5",
    "acting.games=32",
    "acting.positions_per_step=32",
)
# Continuous actions want more learner steps rather than more play.
STEADY_ONLINE_SAMPLED = (
    *STEADY_ONLINE,
    *STEADY_SAMPLED,
    "acting.positions_per_step=16",
    "learning.target_network_period=50",
)
# Convolutions on a CPU, searched without the compiled twin: less of everything.
IMAGES = (
    "network.width=16",
    "network.num_blocks=1",
    "search.num_simulations=16",
    "learning.batch_size=64",
    "acting.games=16",
    "acting.positions_per_step=16",
)

# The pole is balanced with less, the cart kept on its rail only with this.
CARTPOLE = ("environment=CartPole-v1", "network.width=128", "search.num_simulations=50")
CATCH = ("environment=catch", *IMAGES, "learning.training_steps=1000")

# Any other environment: rewards and values of unknown size want a wider support.
OTHER = ("network.value_support=60", "network.reward_support=30")  # values up to about 3,300, rewards up to about 900
# Acting as its own games did: from rest the mean of two good ways is to rest (a ball that hangs below its cup).
AS_PLAYED = ("evaluation.max_policy_scale=1",)
ENDLESS = ("acting.max_episode_steps=2000",)  # some worlds go on for as long as nobody reaches their goal
ATARI = (
    "network.frame_stack=4",
    "network.value_support=300",  # MuZero: scores reach hundreds of thousands
    "network.reward_support=300",
    "search.discount=0.997",
)


@dataclass(frozen=True)
class Preset:
    """A config with a name.

    attribute  what it is
    config     the settings
    summary    what it trains, in a line
    compare    whether behaviour cloning, CRR and Unplugged are trained on the same data
    goal       the mean return that an online one promises, by search (`mzu presets NAME --check`)

    >>> mzu.preset("cartpole_offline").compare
    True
    """

    config: Config
    summary: str
    compare: bool = False
    goal: float | None = None


def _paper(summary: str, *settings: str) -> Preset:
    return Preset(Config().override(*settings), summary)


def _online(goal: float, summary: str, *settings: str) -> Preset:
    return Preset(Config().override(*CLASSROOM, *ONLINE, *settings), summary, goal=goal)


def _offline(summary: str, *settings: str) -> Preset:
    return Preset(Config().override(*CLASSROOM, "reanalyse.fraction=1", *settings), summary, compare=True)


PRESETS = {
    "cartpole_offline": _offline(
        "CartPole, every push held for two steps, from 1,000 embedded episodes: what `mzu train` does",
        *CARTPOLE, "environment=CartPole-v1?repeat=2", "data=embedded:held_cartpole", *STEADY,
        "search.num_simulations=16", "search.discount=0.97", "replay.capacity=620", "learning.training_steps=1500",
        "acting.games=96", "acting.positions_per_step=96",
    ),
    "swingup_offline": _offline(
        "DM Control's cartpole swing-up, every action held for four steps, from 180 embedded episodes",
        "environment=dm_control:cartpole-swingup?repeat=4", "data=embedded:held_swingup", *STEADY, *STEADY_SAMPLED,
        "search.num_simulations=50", "replay.capacity=1000", "learning.training_steps=3000",
        "learning.target_network_period=50", "evaluation.episodes=50",
    ),
    "catch_offline": _offline(
        "Catch from 400 embedded episodes, by its pictures",
        *CATCH, "data=embedded:catch", "replay.capacity=400",
    ),
    "cheetah_offline": _offline(
        "DM Control's cheetah run, every action held for four steps, from 60 embedded episodes",
        "environment=dm_control:cheetah-run?repeat=4", "data=embedded:held_cheetah", *STEADY, *STEADY_SAMPLED,
        "network.width=128", "search.num_simulations=50", "search.discount=0.97", "replay.capacity=600",
        "learning.training_steps=3000", "evaluation.episodes=50",
    ),
    "cartpole": _online(
        475, "CartPole, playing and reanalysing",
        *CARTPOLE, "learning.td_steps=10", "learning.training_steps=3000",
        "evaluation.period=250", "evaluation.period_episodes=20",
        "acting.games=48", "acting.positions_per_step=48",
    ),
    "acrobot": _online(
        -100, "Acrobot, every action held for four steps: swing the tip of two links up to the line",
        "environment=Acrobot-v1?repeat=4", *STEADY_ONLINE, "network.width=128", "search.discount=0.97",
        "learning.td_steps=10", "learning.training_steps=3000", "acting.games=64", "acting.positions_per_step=64",
        "evaluation.period=250", "evaluation.period_episodes=20",
    ),
    "catch": _online(
        1, "Catch: a falling ball, by its pictures", *STEADY_ONLINE, *CATCH,
        "learning.td_steps=10",  # an episode has nine steps
        "learning.training_steps=2000",
    ),
    "pendulum": _online(
        -180, "Pendulum: swing up and hold, continuous actions",
        "environment=Pendulum-v1", *STEADY_ONLINE_SAMPLED, "search.discount=0.97", "learning.training_steps=6000",
        "evaluation.period_episodes=20",
        "evaluation.max_policy_scale=0.3",  # the mean of two good ways may be neither
    ),
    "swingup": _online(
        700, "DM Control's cartpole swing-up, every action held for four steps, playing and reanalysing",
        "environment=dm_control:cartpole-swingup?repeat=4", *STEADY_ONLINE_SAMPLED, "search.discount=0.97",
        "evaluation.episodes=50",
    ),
    "paper_atari": _paper(
        "the paper's settings for RL Unplugged Atari; give --env atari:GAME, --data rlu_atari:GAME and data_root",
        "network.width=256", "network.frame_stack=4",
    ),
    "paper_control": _paper(
        "the paper's settings for DM Control; give --env dm_control:DOMAIN-TASK, --data rlu:DOMAIN_TASK and data_root",
        "search.discount=0.99", "search.num_sampled_actions=20", "replay.capacity=2000", "learning.td_steps=0",
    ),
}  # fmt: skip

DEFAULT = "cartpole_offline"


def preset(name: str) -> Preset:
    """The named settings of `mzu presets`; their `config` is what is trained.

    >>> mzu.preset("cartpole").config.environment
    'CartPole-v1'
    """
    if name not in PRESETS:
        raise ValueError(
            f"There is no preset {name!r}; {did_you_mean(name, PRESETS)} (an environment is named with --env {name})"
        )
    return PRESETS[name]


def default_config(environment: str | None = None, data: str | None = None, data_root: str | None = None) -> Config:
    """Settings for an environment or a dataset that has no preset, by its observations and actions.

    Without data it plays and reanalyses; with data it learns from these alone. Where actions are held, a decision is
    discounted as the steps that it lasts.
    """
    spaces, repeat = _spaces_and_repeat(environment, data, data_root)
    settings = [*CLASSROOM, *OTHER]
    if data is not None:
        settings += ["reanalyse.fraction=1", *STEADY, *(STEADY_SAMPLED if spaces.continuous else ())]
    else:
        settings += [*ONLINE, *([*STEADY_ONLINE_SAMPLED, *AS_PLAYED] if spaces.continuous else STEADY_ONLINE)]
    if repeat is not None and repeat > 1:
        settings.append(f"search.discount={0.99**repeat:.3f}")
    if spaces.is_image:
        settings += IMAGES
    if environment is not None and environment.startswith("atari:"):
        settings += ATARI
    elif environment is not None and not environment.startswith("minatar:"):
        settings += ENDLESS
    names = {"environment": environment, "data": data, "data_root": data_root}
    return Config(**names).override(*settings)


def _spaces_and_repeat(environment, data, data_root):
    if environment is None:
        from mzu.episodes.dataset import load_episodes

        episodes = load_episodes(data, data_root)
        return episodes.infer_spaces(), next(iter(episodes)).repeat
    from mzu.environments.make import make

    with make(environment) as world:
        return world.spaces, world.repeat
