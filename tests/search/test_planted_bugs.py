"""Bugs that others shipped in exactly this code, planted one at a time: some test of this folder must notice each.

Slow: every bug runs the tests again in a copy of the package, as plain Python.
"""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
PACKAGE = HERE.parent.parent / "mzu"

BUGS = {
    "the backup goes down the path instead of up": (
        "search/reference.py",
        "for node, edge in reversed(path):",
        "for node, edge in path:",
    ),
    "the discount is missing in the backup": (
        "search/kernels.py",
        "value = edge.reward + settings.discount * value",
        "value = edge.reward + value",
    ),
    "the reward is one edge too high": (
        "search/kernels.py",
        "        value = edge.reward + settings.discount * value\n",
        "        value = settings.discount * value\n"
        "        if parent != ROOT:\n"
        "            value += edges[nodes[parent].parent, nodes[parent].parent_candidate].reward\n",
    ),
    "the backed-up value is that of the parent": (
        "search/kernels.py",
        "value = nodes[leaf].raw_value\n",
        "value = nodes[nodes[leaf].parent].raw_value if leaf != ROOT else nodes[leaf].raw_value\n",
    ),
    "the normaliser of the first tree serves all": (
        "search/kernels.py",
        "best_candidate(tree.nodes[b, node], tree.edges[b, node], tree.bounds[b], settings)",
        "best_candidate(tree.nodes[b, node], tree.edges[b, node], tree.bounds[0], settings)",
    ),
    "a sampled candidate's number is taken for its action": (
        "search/search.py",
        "actions = tree.actions[rows, parents, candidates]",
        "actions = tree.actions[rows, parents, candidates] if tree.action_vector.size else candidates",
    ),
    "the same in the compiled search": (
        "search/batched_kernels.py",
        "buffers.action_vector[row, d] = tree.action_vector[b, node, candidate, d]",
        "buffers.action_vector[row, d] = tree.action_vector[b, node, 0, d]",
    ),
    "a generator of its own inside the search": (
        "search/search.py",
        "randomness = draw_randomness(rng, ",
        "randomness = draw_randomness(np.random.default_rng(), ",
    ),
    "noise goes to a prior that is never read": (
        "search/kernels.py",
        "            edges[k].prior = (1.0 - fraction) * edges[k].prior + fraction * noise",
        "            log_gamma[k] = (1.0 - fraction) * edges[k].prior + fraction * noise",
    ),
    "noise at every node": (
        "search/kernels.py",
        "    if node == ROOT:\n        if not inputs.inject[b]:",
        "    if node >= ROOT:\n        if not inputs.inject[b]:",
    ),
    "the injected action gets no prior": (
        "search/action_injection.py",
        "    edges[slot].prior += injected_prior\n",
        "",
    ),
    "illegal actions are masked after the softmax, unnormalised": (
        "search/all_actions.py",
        "        if legal[a]:\n            largest = max(largest, logits[a])\n    total = 0.0\n",
        "        largest = max(largest, logits[a])\n    total = 1.0\n",
    ),
    "the root is not counted before the first simulation": (
        "search/kernels.py",
        "    nodes[leaf].visits += 1\n    child = leaf\n",
        "    nodes[leaf].visits += 1 if leaf != ROOT else 0\n    child = leaf\n",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_noticed(bug, tmp_path):
    file, good, bad = BUGS[bug]
    shutil.copytree(PACKAGE, tmp_path / "mzu", ignore=shutil.ignore_patterns("__pycache__"))
    source = (tmp_path / "mzu" / file).read_text()
    assert source.count(good) == 1, f"{file} must hold the line to be changed exactly once"
    (tmp_path / "mzu" / file).write_text(source.replace(good, bad))
    tests = [str(HERE / name) for name in ("test_search.py", "test_reference.py")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests],
        env=os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_DISABLE_JIT": "1"},
        cwd=HERE.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and "1 failed" in done.stdout, done.stdout
