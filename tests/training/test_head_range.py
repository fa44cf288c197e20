import re

import numpy as np
import pytest

from mzu.episodes.episode import Episode
from mzu.episodes.readers.npz import write_npz
from mzu.learning.targets import Targets
from mzu.presets import preset
from mzu.training.head_range import SETTLED, HeadRange
from mzu.training.trainer import Trainer

CONFIG = preset("cartpole").config  # categories up to 20 for values (440) and 5 for rewards (35), discount 0.99


def test_a_reward_beyond_the_head_is_named_with_the_support_that_holds_it():
    heads = HeadRange(CONFIG)
    heads.look_at_rewards([1.0, -100.0, 1.0])
    (sentence,) = heads.take_news()
    # 5 = t + 0.001 t (t + 2) for t = 4.965, and t (t + 2) = 34.6; h(100) = 9.05 + 0.1.
    assert "rewards reach 100, but network.reward_support=5 ends at 34.6" in sentence
    assert "--set network.reward_support=11" in sentence  # 1.2 times 9.15, rounded up


def test_what_followed_a_position_is_its_worth_even_where_every_reward_fits():
    heads = HeadRange(CONFIG)
    heads.look_at_rewards(np.full(200, 6.0))
    (sentence,) = heads.take_news()
    worth = 6 * (1 - 0.99**200) / (1 - 0.99)
    assert f"values reach {worth:.0f}," in sentence and "network.value_support=20" in sentence


def test_what_fits_is_not_mentioned():
    heads = HeadRange(CONFIG)
    heads.look_at_rewards(np.ones(500))  # worth 99.3
    heads.look_at_rewards([])
    assert heads.take_news() == []


@pytest.mark.parametrize("head", ["categorical", "hl_gauss", "regression"])
def test_rewards_that_no_support_would_hold_are_to_be_divided(head):
    heads = HeadRange(CONFIG.override(f"network.scalar_head={head}"))
    heads.look_at_rewards([1e6])  # h(1e6) = 1,999
    sentences = heads.take_news()
    assert [sentence.partition(",")[0] for sentence in sentences] == ["rewards reach 1", "values reach 1"]
    # h(422) = 20: 1e6 / 422 = 2,370.
    assert all("divide the rewards by 10,000 in the environment" in sentence for sentence in sentences)


def test_regression_is_told_to_use_categories_where_its_error_would_drown_the_policy():
    heads = HeadRange(CONFIG.override("network.scalar_head=regression"))
    heads.look_at_rewards(np.full(300, 10.0))  # worth 951, after h 30.8
    assert heads.take_news() == []
    heads.look_at_rewards(np.full(300, 100.0))  # worth 9,510, after h 106
    (sentence,) = heads.take_news()
    assert "values reach 9,510, which a head that learns by regression hardly reaches" in sentence
    supports = "--set network.reward_support=11 --set network.value_support=128"
    assert sentence.endswith(f"--set network.scalar_head=categorical --set learning.value_loss_scale=1 {supports}")


def after_a_hundred_steps(rewards, *settings):
    heads = HeadRange(CONFIG.override(*settings))
    heads.look_at_rewards(rewards)
    nothing = Targets(**{field: np.zeros((2, 3), np.float32) for field in Targets._fields})
    for step in range(1, SETTLED + 1):
        assert heads.take_news() == [], step
        heads.look_at_targets(nothing)
    return heads.take_news()


@pytest.mark.parametrize("head", ["categorical", "hl_gauss", "regression"])
def test_rewards_that_are_all_small_are_named_with_what_makes_them_larger(head):
    (sentence,) = after_a_hundred_steps(np.full(50, 1e-3), f"network.scalar_head={head}")
    assert sentence.startswith("no episode so far was worth more than 0.0395, and the heads hardly tell such numbers")
    assert "multiply the rewards by 100 in the environment" in sentence
    assert sentence.endswith("--set network.reward_support=1 --set network.bins_per_unit=511")  # 10 / h(0.0395)


def test_small_rewards_are_no_matter_where_categories_are_fine():
    assert after_a_hundred_steps(np.full(50, 1e-3), "network.bins_per_unit=1000") == []


def test_where_nothing_was_paid_yet_nothing_is_said_about_its_size():
    assert after_a_hundred_steps(np.zeros(50)) == []


def test_each_sentence_is_said_once():
    heads = HeadRange(CONFIG)
    for _ in range(3):
        heads.look_at_rewards([1e5])
    assert len(heads.take_news()) == 2  # rewards, values
    heads.look_at_rewards([1e6])
    assert heads.take_news() == []


def test_targets_count_where_their_mask_says_so():
    shape = (2, 3)
    values = np.float32([[1, 2, 3], [4, 5, 9_000]])
    empty = {field: np.zeros(shape, np.float32) for field in Targets._fields}
    for mask, expected in ((0.0, 0), (1.0, 1)):
        heads = HeadRange(CONFIG)
        heads.look_at_targets(Targets(**empty)._replace(values=values, value_mask=np.full(shape, mask, np.float32)))
        assert len(heads.take_news()) == expected


@pytest.mark.parametrize("offline", [True, False])
def test_a_run_says_it_with_its_first_steps(offline, tmp_path):
    small = {
        "learning.training_steps": 2, "learning.jit_compile": False, "learning.batch_size": 8, "acting.games": 4,
        "acting.positions_per_step": 4, "search.num_simulations": 2, "replay.start_size": 200, "evaluation.period": 0,
    }  # fmt: skip
    if offline:
        rng = np.random.default_rng(0)
        episodes = [
            Episode(rng.normal(size=(31, 4)).astype(np.float32), rng.integers(2, size=30), np.full(30, 1e4, np.float32),
                    terminated=True, truncated=False)
            for _ in range(20)
        ]  # fmt: skip
        write_npz(tmp_path / "large.npz", episodes)
        small |= {"data": str(tmp_path / "large.npz"), "reanalyse.fraction": 1.0}
    else:
        small |= {"network.value_support": 2}  # 8.2: random play earns about 20
    said = []
    trainer = Trainer(CONFIG.replace(**small))
    trainer.run(say=said.append)
    trainer.close()
    kinds = [re.match(r"learner step 1: (rewards|values) reach", sentence)[1] for sentence in said]
    assert kinds == (["rewards", "values"] if offline else ["values"])
