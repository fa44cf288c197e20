"""Tables of steps become episodes; what is wrong in them is named by its row."""

import io
import re

import numpy as np
import pytest

import mzu
from mzu.episodes.readers.faults import Fault
from mzu.episodes.readers.tables import Roles, read_table

ROLES = {"observations": ["x", "v"], "action": "push", "reward": "pay", "episode": "run", "terminated": "fell"}
HEAD = "run,x,v,push,pay,fell\n"
TWO = HEAD + "a,0,1,1,0.5,0\na,1,2,0,1.5,0\na,3,4,1,2.5,1\nb,5,6,0,3.5,0\nb,7,8,1,4.5,0\n"


def table(tmp_path, text, name="steps.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def made(path, **changes):
    said = []
    return mzu.episodes_from_table(path, **(ROLES | changes), say=said.append), said


def test_rows_become_episodes(tmp_path):
    (first, second), said = made(table(tmp_path, TWO))
    assert first.observations.tolist() == [[0, 1], [1, 2], [3, 4], [3, 4]]  # nothing follows a terminal end
    assert first.actions.tolist() == [1, 0, 1] and first.actions.dtype == np.int32
    assert first.rewards.tolist() == [0.5, 1.5, 2.5]
    assert (first.terminated, first.truncated) == (True, False)
    # What followed the last step of an episode that was cut off is not known.
    assert second.observations.tolist() == [[5, 6], [7, 8]] and second.rewards.tolist() == [3.5]
    assert (second.terminated, second.truncated) == (False, True)
    assert second.source.endswith("steps.csv, episode b, from line 5")
    assert said[0] == "1 episodes end without a mark (line 6): they count as cut off"
    assert "of 1 episodes that were cut off the last step is dropped" in said[1]


def test_a_last_row_may_hold_only_what_was_observed(tmp_path):
    text = HEAD + "a,0,1,1,0.5,0\na,1,2,0,1.5,1\na,3,4,,,\nb,5,6,0,3.5,0\nb,7,8,,,0\n"
    (first, second), _ = made(table(tmp_path, text))
    assert first.observations.tolist() == [[0, 1], [1, 2], [3, 4]] and first.terminated
    assert second.observations.tolist() == [[5, 6], [7, 8]] and second.actions.tolist() == [0] and second.truncated


def test_continuous_actions_are_mapped_from_their_bounds(tmp_path):
    text = "run;x;left;right;pay\n1;0;-2;2;1\n1;1;0;1;1\n1;2;0;0;1\n"
    roles = {"observations": ["x"], "action": ["left", "right"], "reward": "pay", "episode": "run", "terminated": None}
    (episode,), said = made(table(tmp_path, text), **roles, action_bounds=(-2, 2))
    assert episode.actions.tolist() == [[-1, 1], [0, 0.5]]
    assert "no column says which episodes terminated" in said[0]
    with pytest.raises(
        Fault, match=r"line 2: column left is -2.0, outside of \[-1, 1\]; give the bounds .*--action-bounds"
    ):
        made(table(tmp_path, text), **roles)


@pytest.mark.parametrize(
    "change, words",
    [
        (("a,1,2,0", "a,,2,0"), "line 3: column x is empty, but must be a finite number$"),
        (("1.5,0\n", "nan,0\n"), "line 3: column pay is empty, but must be a finite number$"),
        (("a,1,2,0,1.5", "a,1,inf,0,1.5"), "line 3: column v is inf, but must be a finite number$"),
        (("a,1,2,0", "a,1,two,0"), "line 3: column v is 'two', but must be a number"),
        (("a,1,2,0,1.5,0", "a,1,2,0,1.5,1"), "line 3: column fell marks an end, but episode a goes on until line 4"),
        (("b,7", "a,7"), "the rows of episode a are apart: some begin at line 2, others at line 6"),
        (("a,1,2,0,1.5,0", "a,1,2,0,1.5"), "line 3: the row has 5 cells, but the head has 6"),
        (("a,1,2,0", "a,1,2,-1"), "line 3: column push is -1, but actions are numbered from 0"),
        (("b,5", ",5"), "line 5: column run is empty, so the row belongs to no episode"),
        (("run,x,v", "run,x,x"), "two columns are called 'x'"),
        (("push", "pushed"), "there is no column 'push'; did you mean 'pushed'"),
    ],
)
def test_what_is_wrong_is_named_by_its_row(tmp_path, change, words):
    text = TWO.replace(*change, 1)
    assert text != TWO
    with pytest.raises(Fault, match=words):
        made(table(tmp_path, text))


def late(rows=10, count=3):
    """Rewards beside the observation that they came with; the first row of an episode has none."""
    lines = [HEAD.strip()]
    for run in range(count):
        for t in range(rows):
            lines.append(f"{run},{t},{run},{t % 2},{t if t else ''},0")
    return "\n".join(lines) + "\n"


def test_rewards_that_stand_a_row_late_are_named_and_moved(tmp_path):
    path = table(tmp_path, late())
    with pytest.raises(Fault, match=r"empty in the first row of every episode \(lines 2, 12, 22\).*--reward-shift -1"):
        made(path)
    episodes, _ = made(path, reward_shift=-1)
    assert episodes[0].rewards.tolist() == list(range(1, 10)) and len(episodes[0].observations) == 10
    zeros = table(tmp_path, re.sub(r",,0$", ",0,0", late(), flags=re.M), "zeros.csv")
    with pytest.raises(Fault, match="is 0 in the first row of every episode"):
        made(zeros)
    assert made(zeros, reward_shift=0)[0][0].rewards[0] == 0


def test_rewards_that_the_observations_explain_elsewhere_are_refused(tmp_path):
    """The reward is the square of the place that was reached, and stands one row too late."""
    rng, lines = np.random.default_rng(0), [HEAD.strip()]
    for run in range(20):
        places = rng.normal(size=(60, 2))
        pay = np.append([0.3, 0.3], places[1:-1, 0] ** 2 + places[1:-1, 1])
        for t in range(60):
            lines.append(f"{run},{places[t, 0]},{places[t, 1]},{rng.integers(2)},{pay[t]},0")
    path = table(tmp_path, "\n".join(lines))
    with pytest.raises(Fault, match=r"column pay seems to stand 1 rows after .* \(from line 2 on.*--reward-shift -1"):
        made(path)
    made(path, reward_shift=-1)


def test_a_frame_and_a_parquet_file_say_the_same(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(io.StringIO(TWO))
    (first, _), _ = made(frame)
    assert first.actions.tolist() == [1, 0, 1] and first.source == "the frame, episode a, from row 0"
    frame.loc[1, "x"] = np.nan
    with pytest.raises(Fault, match="the frame: row 1: column x is empty"):
        made(frame)
    pytest.importorskip("pyarrow")
    pandas.read_csv(io.StringIO(TWO)).to_parquet(tmp_path / "steps.parquet")
    (again, _), _ = made(tmp_path / "steps.parquet")
    assert np.array_equal(again.observations, first.observations) and again.terminated


def test_a_table_that_is_none_is_refused(tmp_path):
    for text, words in (("", "the file is empty"), (HEAD, "has no rows")):
        with pytest.raises(Fault, match=words):
            made(table(tmp_path, text))
    (tmp_path / "steps.parquet").write_bytes(b"PAR1")
    with pytest.raises(ValueError, match=r"cannot be read as parquet|needs pyarrow"):
        read_table(tmp_path / "steps.parquet")
    with pytest.raises(ValueError, match="at least one column of observations"):
        made(table(tmp_path, TWO), observations=[])
    assert Roles(["x"], ["a"], "r", "e").terminated is None


def test_ends_that_all_come_after_as_many_rows_are_doubted(tmp_path):
    rows = "".join(f"{run},{t},{t},{t % 2},{t + 1},{int(t == 3)}\n" for run in "abc" for t in range(4))
    _, said = made(table(tmp_path, HEAD + rows))
    assert said == [
        "all 3 episodes terminate after exactly 4 rows: if that is a time limit, after which something could follow, "
        "name the column otherwise: --truncated fell"
    ]
