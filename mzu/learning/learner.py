"""The learner: a batch, its targets by the target network, and one step down the gradient of the unrolled loss (paper,
appendices "Value Learning" and "Optimization"; notebook 07_training_system).
"""

import math

import numpy as np

from mzu.config import Config
from mzu.learning.losses import Following, consistency_losses, following_of, unroll, unrolled_losses
from mzu.learning.optimiser import AdamW
from mzu.learning.targets import Targets, make_targets
from mzu.networks.compiled.compile_model import model_for_search, refresh
from mzu.networks.network import Network, build_network
from mzu.networks.scalars import scalar_from_logits
from mzu.replay.priorities import position_priority
from mzu.replay.replay import Batch
from mzu.silent_tensorflow import tf

# What `Learner.step` reports, in this order, and what follows where that loss is on; tutorials/metrics.md has the
# formulas.
METRICS = ("loss", "policy_loss", "value_loss", "reward_loss", "value", "value_target", "gradient_norm")
CONSISTENCY = "consistency_loss"


class Learner:
    """Owns the network that is trained, its target network, the optimiser, and the averaged weights where they are on.

    `targets` makes the targets of a batch, `step` learns from them; the two may run side by side. The step is compiled
    by XLA for fixed shapes; `learning.jit_compile=false` runs it as a plain TensorFlow graph, which starts at once but
    runs slower.
    """

    def __init__(self, config: Config, network: Network):
        check_possible(config)
        learning = config.learning
        self.config = config
        self.network = network
        self.target_network = build_network(network.config, network.spaces)
        self.target_network.copy_weights_from(network)
        self._target_model = model_for_search(self.target_network)
        rates = (learning.learning_rate, learning.weight_decay, learning.training_steps)
        self.optimiser = AdamW(network.trainable_variables, *rates, learning.max_gradient_norm)
        self._averaged_network = build_network(network.config, network.spaces) if learning.weight_average > 0 else None
        self.steps = 0
        self._step = tf.function(self._step_tensors, jit_compile=learning.jit_compile)

    @property
    def evaluated_network(self) -> Network:
        """What is evaluated and saved as the run's network: the averaged weights where they are on, else the trained.

        With d = `learning.weight_average` the averaged weights after n steps are the mean over those after steps 1..n,
        where step i counts d^(n - i). Games are searched and targets made without them.
        """
        return self.network if self._averaged_network is None or self.steps == 0 else self._averaged_network

    def targets(self, batch: Batch) -> Targets:
        """The targets of a batch, made with the target network of the moment."""
        return make_targets(batch, self.config, self.target_values)

    def step(self, batch: Batch, targets: Targets) -> tuple[dict[str, float], np.ndarray]:
        """One gradient step -> metrics, and new priorities [B] of the batch's positions."""
        tensors = (batch.observations, batch.actions, batch.weights, batch.search_value[:, 0], targets)
        names = METRICS
        if self.config.learning.consistency_loss_scale > 0:
            tensors += (following_of(batch, self.config.learning.unroll_steps),)
            names += (CONSISTENCY,)
        metrics, priorities = self._step(*tf.nest.map_structure(tf.convert_to_tensor, tensors))
        self.steps += 1
        metrics = dict(zip(names, metrics.numpy().tolist(), strict=True))
        if not np.isfinite(list(metrics.values())).all():
            raise Diverged(self.steps, batch, targets)
        return metrics, priorities.numpy()

    @property
    def is_finite(self) -> bool:
        """Whether all weights and the optimiser's moments are numbers that can be learned from."""
        return all(np.isfinite(variable.numpy()).all() for _, variables in self._variables() for variable in variables)

    def refresh_target(self) -> None:
        """Copies the weights to the target network, when it is time: every `target_network_period` steps."""
        if self.steps % self.config.learning.target_network_period == 0:
            self.target_network.copy_weights_from(self.network)
            refresh(self._target_model, self.target_network)

    def target_values(self, observations: np.ndarray) -> np.ndarray:
        """The target network's values [B, S] of observations [B, S, ...]."""
        batch, positions = observations.shape[:2]
        _, _, values = self._target_model.initial(observations.reshape(batch * positions, *observations.shape[2:]))
        return values.reshape(batch, positions)

    def losses(self, observations, actions, targets: Targets, following: Following | None = None):
        """Predictions and losses of a batch -> (Predictions, Losses)."""
        learning, network = self.config.learning, self.network
        predictions = unroll(network, observations, actions, learning.unroll_steps, learning.hidden_gradient_scale)
        consistency = None if following is None else consistency_losses(network, predictions.hidden, following)
        settings = (learning, network.spaces.continuous, network.config)
        return predictions, unrolled_losses(predictions, targets, actions, *settings, consistency)

    def state(self) -> dict[str, np.ndarray]:
        """Weights of all networks, the optimiser's variables and the number of steps, as arrays."""
        arrays = {"steps": np.array(self.steps)}
        for name, variables in self._variables():
            arrays |= {f"{name}/{number}": variable.numpy() for number, variable in enumerate(variables)}
        return arrays

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Takes over what `state` gave."""
        self.steps = int(state["steps"])
        for name, variables in self._variables():
            for number, variable in enumerate(variables):
                variable.assign(state[f"{name}/{number}"])
        refresh(self._target_model, self.target_network)

    def _variables(self):
        yield "network", self.network.trainable_variables
        yield "target_network", self.target_network.trainable_variables
        yield "optimiser", self.optimiser.variables
        if self._averaged_network is not None:
            yield "averaged_network", self._averaged_network.trainable_variables

    def _step_tensors(self, observations, actions, weights, search_value, targets: Targets, following=None):
        variables = self.network.trainable_variables
        with tf.GradientTape() as tape:
            predictions, losses = self.losses(observations, actions, targets, following)
            # Critical: without the weights the loss would be that of the prioritised positions only.
            loss = tf.reduce_mean(weights * losses.total)
        # Without unrolled steps the dynamics has no gradient; TensorFlow makes zeros for its own variables only.
        sources = [variable.value for variable in variables]
        gradients = tape.gradient(loss, sources, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        gradient_norm = self.optimiser.apply(gradients)
        self._average_weights()
        value = scalar_from_logits(predictions.value[:, 0], self.network.config.bins_per_unit)
        parts = [losses.policy, losses.value, losses.reward, value, targets.values[:, 0]]
        metrics = [loss, *(tf.reduce_mean(part) for part in parts), gradient_norm]
        if losses.consistency is not None:
            metrics.append(tf.reduce_mean(losses.consistency))
        priorities = position_priority(search_value, targets.values[:, 0], value, self.config.learning.td_steps)
        return tf.stack(metrics), priorities

    def _average_weights(self) -> None:
        """average = average + (1 - d) / (1 - d^n) (weight - average) after step n; after step 1 it is the weight."""
        if self._averaged_network is None:
            return
        d = self.config.learning.weight_average
        share = (1.0 - d) / -tf.math.expm1(self.optimiser.steps * math.log(d))  # exact also where d is close to 1
        for average, weight in zip(
            self._averaged_network.trainable_variables, self.network.trainable_variables, strict=True
        ):
            average.assign(average + share * (weight - average))


class Diverged(ValueError):
    """A loss is not finite; carries the learner step and what it learned from."""

    def __init__(self, step: int, batch: Batch, targets: Targets):
        super().__init__(
            f"The loss of learner step {step} is not finite; lower learning.learning_rate, or look at the data with "
            "`mzu data check`"
        )
        self.step, self.batch, self.targets = step, batch, targets


def check_possible(config: Config) -> None:
    """Refuses losses that would have nothing to learn from."""
    learning = config.learning
    if learning.policy_loss == "crr" and learning.td_steps == 0:
        raise ValueError("learning.policy_loss=crr needs values of its own; set learning.td_steps to 1 or more")
    if learning.policy_loss != "reanalyse" and learning.behaviour_loss_scale > 0:
        raise ValueError(
            f"learning.behaviour_loss_scale is {learning.behaviour_loss_scale}, but it adds stored actions to those of "
            f"a search, and learning.policy_loss={learning.policy_loss} learns from stored actions only; set it to 0"
        )
    if learning.unroll_steps == 0 and config.searches:
        raise ValueError(
            "learning.unroll_steps=0 trains no model that could be searched; choose learning.policy_loss="
            "behaviour_cloning or crr with learning.td_steps of 1 or more, or unroll at least 1 step"
        )
    if learning.unroll_steps == 0 and learning.consistency_loss_scale > 0:
        raise ValueError(
            f"learning.consistency_loss_scale is {learning.consistency_loss_scale}, but with learning.unroll_steps=0 "
            "there are no hidden states to compare; unroll at least 1 step, or set it to 0"
        )
