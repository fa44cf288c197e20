"""How a trained agent chooses its actions (paper, table "ablations of action selection"; appendix "Evaluation").

policy   the most likely action of the policy head
value    the action with the highest reward + discount * value after one step of the model, or, for a network that was
         trained without unrolling, with the highest output of the action-value head
search   the most likely action of the policy that a search without noise improved

Continuous candidates are the policy's mean and samples of it with scale min(scale, 0.05). The best single one would be
chosen by the noise of its value: the action is their mean, weighted by the improved policy. Notebook 08_unplugged.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from mzu.config import Config, SearchConfig
from mzu.networks.compiled.compile_model import model_for_search
from mzu.networks.network import Network
from mzu.networks.scalars import scalar_from_logits
from mzu.search.improvement import improve
from mzu.search.improvement.root import Root
from mzu.search.search import SearchResult, best_actions, search
from mzu.silent_tensorflow import tf

SELECTIONS = ("policy", "value", "search")

Selection = Callable[..., np.ndarray]


def make_selection(network: Network, config: Config, select: str, scale: float | None = None) -> Selection:
    """A function choose(observations [B, ...], rng, legal=None [B, A]) -> actions [B] or [B, D].

    `scale` is the running scale of a run that improves its policy by advantages.
    """
    if select not in SELECTIONS:
        raise ValueError(f"select is {select!r}, but must be one of {', '.join(SELECTIONS)}")
    settings = _without_noise(network, config)
    model = model_for_search(network, config.evaluation.max_policy_scale)
    if select == "value" and network.action_value is not None:
        return _by_action_values(network)
    if select == "policy":
        return lambda observations, rng, legal=None: policy_modes(model, observations, legal)
    if config.learning.unroll_steps == 0:
        raise ValueError(
            f"Actions cannot be selected by {select}: this run has learning.unroll_steps=0, so its model of "
            "the world was never trained; use policy, or value with network.action_value_head=true"
        )
    if select == "value":
        return lambda observations, rng, legal=None: _by_value(model, observations, rng, legal, settings, scale)
    find = make_search(network, config, scale)
    return lambda observations, rng, legal=None: best_actions(find(observations, rng, legal))


def make_search(network: Network, config: Config, scale: float | None = None) -> Callable[..., SearchResult]:
    """A function find(observations [B, ...], rng, legal=None [B, A], record=False): the search of a trained agent.

    It has no noise, and the policy's mean is among the candidates of continuous actions.
    """
    settings = _without_noise(network, config)
    model = model_for_search(network, config.evaluation.max_policy_scale)

    def find(observations, rng, legal=None, record=False):
        options = {"legal_actions": legal, "scale": scale, "propose_mean": True, "record": record}
        return search(model, observations, settings, rng, **options)

    return find


def _without_noise(network: Network, config: Config) -> SearchConfig:
    settings = dataclasses.replace(config.search, dirichlet_fraction=0.0, gumbel_scale=0.0)
    if network.spaces.continuous and settings.num_sampled_actions is None:
        settings = dataclasses.replace(settings, num_sampled_actions=20)  # Sampled MuZero, DM Control
    return settings


def policy_modes(model, observations, legal=None) -> np.ndarray:
    """The most likely action of every row: the largest logit among the legal ones, or the mean within [-1, 1]."""
    _, policy, _ = model.initial(observations)
    if isinstance(policy, tuple):
        return np.clip(np.asarray(policy[0], np.float32), -1, 1)
    return np.argmax(_masked(policy, legal), axis=1)


def one_step_values(model, observations, candidates, discount: float) -> np.ndarray:
    """Reward + discount * value after each candidate: observations [B, ...], candidates [B, K(, D)] -> [B, K]."""
    hidden, _, _ = model.initial(observations)
    columns = []
    for candidate in range(candidates.shape[1]):
        _, reward, _, value = model.recurrent(hidden, candidates[:, candidate])
        columns.append(reward + discount * value)
    return np.stack(columns, axis=1)


def _by_value(model, observations, rng, legal, settings, scale) -> np.ndarray:
    _, policy, _ = model.initial(observations)
    if isinstance(policy, tuple):
        return _mean_by_value(model, observations, policy, rng, settings, scale)
    candidates = np.broadcast_to(np.arange(policy.shape[1], dtype=np.int32), policy.shape)
    values = _masked(one_step_values(model, observations, candidates, settings.discount), legal)
    return np.argmax(values, axis=1)


def _mean_by_value(model, observations, policy, rng, settings, scale) -> np.ndarray:
    """The mean [B, D] of the candidates, weighted by the advantages of their one-step values."""
    mean, scales = policy
    noise = rng.standard_normal((len(mean), settings.num_sampled_actions, mean.shape[1]))
    noise[:, 0] = 0  # the mean itself is a candidate
    candidates = np.clip(mean[:, None] + scales[:, None] * noise, -1, 1).astype(np.float32)
    values = one_step_values(model, observations, candidates, settings.discount)
    nothing = np.full(len(mean), np.nan)
    root = Root(np.ones_like(values), np.zeros(values.shape, np.int32), values, nothing, nothing, nothing)
    weights = improve(root, dataclasses.replace(settings, improvement="advantage"), scale).policy
    return np.einsum("bk,bkd->bd", weights, candidates).astype(np.float32)


def _by_action_values(network: Network) -> Selection:
    @tf.function(reduce_retracing=True)
    def action_values(observations):
        logits = network.action_value(network.representation(observations))
        return scalar_from_logits(logits, network.config.bins_per_unit)

    def choose(observations, rng, legal=None):
        values = action_values(tf.constant(np.asarray(observations, network.spaces.observation_dtype))).numpy()
        return np.argmax(_masked(values, legal), axis=1)

    return choose


def _masked(scores, legal) -> np.ndarray:
    return np.asarray(scores) if legal is None else np.where(legal, scores, -np.inf)
