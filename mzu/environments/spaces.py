"""What a network must know of the world it is for: the shape of an observation and the kind of the actions."""

import math
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Spaces:
    """Observations [O] or images [height, width, channels]; A discrete actions, or D continuous ones in [-1, 1].

    field              meaning
    observation_shape  (O,) for states, (height, width, channels) for images
    num_actions        A, or the number of dimensions D
    continuous         whether actions are vectors [D] in [-1, 1] rather than numbers 0..A - 1
    observation_dtype  "uint8" for frames with values 0..255, which the network divides by 255; "float32" is taken as is
    """

    observation_shape: tuple[int, ...]
    num_actions: int
    continuous: bool = False
    observation_dtype: Literal["float32", "uint8"] = "float32"

    def __post_init__(self):
        shape = tuple(int(size) for size in self.observation_shape)
        object.__setattr__(self, "observation_shape", shape)
        if len(shape) not in (1, 3) or math.prod(shape) < 1:
            raise ValueError(
                f"observation_shape is {shape}, but must be (size,) for states or (height, width, channels) for images"
            )
        if self.num_actions < 1:
            raise ValueError(f"num_actions is {self.num_actions}, but there must be at least one action or dimension")
        if self.observation_dtype not in ("float32", "uint8"):
            raise ValueError(f"observation_dtype is {self.observation_dtype!r}, but must be 'float32' or 'uint8'")
        if self.observation_dtype == "uint8" and not self.is_image:
            raise ValueError("Only images may be uint8; turn states into float32 numbers of about the size of 1")

    @property
    def is_image(self) -> bool:
        return len(self.observation_shape) == 3

    @property
    def policy_size(self) -> int:
        """Outputs of the policy head: A logits, or D means and D scales."""
        return 2 * self.num_actions if self.continuous else self.num_actions
