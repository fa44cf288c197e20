"""Assignment 4: its policy loss, the one answer that is not taken from the library, is the library's."""

import numpy as np
import pytest
from keras import ops

from mzu.classroom.checks.sampled_actions import POLICY_LOSS
from mzu.learning.losses import policy_losses
from mzu.learning.targets import Targets
from mzu.networks.constants import INITIAL_SCALE_LOGIT, MIN_POLICY_SCALE


@pytest.mark.parametrize("hidden", [False, True])
def test_the_policy_loss_is_the_learners(hidden):
    for visits, actions, mean, scale in POLICY_LOSS.inputs(hidden):
        raw = np.log(np.expm1(scale - MIN_POLICY_SCALE)) - INITIAL_SCALE_LOGIT  # the output that stands for this scale
        outputs = ops.convert_to_tensor(np.float32(np.concatenate([mean, raw]))[None, None])
        nothing = np.zeros((1, 1), np.float32)
        targets = Targets(
            rewards=nothing, reward_mask=nothing, values=nothing, value_mask=nothing,
            policy_actions=np.float32(actions)[None, None],
            policy_weights=np.float32(visits / visits.sum())[None, None], policy_mask=nothing + 1,
        )  # fmt: skip
        loss = float(policy_losses(outputs, targets, continuous=True)[0, 0])
        assert loss == pytest.approx(POLICY_LOSS.right(visits, actions, mean, scale), rel=1e-4, abs=1e-4)
