"""Data of an agent that is not MuZero: SAC (Haarnoja et al. 2018) while it learns, from its first random step on.

`record_with_sac.py` makes them again; on another machine the same seed gives other episodes, so that a run on a new
recording is a new measurement. The one for screening says what a setting is worth; the others prove what was
chosen (tutorials/steady_learning.md).
"""

from dataclasses import dataclass

from mzu.config_fields import did_you_mean


@dataclass(frozen=True)
class Recording:
    """How a recording is made, and the mean return of the one that the stored results were measured on."""

    environment: str
    decisions: int
    seed: int
    mean_return: float


RECORDINGS = {
    "swingup": Recording("dm_control:cartpole-swingup?repeat=4", 15_000, 2, 534.815),
    "cheetah": Recording("dm_control:cheetah-run?repeat=4", 25_000, 2, 134.466),
    "walker": Recording("dm_control:walker-walk", 100_000, 2, 383.854),
    "swingup_screening": Recording("dm_control:cartpole-swingup?repeat=4", 15_000, 1, 517.885),
}


def recording(name: str) -> Recording:
    """The recording of this name; one sentence where there is none."""
    if name not in RECORDINGS:
        raise ValueError(f"There is no recording {name!r}; {did_you_mean(name, RECORDINGS)}")
    return RECORDINGS[name]
