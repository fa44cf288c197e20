"""What a model report says is wrong, and what to do: one rule per finding, each with its threshold.

finding                 rule
too deep                more than 10 % of the searches' nodes lie where the value's RMSE exceeds its spread
ranks badly             the correlation within a state is below 0.5, and the model's choice has more than 30 % of a
                        random choice's regret
below one bin           the same, and the world's differences between actions are below a tenth of a bin
ignores actions         the model's values differ between actions by less than 5 % of what the world's do
values at the end       more than 5 % of the values lie within half a category of the end of the support
rewards cut off         a stored reward is larger than the largest that the head can express
rewards late, early     predicted rewards correlate better with the stored ones a step before, or after, than with
                        their own: above 0.5, and less than a third as far from 1; or so the stored with the world's
mode hangs              the interval of the noisy policy's return lies above that of its mode
simulations hurt        the interval of a search lies below that of acting with fewer simulations, and its mean is more
                        than 5 % lower
"""

from typing import NamedTuple

from mzu.explain.model_depth import good_depth
from mzu.explain.wording import number

DEEP_SHARE = 0.1
LOW_CORRELATION, HIGH_REGRET = 0.5, 0.3
SMALL_BINS = 0.1
IGNORED_SHARE = 0.05
END_SHARE = 0.05
LEAST_SHIFTED, SHIFT_SHARE = 0.5, 1 / 3
LOST_SHARE = 0.05
FEW_STATES = 10  # below this a ranking says nothing

NOTHING = "Nothing stands out: none of the rules of this report found anything."


class ModelFinding(NamedTuple):
    """What is wrong, in a sentence with its numbers, and what to do about it."""

    name: str
    says: str
    advice: str


def findings(depth: dict, searches: dict, ranking: dict | None, head: dict, returns: list[dict]) -> list[ModelFinding]:
    """All findings, from the sections of a report; what was not measured (None, empty) is not judged."""
    found = [_too_deep(depth, searches), *_ranking(ranking, head), *_head(head), *_rewards(depth, ranking)]
    found = [finding for finding in found if finding]
    played = [_mode_hangs(returns), _simulations_hurt(returns, explained=bool(found))]
    return found + [finding for finding in played if finding]


def _too_deep(depth: dict, searches: dict) -> ModelFinding | None:
    good = good_depth(depth["rows"])
    if good >= len(searches["shares"]):
        return None
    share = sum(searches["shares"][int(good) :])
    if share <= DEEP_SHARE:
        return None
    bad = next(row for row in depth["rows"] if row["depth"] == good + 1)
    unrolled = depth["unroll_steps"]
    return ModelFinding(
        "searches go deeper than the model is good for",
        f"at depth {bad['depth']} the value's RMSE ({number(bad['value']['rmse'], 3)}) exceeds the whole spread of the "
        f"values ({number(bad['value']['spread'], 3)}), and {share:.0%} of the nodes of searches lie that deep or "
        f"deeper (more than {DEEP_SHARE:.0%}; the deepest node of a search lies at {number(searches['deepest'], 3)})",
        f"unroll more steps in training (learning.unroll_steps, now {unrolled}), or limit the depth of searches "
        f"(search.max_depth={max(int(good), 1)})",
    )


def _ranking(ranking: dict | None, head: dict) -> list[ModelFinding]:
    if ranking is None:
        return []
    group = ranking["groups"][0]  # all actions, or uniform ones: those of the policy differ less
    if group["decided"] < FEW_STATES:
        return []
    seen = "" if ranking["evidence"] == "world" else " among nearby states, which is weaker evidence"
    numbers = f"correlation {number(group['correlation'], 2)}, regret {group['regret']:.0%} of a random choice's{seen}"
    world, own = group["world_spread"], group["model_spread"]
    if ranking["evidence"] == "world" and own < IGNORED_SHARE * world:
        return [
            ModelFinding(
                "the dynamics ignores its action",
                f"its values differ by {number(own, 2)} between actions where the world's differ by {number(world, 2)} "
                f"(standard deviations; less than {IGNORED_SHARE:.0%})",
                "look at how actions reach the dynamics: their order, their scale, and whether the stored action "
                "belongs to the stored observation (mzu data check); if all of that is right, the learning rate may "
                "be too high (learning.learning_rate)",
            )
        ]
    if not (group["correlation"] < LOW_CORRELATION and group["regret"] > HIGH_REGRET):
        return []
    bins = None if head["bin"] is None or ranking["evidence"] != "world" else world / head["bin"]
    if bins is not None and bins < SMALL_BINS:
        return [
            ModelFinding(
                "the differences between actions are far below one bin of the value head",
                f"{numbers}; actions differ by {number(world, 2)}, which is {number(bins, 2)} of a bin at the typical "
                f"value {number(head['typical_value'], 3)} (less than {SMALL_BINS})",
                "predict scalars by regression (network.scalar_head=regression), or give the head more bins",
            )
        ]
    is_regression = head["kind"] == "regression"
    other_head = "" if is_regression else ", predict scalars by regression (network.scalar_head=regression)"
    return [
        ModelFinding(
            "the values cannot tell actions apart",
            f"{numbers} (correlation below {LOW_CORRELATION} and regret above {HIGH_REGRET:.0%})",
            f"train longer, sample uniformly (replay.priority_exponent=0){other_head}, or hold actions for several "
            "steps, so that they differ by more (?repeat=4 behind the environment's id, with data recorded like that)",
        )
    ]


def _head(head: dict) -> list[ModelFinding]:
    found = []
    if head["at_the_end"] > END_SHARE:
        found.append(
            ModelFinding(
                "values lie at the end of the value head's support",
                f"{head['at_the_end']:.0%} of them come within half a category of the largest it can express, "
                f"{number(head['largest_value'], 4)} (more than {END_SHARE:.0%})",
                "raise network.value_support: category M stands for values of about M^2",
            )
        )
    if head["largest_reward"] is not None and head["reward_seen"] > head["largest_reward"]:
        found.append(
            ModelFinding(
                "rewards are larger than the reward head can express",
                f"the largest stored one is {number(head['reward_seen'], 4)}, the head ends at "
                f"{number(head['largest_reward'], 4)}",
                "raise network.reward_support: category M stands for rewards of about M^2",
            )
        )
    return found


def _rewards(depth: dict, ranking: dict | None) -> list[ModelFinding]:
    found = []
    word, numbers = _shifted(depth["shifts"])
    if word:
        name, says = f"rewards are predicted one step {word}", f"against the stored reward {numbers}"
        advice = "see that the k-th step of the model is trained towards the reward of the k-th action"
        found.append(ModelFinding(name, says, advice))
    if ranking is not None and ranking["evidence"] == "world":
        word, numbers = _shifted(ranking["stored_rewards"])
        if word:
            name, says = f"the stored rewards are one step {word}", f"against the environment's reward {numbers}"
            advice = "shift them in the data: rewards[t] follows actions[t] in observations[t] (mzu data check)"
            found.append(ModelFinding(name, says, advice))
    return found


def _shifted(correlations: list[float | None]) -> tuple[str, str]:
    """ "late" or "early" if rewards agree much better with those one step before or after, and the numbers; else ""."""
    before, same, after = (found or 0.0 for found in correlations)
    best = max(before, after)
    if best < LEAST_SHIFTED or 1 - best > SHIFT_SHARE * (1 - max(same, 0.0)):
        return "", ""
    word, where = ("late", "before") if before > after else ("early", "after")
    return word, (
        f"the correlation is {number(same, 3)}, but {number(best, 3)} against that one step {where} (above "
        f"{LEAST_SHIFTED}, and less than a third as far from 1)"
    )


def _mode_hangs(returns: list[dict]) -> ModelFinding | None:
    rows = {row["name"]: row for row in returns}
    mode, noisy = rows.get("policy"), rows.get("policy with noise")
    if noisy is None or noisy["low"] <= mode["high"]:
        return None
    return ModelFinding(
        "the policy's mode hangs where its noise does not",
        f"the mode earns {_interval(mode)}, the policy with noise {_interval(noisy)} (the intervals do not touch)",
        "act by search, or by the policy with noise; a mean between two good ways may be on neither",
    )


def _simulations_hurt(returns: list[dict], explained: bool) -> ModelFinding | None:
    """The search that loses most against acting with fewer simulations; `explained`: other findings may be why."""
    ways = [row for row in returns if row["simulations"] is not None]
    pairs = [(less, more) for less in ways for more in ways if more["name"] == "search" and _loses(less, more)]
    if not pairs:
        return None
    best, worst = max(pairs, key=lambda pair: pair[0]["mean"] - pair[1]["mean"])
    searched = best["name"] == "search"
    setting = f"search.num_simulations={best['simulations']}" if searched else f"evaluation.select={best['name']}"
    cause = (
        "more search reads more of the model's errors, see the other findings"
        if explained
        else "the dynamics looks right in this report, so the values that a search reads are suspect; look at the "
        "value targets of single positions (--episode N --step N), at search.discount and learning.td_steps"
    )
    return ModelFinding(
        "returns fall with simulations",
        f"{_way(worst)} {_interval(worst)}, {_way(best)} {_interval(best)} (the intervals do not touch, and more than "
        f"{LOST_SHARE:.0%} is lost)",
        f"{cause}; until then act with {setting}",
    )


def _loses(less: dict, more: dict) -> bool:
    lost = less["mean"] - more["mean"]
    fewer = less["simulations"] < more["simulations"]
    return fewer and less["low"] > more["high"] and lost > LOST_SHARE * max(abs(less["mean"]), abs(more["mean"]))


def _way(row: dict) -> str:
    return f"the {row['name']} earns" if row["simulations"] < 2 else f"{row['simulations']} simulations earn"


def _interval(row: dict) -> str:
    return f"{number(row['mean'], 4)} ({number(row['low'], 4)} .. {number(row['high'], 4)})"
