"""One run of a comparison in a process of its own: `python -m mzu.training.run_process FOLDER NAME [measure]`.

It tells its parent how far it is by lines of JSON on its standard output: {"calibration": what its parts will take},
with which `measure` ends, figures of learner steps, {"said": a sentence for people}, and at the end
{"ended": "finished"}, {"ended": "interrupted"} or {"ended": a sentence about what went wrong}. When its standard input
is closed, because the parent says stop or is gone, it leaves a checkpoint and ends.
"""

import _thread
import contextlib
import json
import os
import sys
import threading
import time
import traceback

from mzu.training.clock import Time, now
from mzu.training.interruption import interrupt, on_interruption
from mzu.training.results import error_words, with_notes

FINISHED, INTERRUPTED = "finished", "interrupted"
SECONDS_BETWEEN_FIGURES = 0.2


def main(path: str, name: str, task: str = "train") -> int:
    """Trains and evaluates the run in the folder `path`, or measures what that will take."""
    began, tell = now(), _open_channel()
    try:
        with on_interruption(interrupt):
            threading.Thread(target=_stop_when_input_closes, daemon=True).start()
            ended = _measure(path, tell, began) if task == "measure" else _train(path, name, tell, began)
    except KeyboardInterrupt:
        ended = INTERRUPTED
    except (ValueError, OSError) as error:
        ended = error_words(error)
    except Exception as error:
        traceback.print_exc()
        ended = with_notes(f"{type(error).__name__}: {error}", error)
    tell({"ended": ended})
    return 0 if ended == FINISHED else 1


def _measure(path: str, tell, began: Time) -> str:
    from mzu.training.run_folder import RunFolder
    from mzu.training.single_run import measure_run

    tell({"calibration": measure_run(RunFolder(path), began=began).to_json()})
    return FINISHED


def _train(path: str, name: str, tell, began: Time) -> str:
    from mzu.training.run_folder import RunFolder
    from mzu.training.single_run import train_run

    last = 0.0

    def on_figures(figures: dict) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > SECONDS_BETWEEN_FIGURES or figures.get("evaluation") != "":
            last = now
            tell(figures)

    def on_calibration(calibration) -> None:
        tell({"calibration": calibration.to_json()})

    folder = RunFolder(path)
    finished = train_run(folder, name, on_figures, lambda text: tell({"said": text}), None, on_calibration, began)
    return FINISHED if finished else INTERRUPTED


def _open_channel():
    """A function that sends an event to the parent. What libraries print goes to standard error instead."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def tell(event: dict) -> None:
        with contextlib.suppress(BrokenPipeError):  # the parent is gone; the closed input says so, too
            print(json.dumps(event), file=channel, flush=True)

    return tell


def _stop_when_input_closes() -> None:
    # Not sys.stdin, whose lock a thread that still waits would hold when Python ends.
    while os.read(0, 1):
        pass
    _thread.interrupt_main()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
