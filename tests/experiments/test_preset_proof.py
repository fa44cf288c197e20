"""What an offline preset promises, and the committed runs behind README's first table."""

from pathlib import Path

import pytest

from mzu.commands.cli import main
from mzu.experiments.preset_proof import (
    CLONING,
    CRR,
    POLICY,
    PROOFS,
    SEARCH,
    broken_claims,
    comparison_table,
    online_table,
    proof_csv,
    read_csv,
    settings_digest,
)
from mzu.presets import PRESETS, preset

README = Path(__file__).parents[2] / "README.md"
COMMITTED = sorted(path.stem for path in PROOFS.glob("*.csv"))


def rows_of(seed=1, cloning=100.0, crr=200.0, policy=300.0, search=300.0, high=310.0, best=300.0):
    means = {CLONING: cloning, CRR: crr, POLICY: policy, SEARCH: search}
    known = {"preset": "a", "settings": "b", "seed": seed, "episodes": 10, "low": 0.0, "high": high, "seconds": 1.0}
    return [known | {"name": name, "mean": mean, "best": best} for name, mean in means.items()]


def test_what_is_promised_holds_in_a_run_that_shows_it():
    assert broken_claims(rows_of()) == []


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"cloning": 300.0}, "seed 1: search earns 300.0, behaviour cloning 300.0"),
        ({"crr": 301.0}, "seed 1: search earns 300.0, CRR 301.0"),
        ({"policy": 311.0}, "seed 1: search earns 300.0, the policy alone 311.0"),
        ({"best": 334.0}, "seed 1: the final network earns 300.0, the best on the way 334.0"),
    ],
)
def test_a_promise_that_is_broken_is_named_with_its_seed(figures, words):
    assert broken_claims(rows_of(seed=0) + rows_of(**figures)) == [words]


def test_search_may_be_below_the_policy_by_chance():
    assert broken_claims(rows_of(policy=309.0)) == []


def test_rows_are_read_as_they_were_written(tmp_path):
    (tmp_path / "a.csv").write_text(proof_csv(rows_of()))
    assert broken_claims(read_csv(tmp_path / "a.csv")) == []
    assert [row["seed"] for row in read_csv(tmp_path / "a.csv")] == [1, 1, 1, 1]


def trained_rows(seed=1, mean=480.0):
    known = {"preset": "cartpole", "settings": "b", "seed": seed, "episodes": 10, "low": 0.0, "high": 500.0}
    costs = {"best": 490.0, "seconds": 100.0, "processor_seconds": 150.0 + seed, "world_steps": 96_000}
    return [known | costs | {"name": f"trained, by {way}", "mean": mean} for way in ("policy", "value", "search")]


def test_an_online_preset_must_earn_its_goal_in_every_seed():
    rows = trained_rows(seed=1) + trained_rows(seed=2, mean=474.9)
    assert broken_claims(rows, goal=475) == ["seed 2: search earns 474.9, and the goal is 475"]
    assert broken_claims(trained_rows(mean=475.0), goal=475) == []


def test_an_online_table_has_what_was_earned_and_what_it_took():
    table = online_table({"cartpole": trained_rows(1, 480.0) + trained_rows(2, 500.0)})
    earned = "490 (480 .. 500)"
    assert table.splitlines()[2] == f"| `cartpole` | 475 | {earned} | {earned} | {earned} | 96,000 | 152 (151 .. 152) |"


@pytest.mark.parametrize("name", COMMITTED)
def test_the_committed_runs_are_of_the_preset_as_it_is_now_and_have_several_seeds(name):
    rows = read_csv(PROOFS / f"{name}.csv")
    assert {row["settings"] for row in rows} == {settings_digest(preset(name).config)}, (
        f"the preset was changed after its runs: mzu presets {name} --check"
    )
    assert len({row["seed"] for row in rows}) == {"cartpole_offline": 5, "swingup_offline": 5}.get(name, 3)


@pytest.mark.parametrize(("kind", "table_of"), [("preset", comparison_table), ("online", online_table)])
def test_readme_shows_the_committed_runs(kind, table_of):
    assert set(COMMITTED) <= PRESETS.keys()
    names = [name for name in PRESETS if name in COMMITTED and preset(name).compare == (kind == "preset")]
    table = table_of({name: read_csv(PROOFS / f"{name}.csv") for name in names})
    _, _, rest = README.read_text().partition(f"<!-- {kind} table -->\n")
    assert rest.partition(f"<!-- end of {kind} table -->")[0].strip() == table


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--check"], "--check is about one preset; say which"),
        (["paper_atari", "--check"], "paper_atari promises nothing that could be checked here"),
        (["cartpole_offline", "--seeds", "3"], "--seeds goes with --check"),
        (["cartpole_offline", "--check", "--seeds", "0"], "--seeds is 0, but must be at least 1"),
    ],
)
def test_what_cannot_be_checked_is_said(words, sentence, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["presets", *words]) == 2
    assert sentence in capsys.readouterr().err
