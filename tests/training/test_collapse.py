"""A collapse is noticed: far below the best, and surely so."""

import json
from types import SimpleNamespace

from mzu.config import Config
from mzu.training.collapse import is_collapse
from mzu.training.recorder import Recorder
from mzu.training.run_folder import RunFolder


def test_a_run_that_loses_most_of_its_return_has_collapsed():
    assert is_collapse(100, 150, 450)
    assert not is_collapse(300, 350, 450)  # a third is lost
    assert not is_collapse(100, 400, 450)  # nobody knows: the interval reaches far up


def test_negative_returns_are_compared_by_their_size():
    assert is_collapse(-300, -250, -150)
    assert not is_collapse(-200, -180, -150)


def test_a_collapse_is_said_once_for_each_best_network(tmp_path):
    said, folder = [], RunFolder.create(tmp_path / "run", Config())
    (tmp_path / "run" / "best").mkdir()

    def evaluated(recorder, step, mean):
        recorder.trainer.steps = step
        recorder._evaluation = SimpleNamespace(mean=mean, interval=lambda: (mean - 5, mean + 5))
        recorder._notice_collapse()

    recorder = Recorder(SimpleNamespace(config=Config(), steps=0), folder, said.append)
    evaluated(recorder, 100, 10.0)  # nothing to fall from yet
    for best in (100, 300):
        (tmp_path / "run" / "best" / "best.json").write_text(json.dumps({"step": best, "mean": 400.0}))
        for step in (best + 50, best + 100):
            evaluated(recorder, step, 10.0)
    assert len(said) == 2
    assert said[0].startswith("learner step 150: the run has collapsed: it earns 10.0, at step 100 it earned 400.0")
    assert f"`mzu explain {tmp_path / 'run'}` compares the two" in said[0]
