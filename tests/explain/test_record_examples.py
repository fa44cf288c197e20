"""An example is cut from a run without changing what an explanation says, and is made by one call."""

import numpy as np
import pytest
from made_segments import CONTINUOUS, TD, UNROLL, made_segment

import mzu
from mzu.config import ReplayConfig
from mzu.explain.record_examples import newest_segments, record_example
from mzu.replay.replay import Replay
from mzu.training.run_folder import RunFolder

FEW = {
    "learning.training_steps": 2,
    "learning.jit_compile": False,
    "replay.start_size": 100,
    "acting.games": 4,
    "evaluation.episodes": 2,
    "evaluation.period": 2,
    "evaluation.period_episodes": 2,
}


def test_the_newest_segments_are_those_that_the_replay_would_hold_alone():
    rng = np.random.default_rng(0)
    segments = [made_segment(rng, length, CONTINUOUS, sampled=True) for length in (8, 3, 5, 8, 2, 7, 4, 6)]
    config = ReplayConfig(capacity=6, segment_length=8)
    settings = {"unroll_steps": UNROLL, "td_steps": TD, "candidates": 3, "sampled": True}
    whole, alone, cut = (Replay(config, CONTINUOUS, **settings) for _ in range(3))
    for segment in segments:  # the first two are overwritten
        whole.add(segment)
    for segment in segments[-3:]:
        alone.add(segment)
    cut.restore(newest_segments(whole.state(), positions=12))
    assert alone.state().keys() == cut.state().keys()
    for name, array in alone.state().items():
        assert np.array_equal(array, cut.state()[name]), name
    cut.restore(newest_segments(whole.state(), positions=1000))
    assert len(cut) == len(whole) and cut.num_segments == 6


def test_one_call_trains_a_run_cuts_it_and_uses_it_again(tmp_path):
    said = []
    path = record_example("catch", tmp_path / "runs", tmp_path / "out", said.append, **FEW)
    whole, cut = tmp_path / "runs" / "catch", tmp_path / "out" / "catch"
    assert path == cut and "mean return" in said[0] and str(cut) in said[0]
    assert RunFolder(cut).result() == RunFolder(whole).result() and RunFolder(cut).checkpoints() == [2]
    one, other = (mzu.explain(folder, 0, 4) for folder in (whole, cut))
    assert one.result == other.result and one.value_target == other.value_target
    size = {folder: sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) for folder in (whole, cut)}
    assert size[cut] < size[whole] / 2
    started = (whole / "versions.json").read_text()
    record_example("catch", tmp_path / "runs", tmp_path / "out", said.append, **FEW)
    assert (whole / "versions.json").read_text() == started, "the finished run is not trained again"
    with pytest.raises(ValueError, match="catch was trained with other settings than catch has now; remove it"):
        record_example("catch", tmp_path / "runs", tmp_path / "out", said.append)
