"""What is implausible about a target. Every check looks for one kind of mistake and says in a sentence what it saw.

A check never trusts the code that it looks at: it takes the definition, or does the same thing twice, and compares.
`bugs.py` has a real mistake for most of them. The checks themselves are in `data_checks.py`, `search_checks.py` and
`target_checks.py`.
"""

from mzu.explain import data_checks, search_checks, target_checks


def run_checks(system, found, explanation) -> list[dict]:
    """All checks that apply -> {"name", "flag", "says"}, flag: something is wrong."""
    checks = []
    for name, check in CHECKS.items():
        says = check(system, found, explanation)
        if says is not None:
            flag, sentence = says
            checks.append({"name": name, "flag": bool(flag), "says": sentence})
    return checks


CHECKS = {
    "stored step": data_checks.stored_step,
    "action space": data_checks.action_space,
    "reward alignment": data_checks.reward_alignment,
    "repeatable": search_checks.repeatable,
    "twins": search_checks.twins,
    "root prior": search_checks.root_prior,
    "backups": search_checks.backups,
    "injected action": search_checks.injected_action,
    "candidate actions": search_checks.candidate_actions,
    "tried candidates": search_checks.tried_candidates,
    "uniform policy": search_checks.uniform_policy,
    "collapsed range": search_checks.collapsed_range,
    "stale target": search_checks.stale_target,
    "value target": target_checks.value_target,
    "bootstrap across an end": target_checks.bootstrap_across_an_end,
    "value range": target_checks.possible_returns,
    "rows apart": target_checks.rows_apart,
    "weights count": target_checks.weights_count,
    "priority of now": target_checks.priority_of_now,
    "priorities return": target_checks.priorities_return,
    "replay keeps": target_checks.replay_keeps,
}
