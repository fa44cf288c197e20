"""The trajectory's action joins the root's candidates (paper, "Offline RL and Continuous Action Spaces"; notebook
06_action_injection).

A learned policy hardly ever samples the actions that another agent took, so a search over its samples could never
learn that they were good. When a stored position is searched again, the stored action is therefore one more candidate
at the root, with prior `injected_prior`; the sampled ones share the rest. An action that was sampled anyway is not
doubled: its prior grows. Injection stands in for the Dirichlet noise of the row.

Where all actions are candidates, none has to be injected for the search to see it; what injection adds there is the
prior, which keeps the improved policy near the data (`search.stored_value=data`).
"""

from mzu.compilation import kernel_part
from mzu.search.sampled_actions import find_action


@kernel_part
def inject_index(edges, actions, action, injected_prior):
    """Discrete: edges [K + 1], actions [K + 1], the last of them free. Returns the slot of the injected action."""
    slot = 0
    while edges[slot].prior > 0.0 and actions[slot] != action:
        slot += 1
    actions[slot] = action
    share_prior(edges, slot, injected_prior)
    return slot


@kernel_part
def inject_vector(edges, actions, action, injected_prior):
    """Continuous: edges [K + 1], actions [K + 1, D], the last of them free. Returns the slot of the injected action."""
    distinct = 0
    while edges[distinct].prior > 0.0:
        distinct += 1
    slot = find_action(actions, action, distinct)
    for d in range(action.shape[0]):
        actions[slot, d] = action[d]
    share_prior(edges, slot, injected_prior)
    return slot


@kernel_part
def share_prior(edges, slot, injected_prior):
    """The candidate in this slot gets `injected_prior` on top of its share; all share the rest as before."""
    total = 0.0
    for k in range(edges.shape[0]):
        total += edges[k].prior
    for k in range(edges.shape[0]):
        edges[k].prior *= (1.0 - injected_prior) / total
    edges[slot].prior += injected_prior
