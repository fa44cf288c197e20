"""The experiments, each named after what it mirrors in the paper (`mzu reproduce --list`)."""

from mzu.config_fields import did_you_mean
from mzu.experiments.definition import POLICY, SEARCH, STEPS, VALUE, Claim, Experiment, Measure, Side, Variant
from mzu.training.comparison import METHODS

BEHAVIOUR_CLONING, CRR, UNPLUGGED = (METHODS[name] for name in ("behaviour_cloning", "crr", "unplugged"))
BEST_POLICY, BEST_SEARCH = Measure("policy", "best"), Measure("search", "best")


def _methods(**measures) -> tuple[Variant, ...]:
    """Behaviour cloning, CRR and Unplugged, or those of them that are named, with what is measured of each."""
    titles = {"behaviour_cloning": "behaviour cloning", "crr": "CRR", "unplugged": "Unplugged"}
    return tuple(Variant(name, titles[name], METHODS[name], kinds) for name, kinds in measures.items())


def _unplugged(name: str, title: str, *settings: str) -> Variant:
    return Variant(name, title, (*UNPLUGGED, *settings), (SEARCH,))


def _side(variant: str, measure: Measure = SEARCH) -> Side:
    return Side((variant,), measure)


OVERALL = Experiment(
    name="overall",
    title="Overall offline results",
    mirrors='table "Overall results for the RL Unplugged Atari benchmark" (section "MuZero Unplugged")',
    tasks=("cartpole", "catch", "swingup", "cheetah"),
    variants=_methods(behaviour_cloning=(POLICY,), crr=(POLICY,), unplugged=(SEARCH,)),
    claims=(
        Claim("Unplugged is above CRR", _side("unplugged"), _side("crr", POLICY)),
        Claim("CRR is above behaviour cloning", _side("crr", POLICY), _side("behaviour_cloning", POLICY)),
    ),
    figure="profiles",
    note="Behaviour cloning and CRR act by their policy, Unplugged by search, as in the paper.",
)

ALL = (POLICY, VALUE, SEARCH)
WITH_MODEL = ("supervised_5", "crr", "unplugged")

ABLATIONS = Experiment(
    name="ablations",
    title="Action selection and training loss",
    mirrors='tables "ablations of action selection and training loss", median and mean (section "MuZero Unplugged")',
    tasks=("cartpole", "catch"),
    variants=(
        Variant("supervised_0", "supervised, unroll 0",
                (*BEHAVIOUR_CLONING, "learning.unroll_steps=0", "network.action_value_head=true"),
                (POLICY, VALUE)),
        Variant("supervised_1", "supervised, unroll 1", (*BEHAVIOUR_CLONING, "learning.unroll_steps=1"), ALL),
        Variant("supervised_5", "supervised, unroll 5", BEHAVIOUR_CLONING, ALL),
        Variant("crr", "CRR, unroll 5", CRR, ALL),
        Variant("unplugged", "reanalyse, unroll 5", UNPLUGGED, ALL),
    ),
    claims=(
        Claim("Search is above value, over the three losses with five unrolled steps",
              Side(WITH_MODEL, SEARCH), Side(WITH_MODEL, VALUE)),
        Claim("Value is above policy, over the three losses with five unrolled steps",
              Side(WITH_MODEL, VALUE), Side(WITH_MODEL, POLICY)),
        Claim("Search is above value, reanalyse loss", _side("unplugged"), _side("unplugged", VALUE)),
        Claim("Value is above policy, reanalyse loss", _side("unplugged", VALUE), _side("unplugged", POLICY)),
        Claim("The reanalyse loss is above CRR, by search", _side("unplugged"), _side("crr")),
        Claim("Five unrolled steps are above one, by value",
              _side("supervised_5", VALUE), _side("supervised_1", VALUE)),
    ),
    layout="losses_by_selection",
    note="Discrete tasks, as in the paper: with continuous actions the value can only judge what the policy proposes.",
)  # fmt: skip

AUTOMATIC_WIDTH = ("network.width=auto",)

CONTROL = Experiment(
    name="control",
    title="DM Control at the automatic width",
    mirrors='table "Results for DM Control benchmark from RL Unplugged" '
            '(section "Offline RL and Continuous Action Spaces")',
    tasks=("swingup", "cheetah"),
    variants=(
        Variant("behaviour_cloning", "behaviour cloning", (*BEHAVIOUR_CLONING, *AUTOMATIC_WIDTH), (POLICY,)),
        _unplugged("unplugged", "Unplugged", *AUTOMATIC_WIDTH),
    ),
    claims=(
        Claim("Unplugged is above behaviour cloning", _side("unplugged"), _side("behaviour_cloning", POLICY)),
    ),
    note="Two of the paper's nine tasks, on data that this project collected. The width follows from the number of "
         "stored steps: sqrt(datapoints / blocks).",
)  # fmt: skip

INJECTION = Experiment(
    name="injection",
    title="Injecting the trajectory's action",
    mirrors='table "Impact of injecting the trajectory action when reanalysing" (appendix)',
    tasks=("swingup", "point_mass", "cheetah"),
    variants=(
        _unplugged("no_injection", "no injection", "reanalyse.inject_actions=false"),
        _unplugged("unplugged", "injection"),
    ),
    claims=tuple(
        Claim(f"Injection is above no injection with {words}", _side("unplugged"), _side("no_injection"), (task,))
        for task, words in (("cheetah", "6 action dimensions"), ("point_mass", "2"), ("swingup", "1"))
    ),
)

FRACTION = Experiment(
    name="fraction",
    title="Reanalyse fraction and data budget",
    mirrors='table "Reanalyse scaling in Atari" and figure "Final scores in Ms. Pac-Man for different Reanalyse '
            'fractions" (section "Reanalyse for Data Efficiency")',
    tasks=("cartpole_online",),
    variants=(
        _unplugged("equal_0", "fraction 0 %, equal compute", "reanalyse.fraction=0"),
        _unplugged("equal_50", "fraction 50 %, equal compute", "reanalyse.fraction=0.5"),
        _unplugged("equal_90", "fraction 90 %, equal compute", "reanalyse.fraction=0.9"),
        _unplugged("small_0", "fraction 0 %, as many steps in the world as at 90 %",
                   "reanalyse.fraction=0", "acting.positions_per_step=3.25"),
        _unplugged("small_50", "fraction 50 %, as many steps in the world as at 90 %",
                   "reanalyse.fraction=0.5", "acting.positions_per_step=8.2"),
    ),
    claims=(
        Claim("At the small data budget, fraction 90 % is above 0 %", _side("equal_90"), _side("small_0")),
        Claim("At the small data budget, fraction 90 % is above 50 %", _side("equal_90"), _side("small_50")),
        Claim("At equal compute, more data are better: fraction 0 % is above 90 %",
              _side("equal_0"), _side("equal_90")),
    ),
    layout="by_variant",
    note="Online, 1,000 learner steps in every run. At equal compute 48 positions are searched per learner step, "
         "whether fresh or stored. At the small data budget all take about 5,000 steps in the world, including some "
         "1,700 positions that fill the replay first, and what differs is how often they are searched again.",
)  # fmt: skip

EFFICIENCY = Experiment(
    name="efficiency",
    title="Steps in the world that reanalysing saves",
    mirrors="",
    tasks=("cartpole_goal",),
    variants=tuple(
        Variant(f"fraction_{percent}", f"fraction {percent} %", (*UNPLUGGED, f"reanalyse.fraction={percent / 100:g}"),
                (STEPS, SEARCH))
        for percent in (0, 80)
    ),
    claims=(
        Claim("Fraction 80 % needs at most half the steps in the world of fraction 0 %",
              _side("fraction_80", STEPS), _side("fraction_0", STEPS), share=0.5),
    ),
    layout="by_steps",
    figure="steps",
    note="The settings of the preset `cartpole` with half the learner steps, and an evaluation of 20 episodes, by "
         "search, every 100 of them. Both take equally many learner steps and search equally many positions; with "
         "fraction 0 % all of these are fresh, with 80 % four of five are stored ones.",
)  # fmt: skip

TD_STEPS = Experiment(
    name="td_steps",
    title="TD-5 against TD-0",
    mirrors='table "Comparison of value targets in Atari" (appendix)',
    tasks=("cartpole", "swingup"),
    variants=(
        _unplugged("td_5", "TD-5", "learning.td_steps=5"),
        _unplugged("td_0", "TD-0", "learning.td_steps=0"),
    ),
    claims=(Claim("TD-5 is above TD-0", _side("td_5"), _side("td_0")),),
    note="Offline here, online in the paper.",
)

WIDTHS = (16, 32, 64, 128)
WIDTH = Experiment(
    name="width",
    title="Network width",
    mirrors='table "Varying network size in DM Control benchmark from RL Unplugged" (appendix)',
    tasks=("swingup",),
    variants=tuple(_unplugged(f"width_{width}", f"width {width}", f"network.width={width}") for width in WIDTHS),
    claims=(Claim("Width 32 is above width 128", _side("width_32"), _side("width_128")),),
    note="The paper's cartpole.swingup is best at the smallest width; it trains 1 million steps on 40 episodes.",
)

LOW_DATA = Experiment(
    name="low_data",
    title="Little data: 1 % and 10 %",
    mirrors='table "Low-data Atari setting" (section "MuZero Unplugged")',
    tasks=("cartpole",),
    variants=(
        *(Variant(f"{name}_1", f"{title}, 1 %", (*METHODS[name], "data=recipe:cartpole:25"), kinds)
          for name, title, kinds in (("behaviour_cloning", "behaviour cloning", (POLICY,)), ("crr", "CRR", (POLICY,)),
                                     ("unplugged", "Unplugged", (SEARCH,)))),
        *(Variant(f"{name}_10", f"{title}, 10 %", METHODS[name], kinds)
          for name, title, kinds in (("behaviour_cloning", "behaviour cloning", (POLICY,)), ("crr", "CRR", (POLICY,)),
                                     ("unplugged", "Unplugged", (SEARCH,)))),
    ),
    claims=(
        Claim("Unplugged is better with 10 % than with 1 %", _side("unplugged_10"), _side("unplugged_1")),
        Claim("With 1 %, Unplugged is above CRR", _side("unplugged_1"), _side("crr_1", POLICY)),
    ),
    note="All data would be 2,500 episodes of the same players; 10 % are the 250 of the other experiments, 1 % the "
         "first 25 of them.",
)  # fmt: skip

CHECKPOINTS = Experiment(
    name="checkpoints",
    title="Final against best network",
    mirrors='table "Comparison of MuZero Unplugged and CRR", which takes the best network of each run '
            '(section "Offline RL and Continuous Action Spaces")',
    tasks=OVERALL.tasks,
    variants=_methods(behaviour_cloning=(POLICY, BEST_POLICY), crr=(POLICY, BEST_POLICY),
                      unplugged=(SEARCH, BEST_SEARCH)),
    claims=(
        Claim("Unplugged is better with its best network than with its final one",
              _side("unplugged", BEST_SEARCH), _side("unplugged", SEARCH)),
        Claim("With the best networks, Unplugged is above CRR",
              _side("unplugged", BEST_SEARCH), _side("crr", BEST_POLICY)),
    ),
    note="The runs of `overall`. The best network is the one with the highest return of a few episodes on the way; it "
         "is measured again with other episodes.",
)  # fmt: skip

IMPROVEMENT = Experiment(
    name="improvement",
    title="Improvement over the policy that played the data",
    mirrors='figure "Atari performance improvement" (section "MuZero Unplugged")',
    tasks=OVERALL.tasks,
    variants=_methods(unplugged=(SEARCH,)),
    claims=tuple(Claim(f"Unplugged is above the data in {name}", _side("unplugged"), None, (name,))
                 for name in OVERALL.tasks),
    figure="bars",
    note="The runs of `overall`.",
)  # fmt: skip

EVERY_WAY = (POLICY, VALUE, *(Measure("search", simulations=count) for count in (16, 50, 200)))

AGENTS = Experiment(
    name="agents",
    title="Data of other agents: is search worth its time?",
    mirrors='tables "ablations of action selection and training loss" (section "MuZero Unplugged") and "Results for DM '
            'Control benchmark from RL Unplugged", with one set of settings',
    tasks=("agents_cartpole", "agents_swingup", "agents_cheetah", "agents_walker"),
    variants=_methods(behaviour_cloning=(POLICY,), crr=(POLICY,), unplugged=EVERY_WAY),
    claims=(
        Claim("Unplugged by policy is above CRR", _side("unplugged", POLICY), _side("crr", POLICY)),
        Claim("Unplugged by policy is above behaviour cloning",
              _side("unplugged", POLICY), _side("behaviour_cloning", POLICY)),
        Claim("Search with 50 simulations is above policy",
              _side("unplugged", EVERY_WAY[3]), _side("unplugged", POLICY)),
        Claim("Search with 200 simulations is above search with 16",
              _side("unplugged", EVERY_WAY[4]), _side("unplugged", EVERY_WAY[2])),
    ),
    note="CartPole by the players of `embedded:cartpole` with another seed, the others by SAC while it learned. "
         "Settings were chosen on other data with other seeds; of swing-up one run with seed 100 was seen before their "
         "last change. All methods have the same network, heads and number of learner steps. "
         "`tutorials/steady_learning.md` tells how the settings were chosen.",
)  # fmt: skip

WAYS = (POLICY, VALUE, SEARCH)


def _screened(name: str, title: str, *settings: str) -> Variant:
    return Variant(name, title, (*UNPLUGGED, *settings), WAYS)


CHOSEN = _screened("chosen", "as chosen")

SCREENING = Experiment(
    name="screening",
    title="What a setting is worth: heads, replay, depth",
    mirrors="",
    note="One setting at a time is taken back.",
    tasks=("screening_cartpole", "swingup_screening"),
    variants=(
        CHOSEN,
        _screened("categorical", "categories", "network.scalar_head=categorical", "learning.value_loss_scale=1"),
        _screened("hl_gauss", "smooth categories, four per unit", "network.scalar_head=hl_gauss",
                  "network.bins_per_unit=4", "learning.value_loss_scale=1"),
        _screened("unroll_5", "five unrolled steps", "learning.unroll_steps=5"),
        _screened("any_depth", "searches of any depth", "search.max_depth=0"),
        _screened("priorities", "priorities", "replay.priority_exponent=1"),
        _screened("consistency", "with a consistency loss", "learning.consistency_loss_scale=1"),
    ),
    claims=tuple(
        Claim(f"{words}, by search", _side("chosen"), _side(variant))
        for variant, words in (
            ("categorical", "Regression is above categories"), ("unroll_5", "Ten unrolled steps are above five"),
            ("any_depth", "A depth of two is above any depth"), ("priorities", "Uniform replay is above priorities"),
        )
    ),
    layout="by_setting",
)  # fmt: skip

OPERATORS = Experiment(
    name="operators",
    title="What a setting is worth: where actions are sampled",
    mirrors="",
    note="One setting at a time is taken back.",
    tasks=("swingup_screening",),
    variants=(
        CHOSEN,
        _screened("visits", "visits", "search.improvement=visits"),
        _screened("no_first", "root not evaluated first", "search.first_evaluations=false"),
        _screened("model", "the model's word on the stored action", "search.stored_value=model"),
        _screened("prior_25", "injected prior 0.25", "search.injected_prior=0.25"),
        _screened("soft", "temperature 1, clip 3", "search.advantage_temperature=1", "search.advantage_clip=3"),
        _screened("behaviour", "with a behaviour term of 0.2", "learning.behaviour_loss_scale=0.2"),
    ),
    claims=tuple(
        Claim(f"{words}, by search", _side("chosen"), _side(variant))
        for variant, words in (
            ("visits", "Advantages are above visits"), ("prior_25", "An injected prior of 0.75 is above 0.25"),
            ("model", "What really followed is above the model's word"),
        )
    ),
    layout="by_setting",
)  # fmt: skip

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        OVERALL, ABLATIONS, CONTROL, INJECTION, FRACTION, EFFICIENCY, TD_STEPS, WIDTH, LOW_DATA, CHECKPOINTS,
        IMPROVEMENT, AGENTS, SCREENING, OPERATORS,
    )
}  # fmt: skip


def experiment(name: str) -> Experiment:
    """The experiment of this name; one sentence where there is none."""
    if name not in EXPERIMENTS:
        raise ValueError(f"There is no experiment {name!r}; {did_you_mean(name, EXPERIMENTS)}")
    return EXPERIMENTS[name]
