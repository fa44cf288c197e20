"""MuZero Unplugged in one file: learn to balance CartPole from 250 stored episodes, without playing one.

    python tutorials/muzero_unplugged.py        some minutes on two cores, then a table; --help says what can be changed

MuZero learns three functions. The representation turns an observation into a hidden state, the dynamics turns a hidden
state and an action into the next hidden state and a reward, the prediction says a policy and a value of a hidden state.
A tree search through them finds a better policy than the one predicted. "Unplugged" means that nothing new is played:
stored positions are searched again and again with the network of the moment ("reanalyse"), the network learns what the
searches found, and so the next searches are better. What is played at the end only measures.

Paper: Schrittwieser et al. 2021, "Online and Offline Reinforcement Learning by Planning with a Learned Model"; its
sections are named where they are used, "MuZero" is Schrittwieser et al. 2020. Left out: prioritised replay, continuous
actions and their injection, fresh games, CRR. The package mzu has them; tests hold the search, targets and loss equal.

symbol  shape      name              meaning
o       [R, 4]     observations      all episodes one behind the other; an episode of T steps has T + 1 rows
a, u    [R]        actions, rewards  actions[t] was taken in observations[t], and rewards[t] FOLLOWS it
pi      [R, A]     policy            what a search of the row found: visit counts, normalised
z       [R]        value             n-step return, what the value learns
s       [B, H]     hidden            hidden state
        [B, N, A]  child, prior      the edges of B search trees: N nodes with A actions each, node 0 is the root
B batch, A actions, H = WIDTH, N = SIMULATIONS + 1, U = UNROLL_STEPS, n = TD_STEPS, R rows and P positions of the data
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import gymnasium
import keras
import numpy as np
import tensorflow as tf
from keras import layers
from tqdm import tqdm

DATA = Path(__file__).parent.parent / "mzu" / "episodes" / "data" / "cartpole.npz"
ACTIONS = 2
WIDTH, BLOCKS = 128, 2  # appendix "Network Architecture": 512, 10
VALUE_SUPPORT, REWARD_SUPPORT = 20, 5  # categories -20..20 and -5..5 (MuZero: -300..300)
SIMULATIONS = 16  # of a search (MuZero: 50, but this model is trained for 5 steps: deeper trees compare noise)
DISCOUNT = 0.97  # a pole falls within some 30 steps (appendix "Other Hyperparameters": 0.997)
PUCT_BASE, PUCT_INIT = 19652.0, 1.25  # MuZero
NOISE_SHARE, NOISE_ALPHA = 0.25, 0.25  # Dirichlet noise at the root of a reanalysed position (MuZero)
UNROLL_STEPS = 5  # of the model in training (MuZero)
TD_STEPS, TARGET_PERIOD = 5, 100  # n, and steps of learning between two target networks (appendix "Value Learning")
BATCH, LEARNING_RATE, WEIGHT_DECAY = 256, 1e-3, 1e-4  # appendix "Optimization": 1024, 1e-4, 1e-4
REANALYSE_PERIOD, REANALYSE_BATCH = 8, 768  # every 8 steps of learning 768 positions are searched again


# 1. The dataset (section "MuZero Unplugged: Offline RL with Reanalyse")
class Dataset(NamedTuple):
    observations: np.ndarray  # [R, 4]
    actions: np.ndarray  # [R]
    rewards: np.ndarray  # [R], 0 in the last row of an episode: behind an end there is none
    end: np.ndarray  # [R], the last row of the same episode
    terminated: np.ndarray  # [R], whether the episode ends by itself; otherwise a time limit cut it off ("truncated")
    positions: np.ndarray  # [P], the rows in which an action was taken: all but the last ones


def load_dataset(path):
    """Episode k of the file has the arrays k/observations [T + 1, 4], k/actions [T], k/rewards [T], k/terminated."""
    with np.load(path) as file:
        numbers = sorted({name.split("/")[0] for name in file.files})
        observations, actions, rewards, terminated = (
            [file[f"{k}/{name}"] for k in numbers] for name in ("observations", "actions", "rewards", "terminated")
        )
    lengths = np.array([len(episode) for episode in observations])  # T + 1
    end = np.repeat(np.cumsum(lengths) - 1, lengths)
    return Dataset(
        observations=np.concatenate(observations).astype(np.float32),
        actions=np.concatenate([np.append(episode, 0) for episode in actions]).astype(np.int32),
        rewards=np.concatenate([np.append(episode, 0) for episode in rewards]).astype(np.float32),
        end=end,
        terminated=np.repeat(np.array(terminated), lengths),
        positions=np.flatnonzero(np.arange(len(end)) < end),
    )


# 2. Rewards and values are learned as categories -M..M of h(x), which is about the square root of x (MuZero)
def h(x):
    return tf.sign(x) * (tf.sqrt(tf.abs(x) + 1.0) - 1.0) + 0.001 * x


def h_inverse(y):
    t = 2.0 * tf.abs(y) / (1.002 + tf.sqrt(1.002**2 + 0.004 * tf.abs(y)))  # sqrt(|x| + 1) - 1, without cancellation
    return tf.sign(y) * t * (t + 2.0)


def scalar(logits):
    """[..., 2 M + 1] -> [...]: the number that a head stands for, h^-1 of its expected category."""
    support = np.arange(logits.shape[-1], dtype=np.float32) - logits.shape[-1] // 2
    return h_inverse(tf.reduce_sum(tf.nn.softmax(logits) * support, axis=-1))


def scalar_loss(logits, target):
    """Cross-entropy [...] of logits [..., 2 M + 1] to h(target), shared out to the two categories around it."""
    support = np.arange(logits.shape[-1], dtype=np.float32) - logits.shape[-1] // 2
    y = tf.clip_by_value(h(target), support[0], support[-1])
    two_hot = tf.nn.relu(1.0 - tf.abs(y[..., None] - support))
    return tf.nn.softmax_cross_entropy_with_logits(two_hot, logits)


# 3. The networks (appendix "Network Architecture")
def tower(x):
    """Residual blocks: normalise, ReLU, layer, twice, and add the result to the input."""
    for _ in range(BLOCKS):
        inner = x
        for _ in range(2):
            inner = layers.Dense(WIDTH)(layers.ReLU()(layers.LayerNormalization()(inner)))
        x = x + inner
    return layers.ReLU()(layers.LayerNormalization()(x))


def head(x, outputs):
    """Starts as zeros: a fresh network says value 0, reward 0 and a uniform policy, not noise."""
    return layers.Dense(outputs, kernel_initializer="zeros")(x)


class Network:
    """The three functions; `initial` and `recurrent` are what a search asks them."""

    def __init__(self, observations):
        seen, normal = keras.Input((observations.shape[1],)), keras.initializers.RandomNormal(stddev=1.0)
        x = layers.Normalization(mean=observations.mean(axis=0), variance=observations.var(axis=0))(seen)
        # Critical: with biases of 0, Layer Normalisation would make an observation and its double look much alike.
        self.representation = keras.Model(seen, tower(layers.Dense(WIDTH, bias_initializer=normal)(x)))
        hidden, action = keras.Input((WIDTH,)), keras.Input((), dtype="int32")
        # Every action has a vector of its own; added to the hidden state it is heard from the first step on.
        following = tower(hidden + layers.Embedding(ACTIONS, WIDTH, embeddings_initializer=normal)(action))
        self.dynamics = keras.Model([hidden, action], [following, head(following, 2 * REWARD_SUPPORT + 1)])
        self.prediction = keras.Model(hidden, [head(hidden, ACTIONS), head(hidden, 2 * VALUE_SUPPORT + 1)])
        models = (self.representation, self.dynamics, self.prediction)
        self.weights = [weight for model in models for weight in model.trainable_variables]

    @tf.function(reduce_retracing=True)
    def initial(self, observations):
        """Observations [B, 4] -> hidden [B, H], policy logits [B, A], value [B]."""
        hidden = self.representation(observations)
        policy, value = self.prediction(hidden)
        return hidden, policy, scalar(value)

    @tf.function(reduce_retracing=True)
    def recurrent(self, hidden, actions):
        """Hidden [B, H] and actions [B] -> next hidden [B, H], reward [B], policy logits [B, A], value [B]."""
        hidden, reward = self.dynamics([hidden, actions])
        policy, value = self.prediction(hidden)
        return hidden, scalar(reward), policy, scalar(value)


# 4. The search (section "Reanalyse"; in detail in MuZero)
class Tree:
    """B trees that grow side by side: simulation n adds node n to each."""

    def __init__(self, hidden):
        shape = (len(hidden), SIMULATIONS + 1)
        self.visits = np.zeros(shape, int)  # values backed up through a node, its own included
        self.value = np.zeros(shape)  # their mean
        self.reward = np.zeros(shape)  # for the step that leads to a node
        self.parent = np.zeros(shape, int)
        self.child = np.zeros((*shape, ACTIONS), int)  # 0: none yet, since the root is nobody's child
        self.prior = np.zeros((*shape, ACTIONS))
        self.hidden = np.zeros((*shape, *hidden.shape[1:]), hidden.dtype)
        # Smallest and largest reward + discount * value in a tree. Critical: each tree has its own.
        self.low, self.high = np.full(len(hidden), np.inf), np.full(len(hidden), -np.inf)


def search(model, observations, rng=None):
    """B searches -> visits of the root's actions [B, A], and the root's value [B]. An rng brings noise."""
    hidden, logits, value = map(np.asarray, model.initial(observations))
    tree, b = Tree(hidden), np.arange(len(hidden))
    tree.hidden[:, 0], tree.prior[:, 0] = hidden, tf.nn.softmax(logits.astype(float))
    if rng is not None:
        noise = rng.dirichlet(np.full(ACTIONS, NOISE_ALPHA), len(b))
        tree.prior[:, 0] = (1 - NOISE_SHARE) * tree.prior[:, 0] + NOISE_SHARE * noise
    backup(tree, 0, value)  # the root's own value counts: with 0 visits all scores of the first simulation would be 0
    for node in range(1, SIMULATIONS + 1):
        parent, action = select(tree)
        hidden, reward, logits, value = map(np.asarray, model.recurrent(tree.hidden[b, parent], action))
        tree.parent[:, node], tree.child[b, parent, action] = parent, node
        tree.hidden[:, node], tree.reward[:, node] = hidden, reward
        tree.prior[:, node] = tf.nn.softmax(logits.astype(float))
        backup(tree, node, value)
    child = tree.child[:, 0]
    return np.where(child > 0, tree.visits[b[:, None], child], 0), tree.value[:, 0]


def select(tree):
    """From the root, the best action again and again until there is no child yet -> node [B] and action [B]."""
    b = np.arange(len(tree.low))  # the trees in which the walk goes on
    node, action = np.zeros_like(b), np.zeros_like(b, np.int32)
    while len(b):
        action[b] = scores(tree, b, node[b]).argmax(axis=1)
        child = tree.child[b, node[b], action[b]]
        b, child = b[child > 0], child[child > 0]
        node[b] = child
    return node, action


def scores(tree, b, node):
    """pUCT [b, A] of the actions at one node of each tree b: how good an action looked, and how little it was tried."""
    child, low, high = tree.child[b, node], tree.low[b, None], tree.high[b, None]
    q = tree.reward[b[:, None], child] + DISCOUNT * tree.value[b[:, None], child]
    has_range = high > low  # until two different values are known, q stays as it is
    q = (q - np.where(has_range, low, 0.0)) / np.where(has_range, high - low, 1.0)
    tried = np.where(child > 0, tree.visits[b[:, None], child], 0)
    visits = tree.visits[b, node][:, None]
    exploration = np.sqrt(visits) * (np.log((visits + PUCT_BASE + 1) / PUCT_BASE) + PUCT_INIT)
    # An action that was never tried counts as the lowest value in the tree, which is 0.
    return np.where(child > 0, q, 0.0) + tree.prior[b, node] * exploration / (1 + tried)


def backup(tree, leaf, value):
    """The value [B] of the new node goes up to the root, discounted, with the rewards met on the way."""
    b, node, value = np.arange(len(value)), np.full(len(value), leaf), value.astype(float)
    while len(b):
        visits = tree.visits[b, node]
        tree.value[b, node] = (tree.value[b, node] * visits + value) / (visits + 1)
        tree.visits[b, node] += 1
        below = node > 0  # trees whose root is reached are done
        b, node, value = b[below], node[below], value[below]
        q = tree.reward[b, node] + DISCOUNT * tree.value[b, node]
        tree.low[b], tree.high[b] = np.minimum(tree.low[b], q), np.maximum(tree.high[b], q)
        value = tree.reward[b, node] + DISCOUNT * value  # Critical: before going up, the reward belongs to this node
        node = tree.parent[b, node]


# 5. Targets (section "Reanalyse" and appendix "Value Learning")
class Targets(NamedTuple):
    """What the rows are trained towards; the arrays are written anew while the network learns."""

    policy: np.ndarray  # [R, A] pi
    searched: np.ndarray  # [R] whether the row has a policy yet
    value: np.ndarray  # [R] z


def reanalyse(network, data, targets, rng):
    """Searches stored positions with the network of the moment. Critical: actions and rewards stay the stored ones."""
    rows = rng.choice(data.positions, REANALYSE_BATCH)
    visits, _ = search(network, data.observations[rows], rng)
    targets.policy[rows], targets.searched[rows] = visits / visits.sum(axis=1, keepdims=True), True


def n_step_returns(data, values):
    """z [R]: n discounted rewards and the discounted value of where they lead; values [R] of the target network."""
    rows = np.arange(len(data.end))
    reached = np.minimum(rows + TD_STEPS, data.end)
    rewards = sum(DISCOUNT**i * data.rewards[np.minimum(rows + i, data.end)] for i in range(TD_STEPS))
    # Critical: a terminal state has no value, whatever the network says of it; a truncated episode would have gone on.
    bootstrap = np.where(data.terminated & (reached == data.end), 0.0, values[reached])
    return rewards + DISCOUNT ** (reached - rows) * bootstrap


class Batch(NamedTuple):
    observations: np.ndarray  # [B, 4] at t
    actions: np.ndarray  # [B, U] at t + k
    rewards: np.ndarray  # [B, U] after them
    values: np.ndarray  # [B, U + 1] z at t + k
    policy: np.ndarray  # [B, U + 1, A] pi at t + k
    known: np.ndarray  # [B, U + 1] 1 where there is a reward and a value, 0 behind a truncated end
    has_policy: np.ndarray  # [B, U + 1] 1 where there is a policy, 0 behind any end


def make_batch(data, targets, t, rng):
    """Positions t [B] with their targets, and those of the U steps that follow each."""
    rows, end = t[:, None] + np.arange(UNROLL_STEPS + 1), data.end[t][:, None]
    happened, rows = rows < end, np.minimum(rows, end)
    # Behind a terminal end nothing happens whatever is done (an absorbing state): reward 0, value 0, any action.
    known = happened | data.terminated[rows]
    actions = np.where(happened, data.actions[rows], rng.integers(ACTIONS, size=rows.shape))
    numbers = (data.rewards[rows[:, :-1]], targets.value[rows], targets.policy[rows])
    numbers += (known, happened & targets.searched[rows])
    return Batch(data.observations[t], np.int32(actions[:, :-1]), *map(np.float32, numbers))


# 6. The loss (section "Reanalyse", equation 1)
def unrolled_losses(network, batch):
    """The loss of each position [B]: policy and value at t..t + U, the rewards on the way."""
    hidden, losses = network.representation(batch.observations), 0.0
    for k in range(UNROLL_STEPS + 1):
        share = 1.0 if k == 0 else 1.0 / UNROLL_STEPS  # MuZero: all unrolled steps together count as much as step 0
        policy, value = network.prediction(hidden)
        losses += share * batch.has_policy[:, k] * tf.nn.softmax_cross_entropy_with_logits(batch.policy[:, k], policy)
        losses += share * batch.known[:, k] * scalar_loss(value, batch.values[:, k])
        if k < UNROLL_STEPS:
            hidden = 0.5 * hidden + 0.5 * tf.stop_gradient(hidden)  # MuZero: the same number, half the gradient
            hidden, reward = network.dynamics([hidden, batch.actions[:, k]])
            losses += batch.known[:, k] * scalar_loss(reward, batch.rewards[:, k]) / UNROLL_STEPS
    return losses


# 7. The training loop (appendix "Optimization")
def train(data, seed, steps, cloning=False):
    """A trained network: by MuZero Unplugged, or by behaviour cloning, whose policy target is the stored action."""
    keras.utils.set_random_seed(seed)
    rng, network = np.random.default_rng(seed), Network(data.observations)
    schedule = keras.optimizers.schedules.CosineDecay(LEARNING_RATE, steps)
    # Keras multiplies the decay by the learning rate; the paper's is a share of the weights.
    optimiser = keras.optimizers.AdamW(schedule, weight_decay=WEIGHT_DECAY / LEARNING_RATE)
    optimiser.build(network.weights)

    @tf.function
    def learn(batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(unrolled_losses(network, batch))
        optimiser.apply(tape.gradient(loss, network.weights), network.weights)

    targets = Targets(np.eye(ACTIONS)[data.actions], np.full(len(data.end), cloning), np.zeros(len(data.end)))
    for step in tqdm(range(steps), "behaviour cloning" if cloning else "MuZero Unplugged"):
        if step % TARGET_PERIOD == 0:
            # The target network is a copy of the network; what it says of all rows serves until the next copy.
            targets.value[:] = n_step_returns(data, network.initial(data.observations)[2].numpy())
        if not cloning and step % REANALYSE_PERIOD == 0:
            reanalyse(network, data, targets, rng)
        learn(make_batch(data, targets, rng.choice(data.positions, BATCH), rng))
    return network


# 8. Evaluation (appendix "Evaluation")
def evaluate(network, episodes, by_search):
    """The mean return of games that are played side by side, by the most visited or the most likely action."""
    games = [gymnasium.make("CartPole-v1") for _ in range(episodes)]
    observations = np.stack([game.reset(seed=number)[0] for number, game in enumerate(games)])
    total, playing = 0.0, np.ones(episodes, bool)
    while playing.any():
        preference = search(network, observations)[0] if by_search else network.initial(observations)[1].numpy()
        for i in np.flatnonzero(playing):
            observations[i], reward, terminated, truncated, _ = games[i].step(preference[i].argmax())
            total, playing[i] = total + reward, not (terminated or truncated)
    return total / episodes


def main():
    parser = argparse.ArgumentParser(description="MuZero Unplugged on stored CartPole episodes.")
    parser.add_argument("data", nargs="?", default=DATA, help="an .npz file of episodes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=1500, help="learning steps of each method")
    parser.add_argument("--episodes", type=int, default=50, help="played to evaluate each method")
    options = parser.parse_args()
    data = load_dataset(options.data)
    cloned = train(data, options.seed, options.steps, cloning=True)
    network = train(data, options.seed, options.steps)
    print(f"dataset                    {data.rewards.sum() / len(np.unique(data.end)):6.1f}")
    print(f"behaviour cloning, policy  {evaluate(cloned, options.episodes, by_search=False):6.1f}")
    print(f"MuZero Unplugged, policy   {evaluate(network, options.episodes, by_search=False):6.1f}")
    print(f"MuZero Unplugged, search   {evaluate(network, options.episodes, by_search=True):6.1f}")


if __name__ == "__main__":
    main()
