"""`mzu bench networks`: a search through the compiled twin against one through `KerasModel`, and the training step.

The training step is timed as a plain TensorFlow graph, compiled by XLA, and compiled with Keras' AdamW instead of ours.
"""

import json

import numba
import numpy as np

from mzu.bench.timing import best_times
from mzu.config import LearningConfig, NetworkConfig, SearchConfig
from mzu.environments.spaces import Spaces
from mzu.learning.losses import unroll, unrolled_losses
from mzu.learning.optimiser import AdamW
from mzu.learning.targets import Targets
from mzu.networks.compiled.compile_model import compile_model, refresh
from mzu.networks.keras_model import KerasModel
from mzu.networks.network import Network, build_network
from mzu.search.search import search
from mzu.silent_tensorflow import keras, tf

SIMULATIONS = 50
SPACES = Spaces(observation_shape=(8,), num_actions=4)
SUPPORT = 10  # 21 categories
SIZES = [(64, 2), (128, 4), (512, 10)]  # width, blocks
BATCHES = [1, 64, 256]
PICTURES = Spaces(observation_shape=(10, 10, 4), num_actions=6)  # as in MinAtar
PICTURE_SIZES = [(16, 1)]
PICTURE_BATCHES = [1, 16, 64]
TRAINING_BATCH, UNROLL_STEPS = 128, 5
LONG = 10**9  # training steps: the learning rate hardly falls
SEARCH_COLUMNS = {
    "observation": "observation",
    "width": "width",
    "blocks": "blocks",
    "batch": "batch",
    "twin_ms": "twin ms",
    "keras_ms": "Keras ms",
    "ratio": "Keras / twin",
    "refresh_ms": "refresh ms",
}
TRAINING_COLUMNS = {
    "width": "width",
    "blocks": "blocks",
    "batch": "batch",
    "plain_ms": "plain ms",
    "jit_ms": "jit_compile ms",
    "ratio": "plain / jit",
    "keras_adamw_ms": "with Keras' AdamW ms",
    "adamw_ratio": "Keras' AdamW / ours",
}


def add_arguments(parser) -> None:
    parser.add_argument("--json", action="store_true", help="print the records instead of tables")
    parser.add_argument("--repetitions", type=int, default=5, help="rounds, of which the best counts (default 5)")


def run(arguments) -> int:
    """Measures every size and prints two tables, searches and training steps, or the records as JSON."""
    if arguments.repetitions < 1:
        raise ValueError(f"--repetitions is {arguments.repetitions}, but must be at least 1")
    quiet, repetitions = arguments.json, arguments.repetitions
    networks = {size: _network(*size) for size in SIZES}
    of_pictures = [_network(*size, PICTURES) for size in PICTURE_SIZES]
    if not quiet:
        print(f"One search of {SIMULATIONS} simulations, best of {repetitions}, {numba.config.NUMBA_NUM_THREADS} cores")
    cases = [(network, batch) for network in networks.values() for batch in BATCHES]
    cases += [(network, batch) for network in of_pictures for batch in PICTURE_BATCHES]
    searches = _table((measure_search(*case, repetitions) for case in cases), SEARCH_COLUMNS, quiet)
    if not quiet:
        print(f"\nOne training step, {UNROLL_STEPS} steps unrolled, best of {repetitions}")
    steps = _table((measure_training(network, repetitions) for network in networks.values()), TRAINING_COLUMNS, quiet)
    if quiet:
        print(json.dumps({"search": searches, "training": steps}, indent=2))
    return 0


def measure_search(network: Network, batch: int, repetitions: int) -> dict:
    """One record: milliseconds per search through either model, and to copy new weights to the twin."""
    rng = np.random.default_rng(0)
    twin, plain = compile_model(network), KerasModel(network)
    observations = rng.normal(size=(batch, *network.spaces.observation_shape)).astype(np.float32)
    config = SearchConfig(num_simulations=SIMULATIONS)
    contestants = {
        "twin": lambda: search(twin, observations, config, rng),
        "keras": lambda: search(plain, observations, config, rng),
        "refresh": lambda: refresh(twin, network),
    }
    times = best_times(contestants, repetitions)
    return {
        "observation": "x".join(map(str, network.spaces.observation_shape)),
        "width": network.config.width,
        "blocks": network.config.num_blocks,
        "batch": batch,
        "simulations": SIMULATIONS,
        "twin_ms": times["twin"],
        "keras_ms": times["keras"],
        "ratio": times["keras"] / times["twin"],
        "refresh_ms": times["refresh"],
    }


def measure_training(network: Network, repetitions: int) -> dict:
    """One record: milliseconds per training step, as a plain TensorFlow graph, compiled, and with Keras' AdamW."""
    rng = np.random.default_rng(0)
    data = random_training_batch(rng, network.spaces, TRAINING_BATCH, UNROLL_STEPS)
    contestants = {}
    for name, jit_compile, optimiser in (
        ("plain", False, our_adamw),
        ("jit", True, our_adamw),
        ("keras", True, keras_adamw),
    ):
        step = make_training_step(network, jit_compile, optimiser=optimiser)
        contestants[name] = lambda step=step: step(*data).numpy()
    times = best_times(contestants, repetitions)
    return {
        "width": network.config.width,
        "blocks": network.config.num_blocks,
        "batch": TRAINING_BATCH,
        "unroll_steps": UNROLL_STEPS,
        "plain_ms": times["plain"],
        "jit_ms": times["jit"],
        "ratio": times["plain"] / times["jit"],
        "keras_adamw_ms": times["keras"],
        "adamw_ratio": times["keras"] / times["jit"],
    }


def our_adamw(variables: list, learning_rate: float):
    """A function that takes gradients and makes one step with the learner's optimiser."""
    return AdamW(variables, learning_rate, weight_decay=0.0, training_steps=LONG).apply


def keras_adamw(variables: list, learning_rate: float):
    """The same step by Keras, with the same schedule."""
    schedule = keras.optimizers.schedules.CosineDecay(learning_rate, LONG)
    optimiser = keras.optimizers.AdamW(schedule, weight_decay=0.0)
    optimiser.build(variables)
    return lambda gradients: optimiser.apply(gradients, variables)


def make_training_step(network: Network, jit_compile: bool, learning_rate: float = 1e-4, optimiser=our_adamw):
    """A step of AdamW on the unrolled loss for given targets: step(*random_training_batch(...)) -> loss."""
    variables = network.trainable_variables
    apply = optimiser(variables, learning_rate)

    @tf.function(jit_compile=jit_compile)
    def step(observations, actions, rewards, values, policy_actions):
        with tf.GradientTape() as tape:
            loss = _loss(network, observations, actions, rewards, values, policy_actions)
        # Without dynamics steps (or action values) some variables have no gradient.
        gradients = tape.gradient(loss, variables, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        apply(gradients)
        return loss

    return step


def random_training_batch(rng: np.random.Generator, spaces: Spaces, batch: int, unroll_steps: int = 5):
    """observations [B, ...], actions [B, U(, D)], rewards [B, U], values [B, U + 1], policy_actions [B, U + 1(, D)]."""

    def actions(steps):
        if spaces.continuous:
            return rng.uniform(-1, 1, (batch, steps, spaces.num_actions)).astype(np.float32)
        return rng.integers(spaces.num_actions, size=(batch, steps)).astype(np.int32)

    shape = (batch, *spaces.observation_shape)
    is_frame = spaces.observation_dtype == "uint8"
    observations = rng.integers(256, size=shape, dtype=np.uint8) if is_frame else rng.normal(size=shape)
    rewards, values = rng.normal(size=(batch, unroll_steps)), rng.normal(size=(batch, unroll_steps + 1))
    arrays = [observations.astype(spaces.observation_dtype), actions(unroll_steps)]
    arrays += [rewards.astype(np.float32), values.astype(np.float32), actions(unroll_steps + 1)]
    return [tf.constant(array) for array in arrays]


def _loss(network: Network, observations, actions, rewards, values, policy_actions):
    """The learner's loss (`mzu/learning/losses.py`), with a target everywhere."""
    config = LearningConfig(unroll_steps=actions.shape[1])
    targets = Targets(
        rewards=rewards,
        reward_mask=tf.ones_like(rewards),
        values=values,
        value_mask=tf.ones_like(values),
        policy_actions=policy_actions[:, :, None],
        policy_weights=tf.ones_like(values)[:, :, None],
        policy_mask=tf.ones_like(values),
    )
    predictions = unroll(network, observations, actions, config.unroll_steps, config.hidden_gradient_scale)
    settings = (config, network.spaces.continuous, network.config)
    return tf.reduce_mean(unrolled_losses(predictions, targets, actions, *settings).total)


def _network(width: int, blocks: int, spaces: Spaces = SPACES) -> Network:
    config = NetworkConfig(width=width, num_blocks=blocks, value_support=SUPPORT, reward_support=SUPPORT)
    network = build_network(config, spaces)
    # Untrained heads are zero: a few steps make the searched trees as uneven as a trained network's.
    step = make_training_step(network, jit_compile=False, learning_rate=1e-3)
    for seed in range(3):
        step(*random_training_batch(np.random.default_rng(seed), spaces, TRAINING_BATCH, UNROLL_STEPS))
    return network


def _table(records, columns: dict[str, str], quiet: bool) -> list[dict]:
    """The records as a list; printed as they come, unless `quiet`."""
    if not quiet:
        print("  ".join(columns.values()))
    kept = []
    for record in records:
        kept.append(record)
        if not quiet:
            cells = (_cell(record[key]).rjust(len(title)) for key, title in columns.items())
            print("  ".join(cells), flush=True)
    return kept


def _cell(value) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
