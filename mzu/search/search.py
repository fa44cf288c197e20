"""`search`: MuZero's Monte Carlo Tree Search for a batch of positions (paper, section "Reanalyse"; notebook 03_search).

One set of kernels serves every model. A `CompiledModel` is searched in a single compiled call; around any other model
runs the Python loop of `_search_model`, with one batched model call per simulation.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np

from mzu.config import SearchConfig
from mzu.networks.compiled.forward_pass import CompiledModel
from mzu.networks.model import GaussianPolicy, Model
from mzu.search import batched_kernels as batched
from mzu.search.gumbel import considered_table
from mzu.search.history import History, history_of
from mzu.search.improvement import improve
from mzu.search.improvement.completed_q import gumbel_choice
from mzu.search.improvement.root import root_of
from mzu.search.kernels import ALL_ACTIONS, SAMPLED_CATEGORICAL, SAMPLED_GAUSSIAN, Inputs, Settings
from mzu.search.randomness import draw_gumbels, draw_randomness
from mzu.search.tree import ROOT, Tree, new_tree, root_actions, without_hidden


@dataclass(frozen=True)
class SearchResult:
    """What a search found out about B positions.

    symbol  field     shape             meaning
    pi      policy    [B, K]            the improved policy over the root's candidates, by `search.improvement`
    nu      value     [B]               mean value of the root: the improved value
            actions   [B, K] or [B, K, D]  the actions that the candidates stand for
            visits    [B, K] int32      how often each was taken
            prior     [B, K]            the prior of each, with noise or injection; 0: no candidate
            q         [B, K]            reward + discount * value of each; NaN where it was never evaluated
            injected  [B] int32         the candidate that holds the injected action, -1 where there is none
            tree      Tree              everything else
            advantage [B, K] or None    of each candidate, where the operator has one
            spread    [B] or None       how far the advantages of a root lie apart: what its running scale is made of
            chosen    [B] or None       the candidate that sequential halving ended with
            history   History or None   every simulation, when `record=True`
    """

    policy: np.ndarray
    value: np.ndarray
    actions: np.ndarray
    visits: np.ndarray
    prior: np.ndarray
    q: np.ndarray
    injected: np.ndarray
    tree: Tree
    advantage: np.ndarray | None = None
    spread: np.ndarray | None = None
    chosen: np.ndarray | None = None
    history: History | None = None


def search(
    model: Model,
    observations,
    config: SearchConfig,
    rng: np.random.Generator,
    injected_actions=None,
    inject=None,
    legal_actions=None,
    stored_values=None,
    scale: float | None = None,
    propose_mean: bool = False,
    record: bool = False,
) -> SearchResult:
    """Searches from every observation and returns the improved policy and value.

    observations      [B, ...]          what `model.initial` takes
    injected_actions  [B] or [B, D]     actions that join the root's candidates, or get a share of the prior among them
    inject            [B] bool          the rows in which they do; default all
    legal_actions     [B, A] bool       the actions allowed at the root; default all
    stored_values     [B]               reward + discount * value of what really followed the injected actions, or NaN
    scale                               the running scale of `search.improvement=advantage`
    propose_mean                        the mean of a Gaussian policy is the first of the root's candidates
    record                              keep the history of every simulation

    All random numbers come from `rng`; the same generator state gives the same search.

    >>> config = mzu.SearchConfig(num_simulations=100, discount=0.9, dirichlet_fraction=0.0)
    >>> result = mzu.search(model, [0], config, np.random.default_rng(0))
    >>> result.visits.argmax(axis=1)
    array([1])
    """
    batch = len(observations)
    if batch == 0:
        raise ValueError("observations is empty; a search needs at least one")
    compiled = isinstance(model, CompiledModel)
    if compiled:
        observations = model.padded_observations(observations)
        gaussian, num_actions = model.continuous, model.num_actions
        hidden_shape, hidden_dtype = (model.hidden_size,), np.float32
    else:
        root_hidden, policy, value = model.initial(observations)
        root_hidden, gaussian = np.asarray(root_hidden), isinstance(policy, tuple)
        hidden_shape, hidden_dtype = root_hidden.shape[1:], root_hidden.dtype
        if root_hidden.shape[:1] != (batch,):
            raise ValueError(f"The model's hidden states have shape {root_hidden.shape} for {batch} observations")
        policy, value = _policy_rows(policy, batch), _numbers(value, "value", batch)
        num_actions = policy.shape[1] // 2 if gaussian else policy.shape[1]

    source = candidate_source(gaussian, config)
    sampled = config.num_sampled_actions or num_actions
    legal = _check_legal(legal_actions, batch, num_actions, gaussian)
    inject, action_index, action_vector = _check_injected(injected_actions, inject, batch, num_actions, source)
    stored_values = _check_stored(stored_values, inject)
    # One more place at the root for the injected action, where not every action is a candidate already.
    candidates = sampled + (1 if inject.any() and source != ALL_ACTIONS else 0)
    first = candidates if config.evaluates_first else 0
    nodes = 1 + first + config.simulations
    randomness = draw_randomness(rng, batch, nodes, sampled, source, num_actions, config.dirichlet_alpha)
    if propose_mean and gaussian:
        randomness.normals[:, ROOT, 0] = 0.0
    inputs = Inputs(
        legal=legal,
        all_legal=_all_legal(1, num_actions),
        inject=inject,
        action_index=action_index,
        action_vector=action_vector,
        log_gamma=randomness.log_gamma,
        uniforms=randomness.uniforms,
        slots=np.full(batch, -1, np.int32),
        gumbels=draw_gumbels(rng, batch, candidates, config),
    )
    hidden = np.empty((batch, nodes, *hidden_shape), hidden_dtype)
    tree = _new_tree(hidden, candidates, source, randomness.normals, first)
    settings = make_settings(config, source, sampled, first)
    if compiled:
        bad = batched.search_compiled(model.network, observations, tree, settings, inputs)
    else:
        tree.hidden[:, ROOT] = root_hidden
        bad = _search_model(model, policy, value, tree, settings, inputs)
    if bad[0] >= 0:
        raise ValueError(
            f"The model's output is not finite in row {bad[0]} at {_place(bad[1], first)}; are its weights NaN?"
        )

    root = root_of(tree, config.discount, inputs.slots, stored_values)
    improved = improve(root, config, scale)
    completion = (config.completed_value_scale, config.completed_visit_offset)
    return SearchResult(
        policy=improved.policy,
        value=tree.nodes["value"][:, ROOT].copy(),
        actions=root_actions(tree),
        visits=root.visits,
        prior=root.prior,
        q=root.q,
        injected=root.injected,
        tree=tree,
        advantage=improved.advantage,
        spread=improved.spread,
        chosen=gumbel_choice(root, inputs.gumbels, *completion) if config.selection == "gumbel" else None,
        history=history_of(tree, settings, inputs.gumbels) if record else None,
    )


def _place(node: int, first: int) -> str:
    if node == ROOT:
        return "the root"
    return f"the root's candidate {node - 1}" if node <= first else f"simulation {node - 1 - first}"


def _search_model(model, policy, value, tree, settings, inputs) -> tuple[int, int]:
    """A search through any model: select, evaluate, expand and back up, for all rows at once."""
    batch, simulations = tree.ends.shape
    rows = np.arange(batch)
    parents, candidates = np.zeros(batch, np.int64), np.zeros(batch, np.int64)
    flat = without_hidden(tree)
    bad_row = batched.add_nodes(flat, settings, inputs, ROOT, parents, candidates, np.zeros(batch), policy, value)
    if bad_row >= 0:
        return bad_row, ROOT
    if settings.first:
        bad_row = _evaluate_root(model, tree, settings, inputs)
        if bad_row >= 0:
            return bad_row, 1
    for node in range(1 + settings.first, 1 + settings.first + simulations):
        batched.select_batch(flat, settings, inputs, parents, candidates)
        actions = tree.actions[rows, parents, candidates]
        tree.hidden[:, node], reward, policy, value = model.recurrent(tree.hidden[rows, parents], actions)
        policy = _policy_rows(policy, batch)
        reward, value = _numbers(reward, "reward", batch), _numbers(value, "value", batch)
        bad_row = batched.add_nodes(flat, settings, inputs, node, parents, candidates, reward, policy, value)
        if bad_row >= 0:
            return bad_row, node
    return -1, -1


def _evaluate_root(model, tree, settings, inputs) -> int:
    """The first evaluations of all rows in one call of the model -> a row that is not finite, or -1."""
    batch, count = len(tree.nodes), settings.first
    hidden = np.repeat(tree.hidden[:, ROOT], count, axis=0)
    # A place without a candidate takes the action of one: no model is asked of what nobody proposed.
    exists = tree.edges["prior"][:, ROOT] > 0
    places = np.where(exists, np.arange(count), exists.argmax(axis=1)[:, None])
    actions = tree.actions[np.arange(batch)[:, None], ROOT, places]
    hidden, reward, policy, value = model.recurrent(hidden, actions.reshape(batch * count, *actions.shape[2:]))
    tree.hidden[:, 1 : 1 + count] = np.reshape(hidden, (batch, count, *np.shape(hidden)[1:]))
    tree.hidden[:, 1 : 1 + count][~exists] = 0
    policy = _policy_rows(policy, batch * count).reshape(batch, count, -1)
    reward, value = (_numbers(n, name, batch * count) for n, name in ((reward, "reward"), (value, "value")))
    shape = (batch, count)
    return batched.add_first(
        without_hidden(tree), settings, inputs, reward.reshape(shape), policy, value.reshape(shape)
    )


def sample_actions(result: SearchResult, temperature: float, rng: np.random.Generator) -> np.ndarray:
    """One action per row, drawn with probability proportional to policy^(1 / temperature); 0 takes the largest.

    Where sequential halving chose, its choice is taken: its exploration is the Gumbel noise.
    """
    chosen = result.chosen
    if chosen is None:
        weights = visit_distribution(result.policy, temperature)
        cumulative = np.cumsum(weights, axis=1)
        draws = rng.random((len(weights), 1)) * cumulative[:, -1:]
        chosen = np.argmax(draws < cumulative, axis=1)
    return result.actions[np.arange(len(chosen)), chosen]


def best_actions(result: SearchResult) -> np.ndarray:
    """What the improved policy stands for: its most likely action [B], or its mean [B, D] where actions are continuous.

    The mean is what the policy head learns from it; the single candidate of the highest value is chosen by noise.
    """
    if result.actions.ndim == 2:
        return result.actions[np.arange(len(result.policy)), np.argmax(result.policy, axis=1)]
    return np.einsum("bk,bkd->bd", result.policy, result.actions).astype(np.float32)


def visit_distribution(visits: np.ndarray, temperature: float) -> np.ndarray:
    """visits or shares [B, K] -> visits^(1 / temperature), normalised; temperature 0: all on the first largest."""
    if not temperature >= 0:
        raise ValueError(f"temperature is {temperature}, but must be 0 or more")
    share = visits / visits.max(axis=1, keepdims=True)  # the largest is 1: no power of it can overflow
    if temperature == 0:
        weights = np.zeros(share.shape)
        weights[np.arange(len(share)), share.argmax(axis=1)] = 1.0
    else:
        weights = share ** (1.0 / temperature)
    return weights / weights.sum(axis=1, keepdims=True)


def make_settings(config: SearchConfig, source: int, sampled: int, first: int = 0) -> Settings:
    """The kernels' form of a SearchConfig; `first` is the number of first evaluations."""
    gumbel = config.selection == "gumbel"
    return Settings(
        discount=float(config.discount),
        exploration=_exploration(config.num_simulations + 1, config.puct_base, config.puct_init),
        siblings=config.normaliser == "siblings",
        parent_for_unvisited=config.unvisited_value == "parent",
        candidate_source=source,
        sampled=sampled,
        temperature=float(config.sampling_temperature),
        dirichlet_fraction=float(config.noise_fraction),
        injected_prior=float(config.injected_prior),
        first=first,
        max_depth=config.max_depth,
        gumbel=gumbel,
        considered=_considered(config.gumbel_candidates, config.num_simulations) if gumbel else _NO_TABLE,
        value_scale=float(config.completed_value_scale),
        visit_offset=float(config.completed_visit_offset),
    )


_NO_TABLE = np.zeros((1, 0), np.int32)
_considered = functools.cache(considered_table)


@functools.cache
def _exploration(most_visits: int, base: float, init: float) -> np.ndarray:
    """pUCT's factor sqrt(N) * (log((N + base + 1) / base) + init) for N = 0..most_visits."""
    return np.array([math.sqrt(n) * (math.log((n + base + 1) / base) + init) for n in range(most_visits + 1)])


def _policy_rows(policy, batch: int) -> np.ndarray:
    """The model's policy as one array: logits [B, A], or mean and scale side by side [B, 2 D]."""
    if isinstance(policy, tuple):
        mean, scale = GaussianPolicy(*policy)
        if np.shape(mean) != np.shape(scale):
            raise ValueError(f"The policy's mean has shape {np.shape(mean)}, but its scale {np.shape(scale)}")
        policy = np.concatenate([mean, scale], axis=-1)
    policy = np.ascontiguousarray(policy, float)
    if policy.ndim != 2 or len(policy) != batch or policy.shape[1] == 0:
        raise ValueError(f"The model's policy has shape {policy.shape}, but must be [{batch}, actions]")
    return policy


def _numbers(values, name: str, batch: int) -> np.ndarray:
    values = np.ascontiguousarray(values, float)
    if values.shape != (batch,):
        raise ValueError(f"The model's {name} has shape {values.shape}, but must be [{batch}]")
    return values


def candidate_source(gaussian: bool, config: SearchConfig) -> int:
    """Where the candidates of a search come from: one of the constants of `kernels.py`."""
    if gaussian:
        if config.num_sampled_actions is None:
            raise ValueError("Continuous actions must be sampled; set search.num_sampled_actions (20 in DM Control)")
        return SAMPLED_GAUSSIAN
    return ALL_ACTIONS if config.num_sampled_actions is None else SAMPLED_CATEGORICAL


def _check_legal(legal_actions, batch: int, num_actions: int, gaussian: bool) -> np.ndarray:
    if legal_actions is None:
        return _all_legal(batch, num_actions)
    if gaussian:
        raise ValueError("legal_actions is given, but a continuous action space has no action to mask")
    legal = np.asarray(legal_actions)
    if legal.dtype != bool or legal.shape != (batch, num_actions):
        raise ValueError(f"legal_actions is {legal.dtype} {legal.shape}, but must be bool ({batch}, {num_actions})")
    empty = np.flatnonzero(~legal.any(axis=1))
    if len(empty):
        raise ValueError(f"legal_actions[{empty[0]}] allows no action at all; is that game over?")
    return np.ascontiguousarray(legal)


@functools.lru_cache(maxsize=64)
def _all_legal(batch: int, num_actions: int) -> np.ndarray:
    """Every action of every row; shared by searches, which only read it."""
    return np.ones((batch, num_actions), bool)


def _check_injected(injected_actions, inject, batch: int, num_actions: int, source: int):
    """-> inject [B] bool, and the actions both as numbers [B] and as vectors [B, D]; one of the two is a dummy."""
    index = np.zeros(batch, np.int64)
    vector = np.zeros((batch, num_actions if source == SAMPLED_GAUSSIAN else 0), np.float32)
    if injected_actions is None:
        if inject is not None and np.any(inject):
            raise ValueError("inject is given without injected_actions; pass the actions to inject as well")
        return np.zeros(batch, bool), index, vector
    inject = np.ones(batch, bool) if inject is None else np.asarray(inject)
    if inject.dtype != bool or inject.shape != (batch,):
        raise ValueError(f"inject is {inject.dtype} {inject.shape}, but must be bool ({batch},), one switch per row")
    actions = np.asarray(injected_actions)
    shape = vector.shape if source == SAMPLED_GAUSSIAN else index.shape
    if actions.shape != shape:
        raise ValueError(f"injected_actions has shape {actions.shape}, but must be {shape}")
    low, high = (-1, 1) if source == SAMPLED_GAUSSIAN else (0, num_actions - 1)
    outside = inject & ~((actions >= low) & (actions <= high)).reshape(batch, -1).all(axis=1)
    if outside.any():
        row = np.flatnonzero(outside)[0]
        raise ValueError(f"injected_actions[{row}] is {actions[row]}, outside the actions {low}..{high}")
    if source == SAMPLED_GAUSSIAN:
        vector[:] = np.where(inject[:, None], actions, 0)
    elif np.issubdtype(actions.dtype, np.integer):
        index[:] = np.where(inject, actions, 0)
    else:
        raise ValueError(f"injected_actions is {actions.dtype}, but discrete actions must be whole numbers")
    return inject, index, vector


def _check_stored(stored_values, inject: np.ndarray) -> np.ndarray:
    """stored_values [B] as given; NaN where there is none."""
    if stored_values is None:
        return np.full(len(inject), np.nan)
    stored = np.asarray(stored_values, float)
    if stored.shape != inject.shape:
        raise ValueError(f"stored_values has shape {stored.shape}, but must be {inject.shape}, one for each row")
    if (~inject & ~np.isnan(stored)).any() or np.isinf(stored).any():
        raise ValueError("stored_values must be finite where an action is injected, and NaN elsewhere")
    return stored


def _new_tree(hidden: np.ndarray, candidates: int, source: int, normals: np.ndarray, first: int) -> Tree:
    batch, nodes = hidden.shape[:2]
    index = np.zeros((batch, nodes, candidates) if source == SAMPLED_CATEGORICAL else (batch, 0, 0), np.int32)
    # The standard normals wait in the actions' own places until their node is expanded and they become actions.
    vector = normals
    if normals.shape[2] != candidates:
        vector = np.zeros((batch, nodes, candidates, normals.shape[3]), np.float32)
        vector[:, :, : normals.shape[2]] = normals
    return new_tree(hidden, candidates, index, vector, first)
