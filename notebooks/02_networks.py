# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 02. Networks
#
# ← [01 Planning with a model](01_planning_with_a_model.ipynb) · [the course](README.md) · [03 Search](03_search.ipynb) →
#
# ![Where this notebook stands in the circle of data: network](pictures/circle_02.svg)
#
# | | |
# |---|---|
# | **You will build** | representation $h$, dynamics $g$ and prediction $f$ in Keras; numbers as distributions; the unrolled loss; a model that is learned from random play |
# | **Lives in** | `mzu/networks/scalars.py`, `mzu/networks/blocks.py`, `mzu/networks/representation.py`, `mzu/networks/dynamics.py`, `mzu/networks/prediction.py`, `mzu/networks/network.py`, `mzu/learning/losses.py`, `mzu/networks/compiled/compile_model.py` |
# | **Takes** | about two minutes to run on two cores; an afternoon to work through |
# | **You need** | notebook 01 (values, the best policy), Keras basics: layers, functional models, a gradient tape |
#
# In notebook 01 the model was a pair of tables that somebody had written down. Here nobody knows the
# tables. There are only observations, actions and rewards, and the model is three networks:
#
# $$s^0 = h(o_t), \qquad r^{k},\, s^{k} = g(s^{k-1}, a_{t+k-1}), \qquad p^k,\, v^k = f(s^k).$$
#
# The *representation* $h$ turns an observation into a hidden state. The *dynamics* $g$ moves the hidden
# state along an action and says what that pays. The *prediction* $f$ reads policy and value off a
# hidden state. Superscripts count imagined steps: after $h$ no further observation is used.
#
# The paper describes the networks in its appendices "Network Architecture" and "Value Learning" and
# their loss in section "Reanalyse". It leaves much to MuZero, the paper before it; we say where.

# %%
import os

FAST = os.environ.get("MZU_FAST") == "1"  # the test suite's short version

from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

from mzu.silent_tensorflow import initializers, keras, layers, ops, tf

tf.config.experimental.enable_op_determinism()  # the same sums in the same order on every run
keras.utils.set_random_seed(0)
plt.style.use("tableau-colorblind10")
plt.rcParams.update({"figure.constrained_layout.use": True})
np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## 1. A mouse, cheese, and weather
#
# A mouse lives on 4 x 4 places. Stepping onto the cheese pays 20; whatever it does there, it is
# carried home. Stepping into one of two ponds costs 5. Walls stop it. Because the world is small, we
# know all there is to know about it: value iteration (notebook 01) gives the best value $v_*$ of every
# place. The networks will not see these tables. We keep them to judge what was learned.

# %%
SIDE, PLACES, ACTIONS = 4, 16, 4
HOME, CHEESE, PONDS = 12, 3, (6, 9)
DISCOUNT = 0.9
MOVES = [(-1, 0), (0, 1), (1, 0), (0, -1)]  # up, right, down, left

NEXT_PLACE = np.zeros((PLACES, ACTIONS), int)
for place in range(PLACES):
    for action, (down, right) in enumerate(MOVES):
        row = np.clip(place // SIDE + down, 0, SIDE - 1)
        column = np.clip(place % SIDE + right, 0, SIDE - 1)
        NEXT_PLACE[place, action] = HOME if place == CHEESE else SIDE * row + column
REWARD = np.where(NEXT_PLACE == CHEESE, 20.0, np.where(np.isin(NEXT_PLACE, PONDS), -5.0, 0.0))

BEST = np.zeros(PLACES)
for _ in range(300):
    BEST = (REWARD + DISCOUNT * BEST[NEXT_PLACE]).max(axis=1)
Q = REWARD + DISCOUNT * BEST[NEXT_PLACE]
is_best = np.isclose(Q, Q.max(axis=1, keepdims=True))
BEST_POLICY = is_best / is_best.sum(axis=1, keepdims=True)  # equally good actions share

assert np.isclose(BEST[HOME], 20 * 0.9**5 / (1 - 0.9**7)), (
    f"the value at home is {BEST[HOME]:.3f}; six steps to the cheese and one back home make "
    "another"
)

# %% jupyter={"source_hidden": true} tags=["hide-input"]
figure, ax = plt.subplots(figsize=(4.6, 4))
image = ax.imshow(BEST.reshape(SIDE, SIDE), cmap="cividis")
names = {HOME: "home", CHEESE: "cheese", **dict.fromkeys(PONDS, "pond")}
for place in range(PLACES):
    colour = "black" if BEST[place] > 28 else "white"
    ax.text(place % SIDE, place // SIDE, f"{place}  {names.get(place, '')}\n{BEST[place]:.1f}",
            ha="center", va="center", color=colour)
ax.set(xticks=[], yticks=[], title="The places, and what they are worth")
figure.colorbar(image, label=r"best value $v_*$ (discounted reward)")
plt.show()

# %% [markdown]
# The mouse sees more than its place: it also sees the *weather*, one of four kinds, drawn anew at
# every step. The weather changes nothing. An observation is 16 numbers for the place and 4 for the
# weather. Remember the weather; it comes back in section 9.
#
# The data are one long random walk. For every step we also need targets for policy and value. In
# MuZero they come from searches and n-step returns (notebooks 03 and 04). Here we take what a perfect
# search would answer: $\pi$ = the best actions, $z = v_*$. The rewards $u$ are those that were met.


# %%
class Walk(NamedTuple):
    """A random walk: places and weather [T + 1], observations [T + 1, 20], actions, rewards [T]."""

    places: np.ndarray
    weather: np.ndarray
    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray


def observe(places, weather):
    return np.concatenate([np.eye(PLACES)[places], np.eye(4)[weather]], -1).astype(np.float32)


def random_walk(steps, seed):
    rng = np.random.default_rng(seed)
    actions, weather = rng.integers(ACTIONS, size=steps), rng.integers(4, size=steps + 1)
    places = [HOME]
    for action in actions:
        places.append(NEXT_PLACE[places[-1], action])
    places = np.array(places)
    return Walk(places, weather, observe(places, weather), actions, REWARD[places[:-1], actions])


data, unseen = random_walk(5000, seed=1), random_walk(2000, seed=2)
print("visits to each place:", np.bincount(data.places, minlength=PLACES))
for reward, count in zip(*np.unique(data.rewards, return_counts=True), strict=True):
    print(f"reward {reward:3.0f} was met {count} times")

# %% [markdown]
# ## 2. A number as a distribution
#
# Rewards and values may be 0.1 or 10,000. A network that outputs a plain number and is trained by
# the squared error has a gradient as large as its error: one big reward shakes everything. MuZero
# does three things instead, and the paper follows it (appendix "Value Learning": "the approach described
# in previous work"; the squashing is that of Pohlen et al. 2018, [arXiv:1805.11593](https://arxiv.org/abs/1805.11593)).
#
# **Squash.** Replace $x$ by
#
# $$h(x) = \operatorname{sign}(x)\big(\sqrt{|x| + 1} - 1\big) + \epsilon x, \qquad \epsilon = 0.001.$$
#
# (A second $h$, sadly; the representation is the other one.) Small numbers are about halved, large
# ones become about their square root. The term $\epsilon x$ keeps the slope from vanishing, so that the
# inverse is well behaved. To invert for $x \ge 0$, put $t = \sqrt{x + 1} - 1$. Then $x = t(t + 2)$ and
# $y = t + \epsilon\, t (t + 2)$, a quadratic equation in $t$:
#
# $$\epsilon t^2 + (1 + 2\epsilon)\, t - y = 0 \quad\Rightarrow\quad
# t = \frac{\sqrt{(1 + 2\epsilon)^2 + 4 \epsilon y} - (1 + 2\epsilon)}{2 \epsilon}.$$

# %%
from mzu.networks import scalars

EPSILON = 0.001


def squash(x):
    return np.sign(x) * (np.sqrt(np.abs(x) + 1) - 1) + EPSILON * x


def unsquash(y):
    linear = 1 + 2 * EPSILON
    t = (np.sqrt(linear**2 + 4 * EPSILON * np.abs(y)) - linear) / (2 * EPSILON)
    return np.sign(y) * t * (t + 2)


numbers = np.concatenate([np.linspace(-50, 50, 101), [1e-3, 1e3, 1e5]])
assert np.allclose(unsquash(squash(numbers)), numbers), "unsquash is not the inverse of squash"
assert np.allclose(scalars.transform(numbers), squash(numbers), rtol=1e-6), (
    "our squash is not the library's transform"
)
assert (
    np.allclose(scalars.inverse_transform(squash(numbers)), unsquash(squash(numbers)), rtol=1e-5)
), "our inverse is not the library's"

# %% [markdown]
# **Two-hot.** The categories are the integers $-M, \dots, M$. The number $y = h(x)$ lies between two of
# them, $\lfloor y \rfloor$ and $\lfloor y \rfloor + 1$. Give them the probabilities
# $1 - (y - \lfloor y \rfloor)$ and $y - \lfloor y \rfloor$: the mean of this distribution is exactly $y$, so
# nothing is lost by rounding. MuZero has $M = 300$, which reaches to 58,706 for $x$. Our mouse needs
# $M = 8$.


# %%
def two_hot(y, support):
    """y [N] -> probabilities [N, 2 M + 1] over -M..M, with mean y."""
    y = np.clip(y, -support, support)
    low = np.floor(y).astype(int)
    share = y - low
    rows = np.arange(len(y))
    target = np.zeros((len(y), 2 * support + 2))  # one column more, for low = M
    target[rows, low + support] = 1 - share
    target[rows, low + support + 1] = share
    return target[:, :-1]


def softmax(logits):
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def scalar_from_logits(logits):
    """Logits [..., 2 M + 1] -> the number they stand for: unsquash the mean category."""
    support = logits.shape[-1] // 2
    return unsquash(softmax(logits) @ np.arange(-support, support + 1))


SUPPORT = 8
values = np.append(BEST, [0.0, -5.0, 20.0, 500.0])  # the last one is beyond the support
targets = two_hot(squash(values), SUPPORT)
assert np.allclose(targets, scalars.two_hot(squash(values), 2 * SUPPORT + 1), atol=1e-6), (
    "our two-hot targets are not the library's: the two neighbours share by their distance"
)
assert np.allclose(scalar_from_logits(np.log(targets[:-1] + 1e-12)), values[:-1], atol=1e-3), (
    "the mean category of a two-hot, unsquashed, should be the number it was made of"
)
print("h(20) =", squash(20.0).round(3), "->", targets[-2][SUPPORT:SUPPORT + 6], "on 0..5")
print("M = 300 reaches to", f"{unsquash(300.0):,.0f}")

# %% [markdown]
# **Cross-entropy.** The network outputs logits, $q = \operatorname{softmax}(\text{logits})$, and is trained
# by $-\sum_i y_i \log q_i$ against the two-hot $y$. Its gradient with respect to the logits is $q - y$: every
# entry lies between $-1$ and $1$, *whatever the reward*. That is the point of the construction.


# %%
def log_softmax(logits):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def cross_entropy(logits, x, support=SUPPORT):
    return -(two_hot(squash(x), support) * log_softmax(logits)).sum(axis=-1)


rng = np.random.default_rng(0)
logits = rng.normal(size=(len(values), 2 * SUPPORT + 1)).astype(np.float32)
variable = tf.Variable(logits)
with tf.GradientTape() as tape:
    library_loss = scalars.scalar_loss(variable, values)
    total = ops.sum(library_loss)
gradient = tape.gradient(total, variable).numpy()
assert np.allclose(cross_entropy(logits, values), library_loss, atol=1e-5), (
    "our cross-entropy is not the library's"
)
assert np.allclose(scalar_from_logits(logits), scalars.scalar_from_logits(logits), atol=1e-4), (
    "our way from logits to a number is not the library's"
)
assert np.allclose(gradient, softmax(logits) - targets, atol=1e-5), (
    "the gradient of the cross-entropy is softmax(logits) - targets"
)

# %% jupyter={"source_hidden": true} tags=["hide-input"]
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.6))
x = np.linspace(-60, 60, 400)
left.plot(x, squash(x), label="h(x)")
left.plot(x, x / 2, "k:", label="x / 2")
left.set(xlabel="x (reward or value)", ylabel="h(x) (categories)", ylim=(-8, 8),
         title="Squashing: about half, then the root")
left.legend()
shown = [(20.0, "", "cheese"), (-5.0, "//", "pond"), (0.0, "..", "nothing")]
for offset, (number, hatch, name) in zip((-0.27, 0, 0.27), shown, strict=True):
    target = two_hot(squash(np.array([number])), SUPPORT)[0]
    middle.bar(np.arange(-SUPPORT, SUPPORT + 1) + offset, target, width=0.27, hatch=hatch,
               edgecolor="white", label=f"{name}: x = {number:.0f}")
middle.set(xlabel="category", ylabel="probability", xlim=(-3, 6), title="Two-hot targets")
middle.legend()
errors = np.geomspace(0.1, 1e4, 50)
zeros = np.zeros((50, 601))
steepest = np.abs(softmax(zeros) - two_hot(squash(errors), 300)).max(axis=1)
right.loglog(errors, 2 * errors, label="squared error")
right.loglog(errors, steepest, "--", label="cross-entropy")
right.set(xlabel="target x, while the network says 0", ylabel="largest entry of the gradient",
          title="One large number shakes nothing")
right.legend()
plt.show()

# %% [markdown]
# ## 3. A residual block
#
# The appendix "Network Architecture" asks for "ResNet v2 style pre-activation residual blocks coupled
# with Layer Normalisation", each with two layers. For states, a layer is fully connected.
#
# *Layer Normalisation* takes one position's features $x_1, \dots, x_n$ and makes their mean 0 and their
# variance 1, then applies a learned gain and offset per feature. It needs no statistics over the
# batch: a position's output does not depend on its neighbours, in training or in a search.
#
# *Residual* means that a block adds to its input instead of replacing it. *Pre-activation* means that norm
# and ReLU come before the layer and never on the sum: from the last block to the first there is a
# path that only adds, along which a gradient arrives undamped, however many blocks there are.
#
# $$\text{block}(x) = x + W_1\,\text{relu}\big(\text{norm}_1(W_0\, \text{relu}(\text{norm}_0(x)) + b_0)\big) + b_1$$
#
# In NumPy, six lines:


# %%
def layer_norm(x, gain, offset):
    mean, variance = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
    return gain * (x - mean) / np.sqrt(variance + 1e-5) + offset


def block_by_hand(x, norm_0, dense_0, norm_1, dense_1):
    """x [B, W] -> [B, W]; norms are (gain, offset), dense layers (kernel, bias)."""
    inner = np.maximum(layer_norm(x, *norm_0), 0) @ dense_0[0] + dense_0[1]
    return x + np.maximum(layer_norm(inner, *norm_1), 0) @ dense_1[0] + dense_1[1]


# %% [markdown]
# And in Keras. The names of the layers are those of the library, so that we can exchange weights.
#
# A *tower* is several blocks and one last norm and ReLU: without it, nothing would ever normalise the sum
# that the blocks build up.


# %%
def norm_relu(x, name):
    return layers.ReLU()(layers.LayerNormalization(epsilon=1e-5, name=f"{name}_norm")(x))


def dense(x, width, name, kernel="lecun_normal", bias="zeros", use_bias=True):
    return layers.Dense(width, kernel_initializer=kernel, bias_initializer=bias,
                        use_bias=use_bias, name=name)(x)


def residual_block(x, name):
    width = x.shape[-1]
    inner = dense(norm_relu(x, f"{name}_0"), width, f"{name}_layer_0")
    inner = dense(norm_relu(inner, f"{name}_1"), width, f"{name}_layer_1")
    return x + inner


def tower(x, blocks):
    for number in range(blocks):
        x = residual_block(x, f"block_{number}")
    return norm_relu(x, "last")


def randomise(model, rng):
    """Random numbers for all weights: with gains of 1 and offsets of 0 a test could miss them."""
    model.set_weights([rng.normal(0.2, 0.4, weight.shape) for weight in model.get_weights()])


entrance = keras.Input((32,))
one_block = keras.Model(entrance, residual_block(entrance, "block_0"))
randomise(one_block, rng)
x = rng.normal(size=(5, 32)).astype(np.float32)
parts = [one_block.get_layer(f"block_0_{part}").get_weights()
         for part in ("0_norm", "layer_0", "1_norm", "layer_1")]
assert np.allclose(block_by_hand(x, *parts), one_block(x), atol=1e-3), (
    "the block by hand is not the library's: norm, relu, layer, twice, and what came in is added"
)

# %% [markdown]
# ## 4. Three networks
#
# **Representation**: a first layer to the width of the network, then a tower. One detail would be silent
# if it were wrong. The first layer's biases start *random*. With biases of 0 an observation and its double
# would look alike after the norm that follows (exercise 3).
#
# A second detail: each of our 20 numbers is 0 most of the time, so together they would hardly be heard
# beside biases of the size 1. Before training we scale the first layer to the data, as if every number had
# mean 0 and variance 1: divide each row of the kernel by the number's standard deviation, and correct
# the bias by what the mean now contributes.


# %%
def build_representation(observation_size, width, blocks):
    observation = keras.Input((observation_size,))
    x = dense(observation, width, "first", bias=initializers.RandomNormal(stddev=1.0))
    return keras.Model(observation, tower(x, blocks), name="representation")


def fit_to_observations(representation, observations):
    """Scales the first layer as if each number of observations [N, O] were standardised."""
    first = representation.get_layer("first")
    kernel, bias = first.get_weights()
    kernel = kernel / observations.std(axis=0)[:, None]
    first.set_weights([kernel, bias - observations.mean(axis=0) @ kernel])


# %% [markdown]
# **Dynamics**: hidden state and action become the next hidden state. The straightforward way is to
# put the action's one-hot vector beside the hidden state and to send both through a layer. The paper does
# not say how the action enters; MuZero has planes beside planes. In small networks this is a poor
# start for two reasons.
#
# * *It forgets.* Seldom does one step change much, but a layer with random weights scrambles the
#   hidden state at once. Better to start from "nothing changes": add what a layer makes of the hidden
#   state **to** the hidden state, and let that layer start at 0.
# * *It is deaf.* One number of 36 inputs is the action. With weights of variance $1/36$ it hardly counts
#   beside the other 35. Better to give the action a layer of its own, with weights of variance 1.
#
# $$x = s + W_s\, s + W_a\, a, \qquad s' = \text{tower}(x), \qquad r = \text{linear}(s').$$
#
# The reward is read off the *new* hidden state, the only place that knows what the action did.


# %%
def head(x, outputs, name):
    """Linear, and 0 at the start: an untrained network says 0 everywhere, with a uniform policy."""
    return dense(x, outputs, name, kernel="zeros")


def build_dynamics(width, blocks, concatenate=False):
    hidden = keras.Input((width,))
    action = keras.Input((), dtype="int32")
    encoded = ops.one_hot(action, ACTIONS)
    if concatenate:  # the straightforward way, to compare with
        x = dense(ops.concatenate([hidden, encoded], -1), width, "first")
    else:
        own_size = initializers.RandomNormal(stddev=1.0)
        of_action = dense(encoded, width, "first_of_action", kernel=own_size, use_bias=False)
        x = hidden + dense(hidden, width, "first", kernel="zeros") + of_action
    x = tower(x, blocks)
    return keras.Model([hidden, action], [x, head(x, 2 * SUPPORT + 1, "reward")], name="dynamics")


def build_prediction(width):
    hidden = keras.Input((width,))
    outputs = [head(hidden, ACTIONS, "policy"), head(hidden, 2 * SUPPORT + 1, "value")]
    return keras.Model(hidden, outputs, name="prediction")


class Networks(NamedTuple):
    representation: keras.Model  # h: observations [B, O] -> hidden [B, W]
    dynamics: keras.Model  # g: hidden [B, W], actions [B] -> hidden [B, W], reward logits [B, bins]
    prediction: keras.Model  # f: hidden [B, W] -> policy logits [B, A], value logits [B, bins]

    def variables(self):
        return [variable for model in self for variable in model.trainable_variables]


WIDTH, BLOCKS = 32, 1


def build(seed, concatenate=False):
    keras.utils.set_random_seed(seed)
    representation = build_representation(20, WIDTH, BLOCKS)
    fit_to_observations(representation, data.observations)
    dynamics = build_dynamics(WIDTH, BLOCKS, concatenate)
    return Networks(representation, dynamics, build_prediction(WIDTH))


networks = build(seed=0)
for model in networks:
    print(f"{model.name:15} {model.count_params():6,} weights")

# %% [markdown]
# The library's function for all three is `build_network`. We give both sides the same random weights,
# layer by layer, and ask for the same numbers.

# %%
from mzu.config import NetworkConfig
from mzu.environments.spaces import Spaces
from mzu.networks import representation as library_representation
from mzu.networks.network import build_network

config = NetworkConfig(width=WIDTH, num_blocks=BLOCKS,
                       value_support=SUPPORT, reward_support=SUPPORT)
library = build_network(config, Spaces(observation_shape=(20,), num_actions=ACTIONS))


def copy_weights(source, target):
    """From one group of three models to another, by the names of the layers."""
    for name in ("representation", "dynamics", "prediction"):
        for layer in getattr(target, name).layers:
            if layer.weights:
                layer.set_weights(getattr(source, name).get_layer(layer.name).get_weights())


for model in library.models:
    randomise(model, rng)
copy_weights(library, networks)

observations, actions = data.observations[:50], ops.convert_to_tensor(data.actions[:50])
hidden = networks.representation(observations)
following, reward = networks.dynamics([hidden, actions])
policy, value = networks.prediction(following)
initial, recurrent = library.initial(observations), library.recurrent(hidden, actions)
assert np.allclose(hidden, initial.hidden, atol=1e-4), "our hidden state is not the library's"
assert np.allclose(following, recurrent.hidden, atol=1e-4), (
    "our dynamics leads to another hidden state than the library's"
)
for ours, theirs in zip((reward, policy, value), recurrent[1:], strict=True):
    assert np.allclose(ours, theirs, atol=1e-3), "the outputs by hand are not the library's"
sizes = [sum(np.size(variable) for variable in net) for net in
         (networks.variables(), library.trainable_variables)]
assert sizes[0] == sizes[1], (
    f"{sizes[0]} weights in ours, {sizes[1]} in the library's: something was left out of the "
    "comparison"
)
print(f"{sizes[0]:,} weights, the same outputs")

fit_to_observations(networks.representation, data.observations)
library_representation.fit_to_observations(library.representation, data.observations)
for ours, theirs in zip(networks.representation.get_weights(), library.representation.get_weights(),
                        strict=True):
    assert np.allclose(ours, theirs, rtol=1e-4, atol=1e-5), (
        "fitted to the observations, our first layer is not the library's"
    )

# %% [markdown]
# Does the action's own layer do what it promised? Take fresh networks and ask how much the next hidden
# state depends on the action. Over all 16 places and 4 actions, split the variance of $s'$: one part
# lies between actions (at the same place), the rest between places.


# %%
def share_of_action(networks):
    places, actions = np.repeat(np.arange(PLACES), ACTIONS), np.tile(np.arange(ACTIONS), PLACES)
    hidden = networks.representation(observe(places, np.zeros_like(places)))
    after, _ = networks.dynamics([hidden, ops.convert_to_tensor(actions)])
    after = after.numpy().reshape(PLACES, ACTIONS, -1)
    return after.var(axis=1).mean() / after.var(axis=(0, 1)).mean()


shares = {way: np.mean([share_of_action(build(seed, way == "beside the hidden state"))
                        for seed in range(2 if FAST else 5)])
          for way in ("beside the hidden state", "with weights of its own")}
for way, share in shares.items():
    print(f"action {way}: {share:.0%} of the variance of the next hidden state")
assert shares["with weights of its own"] > 2 * shares["beside the hidden state"], (
    "an action with weights of its own should move the hidden state more than twice as much"
)

# %% [markdown]
# Section 8 shows whether this helps to learn.
#
# ## 5. Unrolling
#
# How can one train $g$ without knowing what the hidden state should be? Only through what can be checked:
# the rewards, values and policies further along. Start from $o_t$, apply $h$ once, then $g$ along the
# **stored** actions $a_t, a_{t+1}, \dots, a_{t+U-1}$, and ask at every step for $r$, $v$, $p$. (The paper's
# loss calls the number of steps $K$; we use $U$, since $K$ will count candidate actions.)
#
# The hidden state $s^0$ is used by all $U + 1$ steps, so $h$ receives the gradients of all of them. MuZero
# **halves the gradient at every dynamics step**: what comes from step $k$ arrives with the factor
# $2^{-k}$, and the representation serves near predictions first. Halving the gradient without changing
# the number takes one line: $\tfrac12 x + \text{stop}(\tfrac12 x)$ is $x$, but only half of it has a
# derivative.


# %%
def scale_gradient(x, scale):
    return scale * x + ops.stop_gradient((1 - scale) * x)


class Predictions(NamedTuple):
    policy: object  # [B, U + 1, A] logits
    value: object  # [B, U + 1, bins] logits
    reward: object  # [B, U, bins] logits; None for U = 0


def unroll(networks, observations, actions, gradient_scale=0.5):
    """Observations [B, O] at t, stored actions [B, U] from t on -> Predictions at t..t + U."""
    hidden = networks.representation(observations)
    outputs, rewards = [networks.prediction(hidden)], []
    for step in range(actions.shape[1]):
        hidden = scale_gradient(hidden, gradient_scale)
        hidden, reward = networks.dynamics([hidden, actions[:, step]])
        outputs.append(networks.prediction(hidden))
        rewards.append(reward)
    policy, value = (ops.stack(list(part), axis=1) for part in zip(*outputs, strict=True))
    return Predictions(policy, value, ops.stack(rewards, axis=1) if rewards else None)


# %% [markdown]
# To see the halving, take the value loss of step $k$ alone and measure the gradient that arrives at the
# first layer of $h$: with the factor $1/2$ it must be exactly $2^{-k}$ of what it is without.

# %%
from mzu.learning import losses


def batch_of(walk, starts, steps):
    """Observations [B, O] at the starts; then actions and rewards [B, U], places [B, U + 1]."""
    index = starts[:, None] + np.arange(steps + 1)
    observations, actions = walk.observations[starts], walk.actions[index[:, :-1]]
    return (ops.convert_to_tensor(observations), ops.convert_to_tensor(actions),
            walk.rewards[index[:, :-1]], walk.places[index])


def gradients_by_step(gradient_scale, batch):
    """For each k: the length of the gradient that its value loss sends to the first layer of h."""
    observations, actions, _, places = batch
    kernel = networks.representation.get_layer("first").kernel
    with tf.GradientTape(persistent=True) as tape:
        predictions = unroll(networks, observations, actions, gradient_scale)
        losses_by_step = [ops.mean(scalars.scalar_loss(predictions.value[:, k], BEST[places[:, k]]))
                          for k in range(places.shape[1])]
    return np.array([np.linalg.norm(tape.gradient(loss, kernel)) for loss in losses_by_step])


batch = batch_of(data, rng.integers(4000, size=64), steps=5)
full, halved = gradients_by_step(1.0, batch), gradients_by_step(0.5, batch)
assert np.allclose(halved / full, 0.5 ** np.arange(6), rtol=1e-3), (
    "halving should leave 1/2, 1/4, ... of the gradient after one, two, ... steps"
)

ours = unroll(networks, batch[0], batch[1])
theirs = losses.unroll(library, batch[0], batch[1], unroll_steps=5, gradient_scale=0.5)
for name in ("policy", "value", "reward"):
    assert np.allclose(getattr(ours, name), getattr(theirs, name), atol=1e-3), (
        f"{name} by hand and by the library differ"
    )

figure, ax = plt.subplots(figsize=(6.5, 3.6))
ax.semilogy(full / full[0], "o-", label="gradient as it is")
ax.semilogy(halved / full[0], "s--", label="halved at every dynamics step")
ax.set(xlabel="unrolled step k whose value loss is taken", ylabel="length, relative to k = 0",
       title="Gradient at the first layer of h (random weights)")
ax.legend()
plt.show()

# %% [markdown]
# ## 6. The loss
#
# The paper's equation (section "Reanalyse"):
#
# $$l_t(\theta) = \sum_{k=0}^{U} l^p(\pi_{t+k}, p^k) + \sum_{k=0}^{U} l^v(z_{t+k}, v^k)
# + \sum_{k=1}^{U} l^r(u_{t+k}, r^k).$$
#
# All three are cross-entropies: $l^p = -\sum_a \pi(a) \log p(a)$; $l^v$ and $l^r$ are those of section 2. The
# reward $u_{t+k}$ is the one that follows the action at $t + k - 1$; there is none at $k = 0$. As in MuZero,
# step 0 has weight 1 and the $U$ others share a weight of 1: $1/U$ each, so that a longer unroll does
# not outweigh the present.


# %%
class Targets(NamedTuple):
    policy: object  # pi [B, U + 1, A]
    value: object  # z [B, U + 1]
    reward: object  # u [B, U]


def perfect_targets(places, rewards):
    """Places [B, U + 1] and rewards [B, U] -> what a perfect search would answer."""
    arrays = BEST_POLICY[places], BEST[places], rewards
    return Targets(*(ops.convert_to_tensor(array, "float32") for array in arrays))


def step_losses(predictions, targets):
    """The loss of each head at each step: l^p and l^v [B, U + 1], l^r [B, U] (None for U = 0)."""
    policy = -ops.sum(targets.policy * ops.log_softmax(predictions.policy), axis=-1)
    value = scalars.scalar_loss(predictions.value, targets.value)
    reward = None
    if predictions.reward is not None:
        reward = scalars.scalar_loss(predictions.reward, targets.reward)
    return policy, value, reward


def muzero_loss(predictions, targets):
    """The loss of each position [B]."""
    policy, value, reward = step_losses(predictions, targets)
    total = policy[:, 0] + value[:, 0]
    if reward is not None:
        total += ops.mean(policy[:, 1:], axis=1) + ops.mean(value[:, 1:], axis=1)
        total += ops.mean(reward, axis=1)
    return total


# %% [markdown]
# We compare with `unrolled_losses`: the loss of every position, and the gradient of every weight. The
# library's targets also have masks, because episodes end; here nothing ends and all masks are 1.

# %%
from mzu.config import LearningConfig
from mzu.learning.targets import Targets as LibraryTargets

observations, actions, rewards, places = batch
targets = perfect_targets(places, rewards)
library_targets = LibraryTargets(
    rewards=targets.reward, reward_mask=np.ones((64, 5), np.float32),
    values=targets.value, value_mask=np.ones((64, 6), np.float32),
    policy_actions=np.zeros((64, 6, 0), np.int32),  # none listed: all actions, in their order
    policy_weights=targets.policy, policy_mask=np.ones((64, 6), np.float32),
)
with tf.GradientTape() as tape:
    our_loss = muzero_loss(unroll(networks, observations, actions), targets)
    mean = ops.mean(our_loss)
our_gradients = tape.gradient(mean, networks.variables())
with tf.GradientTape() as tape:
    predictions = losses.unroll(library, observations, actions, unroll_steps=5, gradient_scale=0.5)
    their_loss = losses.unrolled_losses(predictions, library_targets, actions,
                                        LearningConfig(unroll_steps=5), continuous=False).total
    mean = ops.mean(their_loss)
their_gradients = tape.gradient(mean, library.trainable_variables)
assert np.allclose(our_loss, their_loss, rtol=1e-4), (
    f"our mean loss is {np.mean(our_loss):.4f}, the library's {np.mean(their_loss):.4f}"
)


def by_name(variables, gradients):
    return {variable.path: gradient.numpy() for variable, gradient in
            zip(variables, gradients, strict=True)}


for our_model, their_model in zip(networks, library.models, strict=True):
    count = len(our_model.trainable_variables)
    ours = by_name(our_model.trainable_variables, our_gradients[:count])
    theirs = by_name(their_model.trainable_variables, their_gradients[:count])
    our_gradients, their_gradients = our_gradients[count:], their_gradients[count:]
    assert ours.keys() == theirs.keys(), "our gradients are of other variables than the library's"
    assert all(np.allclose(ours[name], theirs[name], rtol=1e-3, atol=1e-4) for name in ours), (
        "a gradient by hand is not the library's: which step of the loss does not arrive?"
    )
print(f"mean loss {np.mean(our_loss):.2f} here, {np.mean(their_loss):.2f} in the library")

# %% [markdown]
# ## 7. Training
#
# One step: draw positions, unroll, take the gradient, let Adam use it. We train four models on the same
# data with the same number of steps:
#
# * $U = 5$, as in the paper;
# * $U = 1$ and $U = 0$: the paper's ablation table has the same three columns;
# * $U = 5$ with the action put beside the hidden state.

# %%
STEPS, BATCH = (40, 64) if FAST else (800, 128)


def train(networks, unroll_steps, seed=0):
    """Trains in place; returns the losses of policy, value and reward of every step [STEPS, 3]."""
    optimiser = keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(0.003, STEPS))
    variables = networks.variables()
    if unroll_steps == 0:  # the dynamics is never used and keeps its first weights
        variables = [*networks.representation.trainable_variables,
                     *networks.prediction.trainable_variables]
    optimiser.build(variables)  # otherwise TensorFlow traces the first step twice

    @tf.function
    def update(observations, actions, targets):
        with tf.GradientTape() as tape:
            predictions = unroll(networks, observations, actions)
            loss = ops.mean(muzero_loss(predictions, targets))
        gradients = tape.gradient(loss, variables)
        optimiser.apply_gradients(zip(gradients, variables, strict=True))
        policy, value, reward = step_losses(predictions, targets)
        return ops.mean(policy), ops.mean(value), 0.0 if reward is None else ops.mean(reward)

    rng = np.random.default_rng(seed)
    history = []
    for _ in range(STEPS):
        starts = rng.integers(len(data.actions) - unroll_steps, size=BATCH)
        observations, actions, rewards, places = batch_of(data, starts, unroll_steps)
        found = update(observations, actions, perfect_targets(places, rewards))
        history.append([float(part) for part in found])
    return np.array(history)


kinds = {"U = 5": (5, False), "U = 1": (1, False), "U = 0": (0, False),
         "U = 5, action beside the hidden state": (5, True)}
untrained = build(seed=0)
trained, histories = {}, {}
for name, (unroll_steps, concatenate) in kinds.items():
    trained[name] = build(seed=0, concatenate=concatenate)
    histories[name] = train(trained[name], unroll_steps)
    last = histories[name][-20:].mean(axis=0)
    print(f"{name:38} last losses: policy {last[0]:.3f}, value {last[1]:.3f}, reward {last[2]:.3f}")

# %% [markdown]
# No loss can reach 0. A cross-entropy is at least the entropy of its target: of the two-hot distribution,
# and of a policy that shares between equally good actions. We know the targets, so we know the floors.

# %%
def entropy(probabilities):
    return -(probabilities * np.log(np.maximum(probabilities, 1e-12))).sum(axis=-1).mean()


floors = [entropy(BEST_POLICY[data.places]), entropy(two_hot(squash(BEST[data.places]), SUPPORT)),
          entropy(two_hot(squash(data.rewards), SUPPORT))]
STYLES = {"U = 5": "C0-", "U = 1": "C1--", "U = 0": "C2-.",
          "U = 5, action beside the hidden state": "C3:"}
figure, axes = plt.subplots(1, 3, figsize=(13, 3.6))
window = 10
for part, (ax, name) in enumerate(zip(axes, ("policy", "value", "reward"), strict=True)):
    for kind, style in STYLES.items():
        if name == "reward" and kind == "U = 0":
            continue
        smooth = histories[kind][:, part].reshape(-1, window).mean(axis=1)
        ax.plot(window * (np.arange(len(smooth)) + 0.5), smooth, style, label=kind)
    ax.axhline(floors[part], color="black", linewidth=0.8, label="entropy of the targets")
    ax.set(xlabel="training steps", ylabel="cross-entropy (nats)", title=f"Loss of the {name}")
axes[1].legend(fontsize=8)
plt.show()

# %% [markdown]
# All losses come down to their floors. The first few dozen steps hardly use the action: the heads start
# at 0 and send no gradient further down, and then the model learns what happens on average. How soon it
# leaves that plateau depends on the action: with weights of its own it is heard earlier. In this
# small world both ways arrive in the end; in larger ones the plateau is longer.
#
# ## 8. k steps ahead
#
# Now the question that matters for a search: start at an observation, follow $k$ actions *in imagination
# only*, and compare the predicted reward and value with the truth. The walk is a new one, and we go
# further than any model was trained to: ten steps.

# %%
DEPTH = 10


def errors_by_depth(networks, walk=unseen, positions=500):
    """Mean absolute errors: of the value at k = 0..10 [11] and of the reward at k = 1..10 [10]."""
    starts = np.random.default_rng(0).integers(len(walk.actions) - DEPTH, size=positions)
    observations, actions, rewards, places = batch_of(walk, starts, DEPTH)
    predictions = unroll(networks, observations, actions)
    value = scalar_from_logits(predictions.value.numpy())
    reward = scalar_from_logits(predictions.reward.numpy())
    return np.abs(value - BEST[places]).mean(axis=0), np.abs(reward - rewards).mean(axis=0)


errors = {"untrained": errors_by_depth(untrained)}
errors.update({name: errors_by_depth(each) for name, each in trained.items()})
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4))
for marker, (name, (value, reward)) in zip("xosv^", errors.items(), strict=True):
    style = STYLES.get(name, "k:") + marker
    left.semilogy(range(DEPTH + 1), value, style, label=name)
    right.semilogy(range(1, DEPTH + 1), reward, style, label=name)
for ax, what in ((left, "value"), (right, "reward")):
    ax.axvspan(5, DEPTH, color="black", alpha=0.06)
    ax.set(xlabel="steps ahead k (grey: further than trained)",
           ylabel=f"mean absolute error of the {what}", xticks=range(DEPTH + 1),
           title=f"Predicting the {what} k steps ahead")
left.legend(fontsize=8)
plt.show()
print(f"{'mean absolute errors':38} {'value at k = 0, 1, 5, 10':30} reward at k = 1, 5, 10")
for name, (value, reward) in errors.items():
    print(f"{name:38} {value[[0, 1, 5, 10]]!s:30} {reward[[0, 4, 9]]}")

# %% [markdown]
# * **$U = 0$** learns the present: its value at $k = 0$ is good. Its dynamics was never trained, and one step
#   ahead it knows nothing. A search with this model would be worthless; in the paper's table this column
#   has no entry for MCTS.
# * **$U = 1$** is right for the one step that it was trained for, even better than $U = 5$ there, and lost at
#   the second: $g$ was never applied to its own output. The errors are those of a model that does not
#   know where the mouse is.
# * **$U = 5$** stays close to the truth for the five steps, and then gets worse only slowly: five steps were
#   enough to make $g$ consistent with itself. Its value is off by 2 % at $k = 5$ and 3 % at $k = 10$.
# * How the action enters makes no difference once the losses are at their floors.

# %%
if not FAST:
    value, reward = errors["U = 5"]
    assert value[:6].max() < 0.1 * errors["untrained"][0].min() and reward[:5].max() < 0.1, (
        "U = 5 should have a tenth of the untrained model's error, five steps ahead"
    )
    for shorter in ("U = 0", "U = 1"):
        assert errors[shorter][0][2:].min() > 3 * value.max(), (
            f"{shorter}: two steps away the values should be far worse than with U = 5"
        )
        assert errors[shorter][1][1:].min() > 3 * reward.max(), (
            f"{shorter}: after the first step the rewards should be far worse than with U = 5"
        )
    assert value[5] < 0.03 * BEST.mean() and value[10] < 0.04 * BEST.mean(), (
        f"the value five steps away is off by {value[5]:.2f}: more than the unrolled training "
        "allows"
    )
    assert errors["U = 1"][0][1] < value[1] and errors["U = 1"][1][0] < 0.1, (
        "U = 1 should beat U = 5 in the one step that it was trained for"
    )
    early = {name: history[100:200, 2].mean() for name, history in histories.items()}
    assert early["U = 5"] < early["U = 5, action beside the hidden state"], (
        "the action with weights of its own should be learned earlier"
    )

# %% [markdown]
# ## 9. What the model keeps, and what it need not
#
# Nothing in the loss says what a hidden state should look like, or that the observation could be
# reconstructed from it. It must serve policy, value and reward, now and along the actions, and that
# is all. So the model must keep the *place*. It need not keep the *weather*.
#
# Take the hidden states of all 16 places in all 4 kinds of weather, and look at the plane in which they
# vary most. (Principal components: subtract the mean, take the singular value decomposition, keep the
# first two directions.)

# %%
all_places, all_weather = np.repeat(np.arange(PLACES), 4), np.tile(np.arange(4), PLACES)


def hidden_of_all(networks):
    """The hidden states of all places in every weather [64, W]."""
    return networks.representation(observe(all_places, all_weather)).numpy()


def main_plane(points):
    """points [N, W] -> their mean [W] and the two directions [2, W] of the largest variance."""
    mean = points.mean(axis=0)
    return mean, np.linalg.svd(points - mean, full_matrices=False)[2][:2]


def imagine(networks, steps, positions=600):
    """Hidden states [N, W] after some steps of the dynamics, and the true places [N] they mean."""
    starts = np.random.default_rng(0).integers(len(unseen.actions) - steps, size=positions)
    observations, actions, _, places = batch_of(unseen, starts, steps)
    hidden = networks.representation(observations)
    for step in range(steps):
        hidden, _ = networks.dynamics([hidden, actions[:, step]])
    return hidden.numpy(), places[:, steps]


model = trained["U = 5"]
figure, axes = plt.subplots(1, 3, figsize=(14.5, 4.8))
titles = ("s = h(o), untrained", "s = h(o), trained", "crosses: g three times; numbers: h(o)")
for ax, each, title in zip(axes, (untrained, model, model), titles, strict=True):
    points = hidden_of_all(each)
    mean, plane = main_plane(points)
    flat = (points - mean) @ plane.T
    imagined = ax is axes[2]
    if imagined:
        hidden, places = imagine(each, steps=3)
        crosses = (hidden - mean) @ plane.T
        dots = ax.scatter(*crosses.T, c=BEST[places], cmap="cividis", marker="x", s=12)
    else:
        for weather, marker in enumerate("os^D"):
            chosen = all_weather == weather
            ax.scatter(*flat[chosen].T, c=BEST[all_places[chosen]], cmap="cividis", marker=marker,
                       alpha=0.8, label=f"weather {weather}")
    for place in range(PLACES):
        ax.annotate(str(place), flat[all_places == place].mean(axis=0), textcoords="offset points",
                    xytext=(0, 0) if imagined else (5, 5))
    ax.set(xlabel="first principal component", ylabel="second principal component", title=title)
axes[2].set(xlim=axes[1].get_xlim(), ylim=axes[1].get_ylim())
axes[0].legend(fontsize=8)
figure.colorbar(dots, label=r"best value $v_*$ of the true place")
plt.show()

# %% [markdown]
# **Left:** without training, every weather is somewhere else. **Middle:** with training, the four kinds of
# weather fall onto one point. And the points are roughly in order: high values at one end, low ones at the other.
# Places 0, 10 and 5, 15 are all worth 31.1, but at 0 and 10 the best action is *right*, at 5 and 15 it is *up*:
# the first two are neighbours and the last two are. What counts for the decision is what is far apart.
#
# **Right:** the crosses are states after three steps of $g$. They are ordered in the same way, but they do
# **not** lie on the points of $h$. Nothing asks them to: $g(h(o_t), a_t)$ need not equal $h(o_{t+1})$, if
# only the predictions agree.
#
# Three numbers say the same without a projection.


# %%
def share_of_weather(networks):
    """The share of the variance of h(o) that lies between kinds of weather at the same place."""
    points = hidden_of_all(networks).reshape(PLACES, 4, -1)
    return points.var(axis=1).mean() / points.var(axis=(0, 1)).mean()


def nearest_place(networks, hidden):
    """For each hidden state the place whose representation is nearest."""
    points = hidden_of_all(networks).reshape(PLACES, 4, -1).mean(axis=1)
    return ((hidden[:, None] - points) ** 2).sum(axis=-1).argmin(axis=1)


def linear_reading(hidden, places):
    """How often a linear map, fitted on half of the states, names the place in the other half."""
    inputs, half = np.c_[hidden, np.ones(len(hidden))], len(hidden) // 2
    fitted = np.linalg.lstsq(inputs[:half], np.eye(PLACES)[places[:half]], rcond=None)[0]
    return ((inputs[half:] @ fitted).argmax(axis=1) == places[half:]).mean()


for name, each in (("untrained", untrained), ("trained", model)):
    hidden, places = imagine(each, steps=3)
    nearest = (nearest_place(each, hidden) == places).mean()
    print(f"{name}:")
    print(f"  weather makes {share_of_weather(each):.1%} of the variance of h(o)")
    print(f"  after 3 steps of g, the nearest h(o) is that of the right place in {nearest:.0%},")
    print(f"  and a linear map names the right place in {linear_reading(hidden, places):.0%}")
if not FAST:
    assert share_of_weather(model) < 0.03 and share_of_weather(untrained) > 0.15, (
        "the weather has no part in values and rewards; a trained hidden state should forget it"
    )
    assert nearest < 0.7 and linear_reading(hidden, places) > 0.85, (
        "an imagined state should lie beside h(o), and yet tell the place by a linear map"
    )
    points = hidden_of_all(model).reshape(PLACES, 4, -1).mean(axis=1)
    distance = np.linalg.norm(points[:, None] - points, axis=-1)
    assert distance[0, 10] < min(distance[0, 5], distance[0, 15]), (
        "of places of equal value, 0 and 10 should lie together: the best action is right"
    )
    assert distance[5, 15] < min(distance[5, 0], distance[5, 10]), (
        "of places of equal value, 5 and 15 should lie together: the best action is up"
    )
    print("distances in all 32 dimensions: 0 to 10, 5, 15:", distance[0, [10, 5, 15]])
    print("                                5 to 15, 0, 10:", distance[5, [15, 0, 10]])

# %% [markdown]
# A model that predicts pictures would have to spend its strength on the weather, and could never get it right.
# MuZero's model predicts only what planning uses. The price: where rewards and values say nothing,
# it learns nothing. And what it leaves out is not erased by design, it is just not asked for.
#
# ## 10. The compiled twin
#
# A search with 50 simulations asks for $g$ and $f$ fifty times, one after the other, because each simulation
# depends on the one before. The network is small; what takes the time is going from compiled search
# code to Python, to TensorFlow and back. So `compile_model` makes a twin of a fully-connected network: the
# same weights as plain arrays, evaluated *inside* the compiled search. Keras stays the source of
# truth: it is trained, the twin is refreshed. Do they agree?

# %%
from mzu.networks.compiled.compile_model import compile_model
from mzu.networks.keras_model import KerasModel

copy_weights(model, library)
twin = compile_model(library)
plain = KerasModel(library, jit_compile=not FAST)  # XLA: faster after some seconds of compiling

observations, actions = unseen.observations[:100], unseen.actions[:100]
twin_hidden, twin_policy, twin_value = twin.initial(observations)
hidden = model.representation(observations)
policy, value = model.prediction(hidden)
assert np.allclose(twin_hidden, hidden, atol=1e-4), (
    "the compiled twin's hidden states are not those of Keras"
)
assert np.allclose(twin_policy, policy, atol=1e-3), (
    "the compiled twin's policies are not those of Keras"
)
assert np.allclose(twin_value, scalar_from_logits(value.numpy()), rtol=1e-3, atol=1e-3), (
    "the compiled twin's values are not those of Keras"
)

answers = twin.recurrent(twin_hidden, actions), plain.recurrent(hidden, actions)
for one, other in zip(*answers, strict=True):
    assert np.allclose(one, other, rtol=1e-3, atol=1e-3), (
        "one step of the twin's dynamics is not that of Keras"
    )
print(f"100 positions, values up to {twin_value.max():.1f}: twin and Keras agree to a thousandth")

# %% [markdown]
# And now the circle closes: the search of notebook 01, with a model that nobody wrote down. We search at
# all 16 places. How often is the most visited action a best one? And how much does the twin save?

# %%
from mzu.config import SearchConfig
from mzu.search.search import search

search_config = SearchConfig(num_simulations=32, discount=DISCOUNT, dirichlet_fraction=0.0)
everywhere = observe(np.arange(PLACES), np.zeros(PLACES, int))
found = search(twin, everywhere, search_config, np.random.default_rng(0))
right = is_best[np.arange(PLACES), found.visits.argmax(axis=1)]
off = np.abs(found.value - BEST)
print(f"best action at {right.sum()} of 16 places, the value off by {off.mean():.2f} on average")
if not FAST:
    assert right.all(), "the search with the learned model should choose the best action everywhere"

# %% tags=["timing"]
from mzu.bench.timing import best_times

times = best_times({
    name: lambda each=each: search(each, everywhere, search_config, np.random.default_rng(0))
    for name, each in (("Keras", plain), ("twin", twin))
}, repetitions=1 if FAST else 5)
print(f"the same search: {times['Keras'] / times['twin']:.0f} times as fast with the compiled twin")

# %% [markdown]
# ## What the library adds
#
# * **Images.** The same blocks with 3x3 convolutions, down-sampling for large frames, actions as planes
#   (`mzu/networks/blocks.py`, `mzu/networks/representation.py`).
# * **Continuous actions.** The action enters as the vector it is; the policy head gives mean and scale of a
#   Gaussian (`mzu/networks/policy_heads.py`, notebook 05).
# * **Ends of episodes.** Masks for what cannot be known, an absorbing state after a terminal end, and
#   importance weights (`mzu/learning/targets.py`, `mzu/learning/losses.py`).
# * **Targets that are not perfect.** Searches of the model itself, n-step returns, a target network
#   (notebooks 04 and 07).
# * **AdamW with the paper's cosine schedule**, one compiled training step, saving and loading
#   (`mzu/learning/optimiser.py`, `mzu/networks/saving.py`).
# * `mzu network` shows any network's layers, parameters and memory. `tutorials/networks.md` lists all choices
#   that the paper leaves open.
#
# ## Summary
#
# * $h$ sees the observation once; $g$ and $f$ go on from there without any.
# * Values and rewards are squashed, spread over two neighbouring categories and learned by cross-entropy:
#   gradients stay between $-1$ and $1$ whatever the game pays.
# * Blocks are pre-activation with Layer Normalisation: the path from the last layer to the first only adds.
# * The dynamics starts from "nothing changes", and the action has weights of its own, so that it is heard.
# * The loss unrolls the model along stored actions: step 0 has weight 1, the $U$ others $1/U$, and the gradient is
#   halved at each dynamics step. Without unrolling there is no model; with one step there is a model for
#   one step.
# * The hidden state keeps what policy, value and reward need. It need not keep the weather, and
#   $g(h(o_t), a_t)$ need not be $h(o_{t+1})$.
#
# ## Exercises
#
# Write the functions below. The last lines of a cell check yours and say which idea is missing, if one is;
# `check.hint("02.1")` gives one hint more at each call, and the solution opens at a click. More of it,
# with derivations and figures: `tutorials/solutions/02_networks.md`.

# %%
from mzu.classroom import check

# %% [markdown]
# ### 1. Two ways to invert
#
# `unsquash` of section 2 solves the quadratic equation by the textbook's formula. In float32 and near
# 0 it loses digits: compute `unsquash(squash(x))` for $x = 0.01, 0.1, 1$. Which step loses them?
# Write a form that does not.


# %%
def unsquash(y, epsilon):
    """The inverse of h(x) = sign(x) (sqrt(|x| + 1) - 1) + epsilon x, exact also in float32, near
    0, and for epsilon = 0.

    y: an array of any shape -> x of the same shape

    >>> unsquash(np.array([0.0, 1.0, -1.0]), 0.0).tolist()
    [0.0, 3.0, -3.0]
    """
    raise NotImplementedError


check.exercise_02_1(unsquash)
check.solution("02.1")

# %% [markdown]
# ### 2. What a noisy target teaches
#
# A position is followed by a return of 0 or of 100, each with probability one half. Which number does
# the categorical head converge to, and which one a head trained by the squared error?


# %%
def learned_value(returns, probabilities):
    """Which number a categorical head says at last of a position that is followed by these
    returns.

    returns [n], probabilities [n] -> a number. Its target is two-hot after squashing with h(x) =
    sign(x) (sqrt(|x| + 1) - 1) + 0.001 x.

    >>> float(round(learned_value(np.array([0.0, 100.0]), np.array([0.5, 0.5])), 1))
    29.7
    """
    raise NotImplementedError


check.exercise_02_2(learned_value)
check.solution("02.2")

# %% [markdown]
# ### 3. An observation and its double
#
# After a first layer without biases, the norm gives the same for $o$ and $2 o$. Measure it: how far
# apart are the two hidden states, without biases and with random ones? What does it mean for a
# representation without blocks?


# %%
def doubled_distance(observation, kernel, bias):
    """How far apart the hidden states of an observation and of its double are, without blocks.

    observation [O], kernel [O, W], bias [W] -> the Euclidean distance. A hidden state is
    relu(norm(observation @ kernel + bias)); norm subtracts the mean of the W features and divides
    by their standard deviation (forget its epsilon).

    >>> doubled_distance(np.array([1.0]), np.array([[1.0, 3.0]]), np.array([0.0, 0.0]))
    0.0
    """
    raise NotImplementedError


check.exercise_02_3(doubled_distance)
check.solution("02.3")

# %% [markdown]
# ### 4. What arrives at the representation
#
# Suppose that every step's loss sends a gradient of the same size 1 into its hidden state, and that
# $g$ passes gradients on unchanged. How much arrives at $s^0$ in all, for $U = 5$ and for $U = 50$,
# with the weights $1/U$, with and without halving?


# %%
def arriving(unroll_steps, scale):
    """The gradient that arrives at s^0, if every loss sends 1 into its own hidden state.

    Step 0 counts 1, steps 1..U count 1 / U each; every application of g multiplies what passes by
    `scale` and does nothing else.

    >>> arriving(2, 0.5)
    1.375
    """
    raise NotImplementedError


check.exercise_02_4(arriving)
check.solution("02.4")

# %% [markdown]
# ### 5. Find the bug
#
# Someone writes `scale_gradient` as `ops.stop_gradient(x) * scale + x * (1 - scale)`. The comparisons
# with the library and the whole training give the same numbers as before. Why? Which line of section
# 5 notices? Write a test that would have found it.


# %%
def is_right(scale_gradient):
    """A test that needs no network: does this function pass on the share `scale` of the gradient,
    and leave the number as it is?

    scale_gradient(x, scale) -> (the number that comes out, the slope that a tape finds)

    >>> is_right(lambda x, scale: (x, scale))
    True
    """
    raise NotImplementedError


check.exercise_02_5(is_right)
check.solution("02.5")
