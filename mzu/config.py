"""All settings of a run: frozen dataclasses, one per room of the library, together in one `Config`.

Defaults are the paper's for Atari; `mzu.presets` holds the others. The comment behind a field names the section of the
paper it comes from, or the work that the paper refers to ("MuZero" is its online predecessor, "Sampled MuZero" the
extension to continuous actions). Where neither says, the comment says "our choice".
"""

import dataclasses
import difflib
import json
import types
import typing
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class SearchConfig:
    """Monte Carlo Tree Search, used alike for acting and for reanalysing."""

    num_simulations: int = 50  # MuZero; network evaluations after the root's own
    discount: float = 0.997  # Other Hyperparameters: 0.997 in Atari, 0.99 in DM Control
    puct_base: float = 19652.0  # MuZero, pUCT
    puct_init: float = 1.25  # MuZero, pUCT
    normaliser: Literal["minmax", "siblings"] = "minmax"  # MuZero: tree-wide min-max; siblings: as in mctx
    dirichlet_alpha: float = 0.25  # MuZero, root exploration noise in Atari
    dirichlet_fraction: float = 0.25  # MuZero, and "Offline RL and Continuous Action Spaces"; 0 switches the noise off
    num_sampled_actions: int | None = None  # Sampled MuZero: 20 in DM Control; None searches over all actions
    sampling_temperature: float = 1.0  # Sampled MuZero: actions are proposed from pi^(1/temperature)
    injected_prior: float = 0.25  # Offline RL and Continuous Action Spaces: prior of the trajectory's action

    def __post_init__(self):
        _at_least(self, 1, "num_simulations", "puct_base")
        _at_least(self, 0, "puct_init")
        _within(self, 0, 1, "discount", "dirichlet_fraction")
        _positive(self, "dirichlet_alpha", "sampling_temperature")
        if self.num_sampled_actions is not None:
            _at_least(self, 1, "num_sampled_actions")
        if not 0 < self.injected_prior < 1:
            raise ValueError(f"search.injected_prior is {self.injected_prior}, but must lie between 0 and 1, exclusive")


@dataclass(frozen=True)
class NetworkConfig:
    """Representation, dynamics and prediction (paper, appendix "Network Architecture")."""

    width: int | Literal["auto"] = 512  # Network Architecture: 512, images 256; "auto": caption of the DM Control table
    num_blocks: int = 10  # Network Architecture: representation and dynamics, two layers in each block
    prediction_blocks: int = 0  # our choice: 0 puts linear heads straight on the hidden state
    frame_stack: int = 1  # images only: the last frames that make one observation; 4 in Atari (our choice)
    scale_hidden: bool = False  # MuZero min-max scales hidden states to [0, 1]; the paper has Layer Normalisation
    scalar_head: Literal["categorical", "regression"] = "categorical"  # MuZero
    value_support: int = 300  # MuZero: categories are the integers -300..300 of the transformed value
    reward_support: int = 300  # MuZero
    action_value_head: bool = False  # Table "ablations": the 0-step model predicts action values

    def __post_init__(self):
        if self.width != "auto":
            _at_least(self, 1, "width")
        _at_least(self, 0, "num_blocks", "prediction_blocks")
        _at_least(self, 1, "frame_stack", "value_support", "reward_support")


@dataclass(frozen=True)
class ReplayConfig:
    """What the learner samples from (paper, appendix "Other Hyperparameters")."""

    capacity: int = 50_000  # Other Hyperparameters: subsequences kept, 50,000 in Atari, 2,000 in DM Control
    segment_length: int = 500  # Other Hyperparameters: episodes are split into subsequences up to this length
    priority_exponent: float = 1.0  # Other Hyperparameters: alpha
    importance_exponent: float = 1.0  # Other Hyperparameters: beta
    uniform_share: float = 0.1  # our choice: share of the batch drawn uniformly, which bounds the weights by 1 / share
    start_size: int = 2000  # our choice: positions in the replay before the first learner step

    def __post_init__(self):
        _at_least(self, 1, "capacity", "segment_length", "start_size")
        _at_least(self, 0, "priority_exponent", "importance_exponent")
        _within(self, 0, 1, "uniform_share")


@dataclass(frozen=True)
class ReanalyseConfig:
    """How much of what is searched is stored data (paper, section "Reanalyse")."""

    fraction: float = 1.0  # Reanalyse: 0 only fresh games, 1 fully offline (MuZero Unplugged)
    inject_actions: bool = True  # Offline RL and Continuous Action Spaces; discrete searches have all actions anyway
    most_recent: float = 1.0  # Reanalyse, "Data Efficiency": weight of the most recent fresh games among the sources
    demonstrations: float = 1.0  # Reanalyse, "Offline RL" and "Demonstrations": weight of the given dataset
    highest_return: float = 0.0  # Reanalyse, "Exploitation": weight of the fresh games with the highest return
    most_recent_steps: int = 1_000_000  # Reanalyse: N of "the N most recent interactions"; our choice of number
    highest_return_steps: int = 100_000  # our choice

    def __post_init__(self):
        _within(self, 0, 1, "fraction")
        _at_least(self, 0, "most_recent", "demonstrations", "highest_return")
        _at_least(self, 1, "most_recent_steps", "highest_return_steps")


@dataclass(frozen=True)
class ActingConfig:
    """How fresh games choose their actions."""

    temperatures: tuple[float, ...] = (1.0, 0.5, 0.25)  # MuZero: exponent 1 / temperature on the visit counts
    temperature_ends: tuple[float, ...] = (0.5, 0.75)  # MuZero: shares of training at which the next one starts
    games: int = 32  # our choice: fresh and stored games that are played in lockstep, one search for all
    positions_per_step: float = 32.0  # our choice: positions searched per learner step
    refresh_period: int = 1  # our choice: learner steps between two copies of the weights to the searching model

    def __post_init__(self):
        _at_least(self, 1, "games", "refresh_period")
        _positive(self, "positions_per_step")
        if len(self.temperature_ends) != len(self.temperatures) - 1:
            raise ValueError(
                f"acting.temperature_ends has {len(self.temperature_ends)} entries, but {len(self.temperatures)} "
                f"temperatures need {len(self.temperatures) - 1}"
            )
        if any(temperature < 0 for temperature in self.temperatures):
            raise ValueError(f"acting.temperatures is {self.temperatures}, but no temperature may be negative")


@dataclass(frozen=True)
class LearningConfig:
    """Targets, loss and optimiser (paper, section "Reanalyse" and appendix)."""

    batch_size: int = 1024  # Optimization
    training_steps: int = 1_000_000  # Optimization
    unroll_steps: int = 5  # Table "ablations"
    td_steps: int = 5  # Value Learning: 5 in Atari, 0 (the search value) in DM Control
    target_network_period: int = 100  # Value Learning
    policy_loss: Literal["reanalyse", "behaviour_cloning", "crr"] = "reanalyse"  # Table "ablations"
    value_loss_scale: float = 1.0  # equation of the loss; MuZero Reanalyse used 0.25
    hidden_gradient_scale: float = 0.5  # MuZero: gradient of the hidden state at every dynamics step
    learning_rate: float = 1e-4  # Optimization: initial, decayed by a cosine to 0
    weight_decay: float = 1e-4  # Optimization: the share of the weights removed in one step, times the cosine
    crr_weight: Literal["exp", "indicator"] = "exp"  # CRR; the paper does not say which
    crr_temperature: float = 1.0  # CRR: beta of exp(advantage / beta)
    crr_clip: float = 20.0  # CRR: largest weight
    jit_compile: bool = True  # our choice: the step by XLA, faster after some 10 s of compiling; false starts at once

    def __post_init__(self):
        _at_least(self, 1, "batch_size", "training_steps", "target_network_period")
        _at_least(self, 0, "unroll_steps", "td_steps", "value_loss_scale", "weight_decay")
        _within(self, 0, 1, "hidden_gradient_scale")
        _positive(self, "learning_rate", "crr_temperature", "crr_clip")


@dataclass(frozen=True)
class EvaluationConfig:
    """How a trained agent is measured (paper, appendix "Evaluation")."""

    episodes: int = 300  # Evaluation: at the end of training
    max_policy_scale: float = 0.05  # Evaluation: the Gaussian's scale is min(predicted, this)
    select: Literal["policy", "value", "search"] = "search"  # Table "ablations": how actions are selected
    period: int = 10_000  # our choice: learner steps between two points of the learning curve; 0: only at the end
    period_episodes: int = 20  # our choice: episodes for each point of the learning curve

    def __post_init__(self):
        _at_least(self, 1, "episodes", "period_episodes")
        _at_least(self, 0, "period")
        _positive(self, "max_policy_scale")


@dataclass(frozen=True)
class RunConfig:
    """What a run leaves behind on the disk; nothing here changes what is learned."""

    log_period: int = 100  # our choice: learner steps between two lines of the log
    checkpoint_period: int = 10_000  # our choice: learner steps between two checkpoints
    keep_checkpoints: int = 2  # our choice: the latest ones that stay, besides the best

    def __post_init__(self):
        _at_least(self, 1, "log_period", "checkpoint_period", "keep_checkpoints")


@dataclass(frozen=True)
class Config:
    """Everything that defines a run. `Config()` is the paper's Atari setting."""

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
        return _from_dict(cls, data, path="")

    def override(self, *assignments: str) -> "Config":
        """A copy with assignments such as `search.num_simulations=16` applied, typed and checked.

        >>> Config().override("search.num_simulations=16", "seed=3").search.num_simulations
        16
        """
        changes = {}
        for assignment in assignments:
            name, equals, text = assignment.partition("=")
            if not equals:
                raise ValueError(f"'{assignment}' is not an override; write section.field=value")
            _note_change(changes, type(self), name.strip().split("."), text.strip(), path="")
        return _replace(self, changes)


def _note_change(changes: dict, cls, names: list[str], text: str, path: str) -> None:
    """Notes in nested `changes` that the field of `cls` that `names` leads to gets the value that `text` spells."""
    name, *rest = names
    hints = _field_types(cls, name, path)
    here = path + name
    if dataclasses.is_dataclass(hints[name]):
        if not rest:
            inside = ", ".join(f"{here}.{f.name}" for f in dataclasses.fields(hints[name]))
            raise ValueError(f"'{here}' is a section, not a field; its fields are {inside}")
        _note_change(changes.setdefault(name, {}), hints[name], rest, text, path=here + ".")
    elif rest:
        raise ValueError(f"'{here}' is a field, so '{here}.{'.'.join(rest)}' does not exist")
    else:
        changes[name] = _checked(hints[name], _parse(hints[name], text), here)


def _replace(section, changes: dict):
    """A copy of `section` with all changes at once: two fields that must fit together can be changed together."""
    values = {
        name: _replace(getattr(section, name), change) if isinstance(change, dict) else change
        for name, change in changes.items()
    }
    return dataclasses.replace(section, **values)


def _from_dict(cls, data: Any, path: str):
    if not isinstance(data, dict):
        raise ValueError(f"'{path.rstrip('.') or 'config'}' is {data!r}, but must be an object with named fields")
    values = {}
    for name, value in data.items():
        hints = _field_types(cls, name, path)
        if dataclasses.is_dataclass(hints[name]):
            values[name] = _from_dict(hints[name], value, path=f"{path}{name}.")
        else:
            values[name] = _checked(hints[name], value, path + name)
    return cls(**values)


def _field_types(section, name: str, path: str) -> dict[str, Any]:
    """Type hints of a section's fields; an unknown `name` is an error that suggests the nearest one."""
    cls = section if isinstance(section, type) else type(section)
    hints = typing.get_type_hints(cls)
    if name not in hints:
        near = difflib.get_close_matches(name, hints, n=1, cutoff=0.5)
        advice = f"did you mean '{path}{near[0]}'?" if near else f"known are {', '.join(path + h for h in hints)}"
        raise ValueError(f"'{path}{name}' is not a setting; {advice}")
    return hints


def _parse(hint, text: str):
    """`text` as JSON where that is meant (numbers, true, null, [1, 2]), otherwise as the plain word it is."""
    options = typing.get_args(hint) if _is_union(hint) else (hint,)
    lowered = text.lower()
    if lowered in ("none", "null") and types.NoneType in options:
        return None
    if lowered in ("true", "false") and bool in options:
        return lowered == "true"
    if typing.get_origin(hint) is tuple and not text.startswith("["):
        text = f"[{text}]"
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _checked(hint, value, path: str):
    """`value` as the type that `hint` asks for, or a ValueError that names the field and what it expects."""
    if _is_union(hint):
        for option in typing.get_args(hint):
            if _fits(option, value):
                return _checked(option, value, path)
    elif _fits(hint, value):
        if hint is float:
            return float(value)
        if hint is int:
            return int(value)
        if typing.get_origin(hint) is tuple:
            return tuple(_checked(typing.get_args(hint)[0], item, path) for item in value)
        return value
    raise ValueError(f"{path} is {value!r}, but must be {_describe(hint)}")


def _is_union(hint) -> bool:
    # `int | None` is a types.UnionType, `int | Literal["auto"]` a typing.Union.
    return typing.get_origin(hint) in (types.UnionType, typing.Union)


def _fits(hint, value) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is float:
        return is_number
    if hint is int:
        return is_number and float(value).is_integer()
    if typing.get_origin(hint) is Literal:
        return value in typing.get_args(hint)
    if typing.get_origin(hint) is tuple:
        return isinstance(value, (list, tuple)) and all(_fits(typing.get_args(hint)[0], item) for item in value)
    return isinstance(value, hint)


def _describe(hint) -> str:
    if _is_union(hint):
        return " or ".join(_describe(option) for option in typing.get_args(hint))
    if typing.get_origin(hint) is Literal:
        return " or ".join(repr(option) for option in typing.get_args(hint))
    if typing.get_origin(hint) is tuple:
        return "a list of numbers such as 1.0,0.5"
    return {int: "a whole number", float: "a number", bool: "true or false", types.NoneType: "none"}.get(hint, "text")


def _section_name(section) -> str:
    return type(section).__name__.removesuffix("Config").lower()


def _at_least(section, least: float, *names: str) -> None:
    for name in names:
        value = getattr(section, name)
        if not value >= least:
            raise ValueError(f"{_section_name(section)}.{name} is {value}, but must be at least {least}")


def _positive(section, *names: str) -> None:
    for name in names:
        value = getattr(section, name)
        if not 0 < value < float("inf"):
            raise ValueError(f"{_section_name(section)}.{name} is {value}, but must be a positive number")


def _within(section, low: float, high: float, *names: str) -> None:
    for name in names:
        value = getattr(section, name)
        if not low <= value <= high:
            raise ValueError(f"{_section_name(section)}.{name} is {value}, but must lie between {low} and {high}")
