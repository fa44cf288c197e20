"""All settings of a run: frozen dataclasses, one per room of the library, together in one `Config`.

The comment behind a field names the section of the paper that its default comes from, or the work that the paper refers
to ("MuZero" is its online predecessor, "Sampled MuZero" the extension to continuous actions). Where Atari and DM
Control differ, the default is Atari's. Where neither says, or we do otherwise, the comment says "our choice". Two
defaults are not for pictures: `network.width` and `network.frame_stack`, which the preset `paper_atari` sets.
"""

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Literal

from mzu.config_fields import (
    at_least,
    named_fields,
    note_change,
    positive,
    replace_fields,
    section_from_dict,
    spelled,
    within,
)


@dataclass(frozen=True)
class SearchConfig:
    """Monte Carlo Tree Search, used alike for acting and for reanalysing.

    >>> mzu.SearchConfig(num_sampled_actions=20).evaluates_first
    True
    """

    num_simulations: int = 50  # MuZero; network evaluations after the root's own
    discount: float = 0.997  # Other Hyperparameters: 0.997 in Atari, 0.99 in DM Control
    puct_base: float = 19652.0  # MuZero, pUCT
    puct_init: float = 1.25  # MuZero, pUCT
    normaliser: Literal["minmax", "siblings"] = "minmax"  # MuZero: tree-wide min-max; siblings: as in mctx
    unvisited_value: Literal["lowest", "parent"] = "lowest"  # MuZero: 0; parent: the node's own value, as EfficientZero
    dirichlet_alpha: float = 0.25  # MuZero, root exploration noise in Atari
    dirichlet_fraction: float = 0.25  # MuZero, and "Offline RL and Continuous Action Spaces"; 0 switches the noise off
    num_sampled_actions: int | None = None  # Sampled MuZero: 20 in DM Control; None searches over all actions
    sampling_temperature: float = 1.0  # Sampled MuZero: actions are proposed from pi^(1/temperature)
    injected_prior: float = 0.25  # Offline RL and Continuous Action Spaces: prior of the trajectory's action
    first_evaluations: bool | None = None  # Sampled MuZero: the root's candidates first; None: where they are sampled
    max_depth: int = 0  # our choice: edges on the longest path, 0 for no limit
    selection: Literal["puct", "gumbel"] = "puct"  # MuZero; gumbel: sequential halving (Danihelka 2022)
    improvement: Literal["visits", "advantage", "completed_q", "one_step"] = "visits"  # MuZero; search/improvement/
    advantage_temperature: float = 1.0  # improvement=advantage: in units of the running scale; one_step: of the reward
    advantage_clip: float = 3.0  # improvement=advantage: no weight moves by more than exp(this); Muesli has 1
    stored_value: Literal["model", "data"] = "model"  # our choice: whose word on the injected action counts
    gumbel_candidates: int = 16  # Gumbel MuZero: candidates of the root that sequential halving begins with
    gumbel_scale: float = 1.0  # Gumbel MuZero: of the root's noise; 0 switches it off
    completed_value_scale: float = 0.1  # Gumbel MuZero: c_scale
    completed_visit_offset: float = 50.0  # Gumbel MuZero: c_visit

    def __post_init__(self):
        at_least(self, 1, "num_simulations", "puct_base", "gumbel_candidates")
        at_least(self, 0, "puct_init", "max_depth", "gumbel_scale", "completed_value_scale", "completed_visit_offset")
        within(self, 0, 1, "discount", "dirichlet_fraction")
        positive(self, "dirichlet_alpha", "sampling_temperature", "advantage_temperature", "advantage_clip")
        if self.selection == "gumbel" and self.first_evaluations:
            raise ValueError(
                "search.first_evaluations is true, but search.selection=gumbel visits the root's candidates in rounds "
                "of its own; leave one of them out"
            )
        if self.improvement == "one_step" and (self.first_evaluations is False or self.selection == "gumbel"):
            raise ValueError(
                "search.improvement=one_step is made of the first evaluations; set search.first_evaluations=true and "
                "search.selection=puct"
            )
        if self.num_sampled_actions is not None:
            at_least(self, 1, "num_sampled_actions")
        if not 0 < self.injected_prior < 1:
            raise ValueError(f"search.injected_prior is {self.injected_prior}, but must lie between 0 and 1, exclusive")

    @property
    def evaluates_first(self) -> bool:
        """Whether all candidates of the root are evaluated before the first simulation."""
        if self.improvement == "one_step":
            return True
        if self.first_evaluations is None:
            return self.num_sampled_actions is not None and self.selection == "puct"
        return self.first_evaluations

    @property
    def noise_fraction(self) -> float:
        """Share of the Dirichlet noise at the root; Gumbel MuZero explores by its own."""
        return 0.0 if self.selection == "gumbel" else self.dirichlet_fraction

    @property
    def simulations(self) -> int:
        """Simulations of a search: none where only one step is looked ahead."""
        return 0 if self.improvement == "one_step" else self.num_simulations


@dataclass(frozen=True)
class NetworkConfig:
    """Representation, dynamics and prediction (paper, appendix "Network Architecture").

    >>> mzu.NetworkConfig(width=64, num_blocks=2).scalar_head
    'categorical'
    """

    width: int | Literal["auto"] = 512  # Network Architecture: 512, images 256; "auto": caption of the DM Control table
    num_blocks: int = 10  # Network Architecture: representation and dynamics, two layers in each block
    prediction_blocks: int = 0  # our choice: 0 puts linear heads straight on the hidden state
    frame_stack: int = 1  # images only: the last frames that make one observation; 4 in Atari (our choice)
    scale_hidden: bool = False  # MuZero min-max scales hidden states to [0, 1]; the paper has Layer Normalisation
    scalar_head: Literal["categorical", "hl_gauss", "regression"] = "categorical"  # MuZero; see networks/scalars.py
    value_support: int = 300  # MuZero: categories are the integers -300..300 of the transformed value
    reward_support: int = 300  # MuZero
    bins_per_unit: int = 1  # MuZero: 1; categories per unit of the transformed value, none in regression
    hl_gauss_sigma: float = 0.75  # Farebrother 2024: width of the smooth target, in categories
    action_value_head: bool = False  # Table "ablations": the 0-step model predicts action values

    def __post_init__(self):
        if self.width != "auto":
            at_least(self, 1, "width")
        at_least(self, 0, "num_blocks", "prediction_blocks")
        at_least(self, 1, "frame_stack", "value_support", "reward_support", "bins_per_unit")
        positive(self, "hl_gauss_sigma")


@dataclass(frozen=True)
class ReplayConfig:
    """What the learner samples from (paper, appendix "Other Hyperparameters").

    >>> mzu.ReplayConfig(capacity=2000).segment_length
    500
    """

    capacity: int = 50_000  # Other Hyperparameters: subsequences kept, 50,000 in Atari, 2,000 in DM Control
    segment_length: int = 500  # Other Hyperparameters: episodes are split into subsequences up to this length
    priority_exponent: float = 1.0  # Other Hyperparameters: alpha
    importance_exponent: float = 1.0  # Other Hyperparameters: beta
    uniform_share: float = 0.1  # our choice, in the paper 0: drawn uniformly, which bounds the weights by 1 / share
    start_size: int = 2000  # our choice: positions in the replay before the first learner step

    def __post_init__(self):
        at_least(self, 1, "capacity", "segment_length", "start_size")
        at_least(self, 0, "priority_exponent", "importance_exponent")
        within(self, 0, 1, "uniform_share")


@dataclass(frozen=True)
class ReanalyseConfig:
    """How much of what is searched is stored data (paper, section "Reanalyse").

    >>> mzu.ReanalyseConfig(fraction=0.5).demonstrations
    1.0
    """

    fraction: float = 1.0  # Reanalyse: 0 only fresh games, 1 fully offline (MuZero Unplugged)
    inject_actions: bool = True  # Offline RL and Continuous Action Spaces; discrete searches have all actions anyway
    most_recent: float = 1.0  # Reanalyse, "Data Efficiency": weight of the most recent fresh games among the sources
    demonstrations: float = 1.0  # Reanalyse, "Offline RL" and "Demonstrations": weight of the given dataset
    highest_return: float = 0.0  # Reanalyse, "Exploitation": weight of the fresh games with the highest return
    most_recent_steps: int = 1_000_000  # Reanalyse: N of "the N most recent interactions"; our choice of number
    highest_return_steps: int = 100_000  # our choice
    held_out: float = 0.0  # our choice: share of the dataset's episodes kept for `mzu evaluate --offline` alone

    def __post_init__(self):
        within(self, 0, 1, "fraction")
        if not 0 <= self.held_out < 1:
            raise ValueError(
                f"reanalyse.held_out is {self.held_out}, but must be at least 0 (nothing is held out) and below 1, "
                "such as 0.2"
            )
        at_least(self, 0, "most_recent", "demonstrations", "highest_return")
        at_least(self, 1, "most_recent_steps", "highest_return_steps")


@dataclass(frozen=True)
class ActingConfig:
    """How fresh games choose their actions.

    >>> mzu.ActingConfig(games=64).temperatures
    (1.0, 0.5, 0.25)
    """

    temperatures: tuple[float, ...] = (1.0, 0.5, 0.25)  # MuZero: exponent 1 / temperature on the visit counts
    temperature_ends: tuple[float, ...] = (0.5, 0.75)  # MuZero: shares of training at which the next one starts
    games: int = 32  # our choice: fresh and stored games that are played in lockstep, one search for all
    positions_per_step: float = 32.0  # our choice: positions searched per learner step
    refresh_period: int = 1  # our choice: learner steps between two copies of the weights to the searching model
    max_episode_steps: int = 27_000  # MuZero, half an hour of Atari: fresh and evaluation episodes are cut off there

    def __post_init__(self):
        at_least(self, 1, "games", "refresh_period", "max_episode_steps")
        positive(self, "positions_per_step")
        if len(self.temperature_ends) != len(self.temperatures) - 1:
            raise ValueError(
                f"acting.temperature_ends has {len(self.temperature_ends)} entries, but {len(self.temperatures)} "
                f"temperatures need {len(self.temperatures) - 1}"
            )
        if any(temperature < 0 for temperature in self.temperatures):
            raise ValueError(f"acting.temperatures is {self.temperatures}, but no temperature may be negative")


@dataclass(frozen=True)
class LearningConfig:
    """Targets, loss and optimiser (paper, section "Reanalyse" and appendix).

    >>> mzu.LearningConfig(policy_loss="crr").needs_advantages
    True
    """

    batch_size: int = 1024  # Optimization
    training_steps: int = 1_000_000  # Optimization
    unroll_steps: int = 5  # Table "ablations"
    td_steps: int = 5  # Value Learning: 5 in Atari, 0 (the search value) in DM Control
    target_network_period: int = 100  # Value Learning
    policy_loss: Literal["reanalyse", "behaviour_cloning", "crr"] = "reanalyse"  # Table "ablations"
    behaviour_loss_scale: float = 0.0  # ROSMO has 0.2: stored actions with an advantage above 0 are learned besides
    value_loss_scale: float = 1.0  # equation of the loss; MuZero Reanalyse used 0.25
    hidden_gradient_scale: float = 0.5  # MuZero: gradient of the hidden state at every dynamics step
    consistency_loss_scale: float = 0.0  # EfficientZero (its 2 is 1 here): hidden states as of the real observations
    learning_rate: float = 1e-4  # Optimization: initial, decayed by a cosine to 0
    weight_decay: float = 1e-4  # Optimization: the share of the weights removed in one step, times the cosine
    max_gradient_norm: float = 0.0  # our choice: a longer gradient is scaled down to this length; 0: none is
    weight_average: float = 0.0  # our choice: share kept of the averaged weights, which are evaluated; 0: not averaged
    crr_weight: Literal["exp", "indicator"] = "exp"  # CRR; the paper does not say which
    crr_temperature: float = 1.0  # CRR: beta of exp(advantage / beta)
    crr_clip: float = 20.0  # CRR: largest weight
    jit_compile: bool = True  # our choice: the step by XLA, faster after some 10 s of compiling; false starts at once

    def __post_init__(self):
        at_least(self, 1, "batch_size", "training_steps", "target_network_period")
        at_least(self, 0, "unroll_steps", "td_steps", "value_loss_scale", "weight_decay")
        at_least(self, 0, "behaviour_loss_scale", "consistency_loss_scale", "max_gradient_norm")
        within(self, 0, 1, "hidden_gradient_scale")
        positive(self, "learning_rate", "crr_temperature", "crr_clip")
        if not 0 <= self.weight_average < 1:
            raise ValueError(
                f"learning.weight_average is {self.weight_average}, but must be at least 0 and below 1, such as 0.99; "
                "0 switches it off"
            )

    @property
    def needs_advantages(self) -> bool:
        """Whether stored actions count by their advantage, which takes the observations that followed them."""
        return self.policy_loss == "crr" or self.behaviour_loss_scale > 0


@dataclass(frozen=True)
class EvaluationConfig:
    """How a trained agent is measured (paper, appendix "Evaluation").

    >>> mzu.EvaluationConfig(select="policy").episodes
    300
    """

    episodes: int = 300  # Evaluation: at the end of training
    max_policy_scale: float = 0.05  # Evaluation: the Gaussian's scale is min(predicted, this)
    select: Literal["policy", "value", "search"] = "search"  # Table "ablations": how actions are selected
    period: int = 10_000  # our choice: learner steps between two points of the learning curve; 0: only at the end
    period_episodes: int = 20  # our choice: episodes for each point of the learning curve

    def __post_init__(self):
        at_least(self, 1, "episodes", "period_episodes")
        at_least(self, 0, "period")
        positive(self, "max_policy_scale")


@dataclass(frozen=True)
class RunConfig:
    """What a run keeps in memory, and leaves behind on the disk; nothing here changes what is learned.

    >>> mzu.RunConfig(keep_checkpoints=5).log_period
    100
    """

    log_period: int = 100  # our choice: learner steps between two lines of the log
    checkpoint_period: int = 10_000  # our choice: learner steps between two checkpoints
    keep_checkpoints: int = 2  # our choice: the latest ones that stay, besides the best
    data_memory: float = 4.0  # our choice: GB of stored episodes held in memory; all others in a temporary file

    def __post_init__(self):
        at_least(self, 1, "log_period", "checkpoint_period", "keep_checkpoints")
        at_least(self, 0, "data_memory")


@dataclass(frozen=True)
class Config:
    """Everything that defines a run. `Config()` has the paper's numbers, and our own where the paper gives none.

    >>> config = mzu.Config(environment="CartPole-v1", search=mzu.SearchConfig(num_simulations=16))
    >>> config.replace(seed=3, learning={"td_steps": 10}).learning.td_steps
    10
    """

    seed: int = 0
    environment: str | None = None  # an id that `make` understands; None trains on data without evaluation
    data: str | None = None  # a dataset that `load_episodes` understands
    data_root: str | None = None  # the folder below which a named dataset lies
    search: SearchConfig = field(default_factory=SearchConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    replay: ReplayConfig = field(default_factory=ReplayConfig)
    reanalyse: ReanalyseConfig = field(default_factory=ReanalyseConfig)
    acting: ActingConfig = field(default_factory=ActingConfig)
    learning: LearningConfig = field(default_factory=LearningConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    run: RunConfig = field(default_factory=RunConfig)

    def __post_init__(self):
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"seed is {self.seed}, but must be at least 0 and below 2**63")
        for name in ("environment", "data", "data_root"):
            if getattr(self, name) == "":
                raise ValueError(f"{name} is empty; name one, or leave it out")

    @property
    def searches(self) -> bool:
        """Whether positions are searched: where nothing is learned from a search (behaviour cloning, CRR), none is."""
        return self.learning.policy_loss == "reanalyse" or self.learning.td_steps == 0

    @property
    def injects(self) -> bool:
        """Whether the stored action of a stored game is injected at the root; without stored games, none is.

        Where all actions are candidates that is so only for what really followed it (`search.stored_value=data`).
        """
        needed = self.search.num_sampled_actions is not None or self.search.stored_value == "data"
        return self.reanalyse.inject_actions and self.reanalyse.fraction > 0 and needed

    def to_json(self) -> str:
        """The config as indented JSON text; `Config.from_json` reads it back to an equal config."""
        return json.dumps(dataclasses.asdict(self), indent=2)

    @classmethod
    def from_json(cls, text: str) -> "Config":
        """Reads what `to_json` wrote. Missing keys keep their defaults; unknown ones are an error."""
        try:
            data = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"The config is not valid JSON (line {error.lineno}: {error.msg})") from None
        except RecursionError:
            raise ValueError("The config is not valid JSON: its parts are nested too deeply") from None
        return section_from_dict(cls, data, path="")

    def replace(self, **settings) -> "Config":
        """A copy with other settings, typed and checked: whole sections, parts of them, or single fields by their path.

        >>> Config().replace(seed=3, search={"num_simulations": 16}).search.num_simulations
        16
        >>> Config().replace(**{"search.num_simulations": 16, "learning.td_steps": 10}).learning.td_steps
        10
        """
        changes = {}
        for name, value in settings.items():
            note_change(changes, type(self), name.split("."), value, path="")
        return replace_fields(self, changes)

    def override(self, *assignments: str) -> "Config":
        """A copy with what the command line says, such as `search.num_simulations=16`; in Python there is `replace`.

        >>> Config().override("search.num_simulations=16", "seed=3").search.num_simulations
        16
        """
        changes = {}
        for assignment in assignments:
            name, equals, text = assignment.partition("=")
            if not equals:
                raise ValueError(f"'{assignment}' is not an override; write section.field=value")
            note_change(changes, type(self), name.strip().split("."), text.strip(), path="", parse=True)
        return replace_fields(self, changes)

    def differences(self) -> list[str]:
        """The assignments by which `override` makes this config of the defaults.

        >>> Config(seed=3).differences()
        ['seed=3']
        """
        return [
            f"{name}={spelled(value)}"
            for (name, value), (_, usual) in zip(named_fields(self), named_fields(Config()), strict=True)
            if value != usual
        ]
