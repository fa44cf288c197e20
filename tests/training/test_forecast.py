import json

import pytest

import mzu
from mzu.training import forecast as module
from mzu.training import single_run
from mzu.training.calibration import STEPS, Calibration
from mzu.training.clock import Time
from mzu.training.forecast import Announcement, forecast, shown_about


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr(module, "available_cores", lambda: 2)


def run(processor, cores=1.0, memory=100, measured=None):
    """Learner steps alone, which keep `cores` busy and had all of them."""
    part = {STEPS: Time(processor / cores, processor)}
    return Calibration(part, cores, memory, cores if measured is None else measured)


def runs(*given):
    return {str(number): one for number, one in enumerate(given)}


@pytest.mark.parametrize(
    "jobs, seconds",
    [
        (3, 15.0),  # thirty seconds of processors on two cores
        (2, 20.0),  # two at once, then the third with a core to spare
        (1, 30.0),
    ],
)
def test_three_runs_share_two_cores(jobs, seconds):
    # Alone, a run has one core, whatever the others would take.
    found = forecast(runs(*[run(10.0)] * 3), jobs)
    assert found.seconds == pytest.approx(seconds)
    assert found.processor_seconds == 30


def test_what_is_left_of_the_longest_run_has_the_cores_for_itself():
    # Both at a core each for 10 s; then 20 - 10 = 10 s of processors at 2 cores.
    found = forecast(runs(run(20.0, cores=2.0, measured=1.0), run(10.0, cores=2.0, measured=1.0)), 2)
    assert found.seconds == pytest.approx(10 + 5)


def test_cores_that_other_programs_had_are_not_counted_on():
    busy = [run(10.0, cores=1.0, measured=0.5)] * 2
    assert forecast(runs(*busy), 2).seconds == pytest.approx(20)


def test_a_single_run_takes_what_was_measured():
    one = Calibration({"starting": Time(3.0, 2.0), STEPS: Time(7.0, 9.0)}, 1.7, 100, 1.3)
    found = forecast({"": one})
    assert (found.seconds, found.processor_seconds) == (10.0, 11.0)


def test_what_passed_before_the_processes_began_counts():
    found = forecast(runs(*[run(10.0)] * 2), 2, before=Time(4.0, 3.0))
    assert (found.seconds, found.processor_seconds) == (14.0, 23.0)


def test_memory_is_that_of_the_largest_runs_at_once():
    given = runs(run(1.0, memory=10), run(1.0, memory=30), run(1.0, memory=20))
    assert [forecast(given, jobs).memory for jobs in (1, 2, 3, 4)] == [30, 50, 60, 60]


def test_what_does_not_fit_is_said(monkeypatch):
    monkeypatch.setattr(module, "available_memory", lambda: 250)
    assert "but there are 250 bytes; --jobs 1 needs less" in forecast(runs(*[run(1.0)] * 3), 3).sentence
    assert "but there are" not in forecast(runs(*[run(1.0)] * 3), 2).sentence


def test_a_forecast_is_said_once_and_kept_when_all_that_begin_are_measured(tmp_path):
    said = []
    announcement = Announcement(["a", "b", "c"], 2, tmp_path, said.append)
    announcement.note("a", run(10.0))
    assert not said
    announcement.note("b", run(30.0))
    announcement.note("c", run(30.0))
    # The third, taken to be as long as the second, begins where the first ends: 10 + 30.
    assert said == ["this will take about 40 s (1 min 10 s of processors), and at most 200 bytes of memory"]
    kept = json.loads((tmp_path / "forecast.json").read_text())
    assert kept["processor_seconds"] == 70 and list(kept["runs"]) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "seconds, text",
    [(0.2, "1 s"), (4.4, "4 s"), (83, "1 min 25 s"), (119, "2 min"), (754, "13 min"), (7300, "2 h 2 min")],
)
def test_a_forecast_has_two_digits_or_so(seconds, text):
    assert shown_about(seconds) == text


@pytest.fixture
def left(tmp_path, monkeypatch):
    """What is left on the disk, but for files that TensorFlow removes when Python ends."""
    here, temporary = tmp_path / "here", tmp_path / "temporary"
    here.mkdir()
    temporary.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    return lambda: [*here.rglob("*"), *temporary.glob("mzu*")]


TINY = {"learning.training_steps": 50, "learning.jit_compile": False, "evaluation.episodes": 2}


def test_a_dry_run_leaves_nothing_on_the_disk(left):
    found = mzu.train("cartpole_offline", only="unplugged", dry_run=True, **TINY)
    assert found.seconds > 0 and "On 2 cores: about" in str(found)
    assert left() == []


def test_a_run_that_cannot_be_measured_is_trained_all_the_same(tmp_path, monkeypatch, capsys):
    def fails(*_):
        raise ValueError("there is one such world, and it is taken")

    monkeypatch.setattr(single_run, "calibrate", fails)
    monkeypatch.setattr(single_run, "LEAST_STEPS", 1)
    short = TINY | {"learning.training_steps": 2}
    result = mzu.train("cartpole_offline", only="behaviour_cloning", out=tmp_path / "run", progress=10, **short)
    assert "no forecast: there is one such world, and it is taken" in capsys.readouterr().out
    assert result.evaluation["policy"].mean > 0


@pytest.mark.slow
def test_a_dry_run_of_a_comparison_measures_each_run_and_leaves_nothing(left):
    found = mzu.train("cartpole_offline", dry_run=True, **TINY)
    assert set(found.runs) == {"behaviour_cloning", "crr", "unplugged"} and found.memory > 3e8
    assert left() == []


@pytest.mark.slow
def test_a_run_takes_what_its_forecast_says(tmp_path):
    """Processor seconds, which other programs on the machine change little."""
    settings = {"learning.training_steps": 600, "evaluation.period": 0, "evaluation.episodes": 10}
    result = mzu.train("swingup", out=tmp_path / "run", progress=0, **settings)
    kept = json.loads((result.folder / "forecast.json").read_text())
    parts, taken = kept["runs"][""]["parts"], json.loads((result.folder / "result.json").read_text())
    learned = parts["filling the replay"][1] + parts["learner steps"][1]
    assert learned == pytest.approx(taken["processor_seconds"], rel=0.25)
    assert kept["memory"] == pytest.approx(taken["memory"], rel=0.25)
