"""How far runs are, for people: a bar for each in a terminal, curves that grow in a notebook (live_curves.py), a line
every few seconds elsewhere.
"""

import sys
import time

from mzu.training.live_curves import LiveCurves
from mzu.training.results import shown_return, shown_time


class Bars:
    """A progress bar for each run in a terminal, with its loss, its value and its latest returns."""

    def __init__(self):
        from tqdm import tqdm

        self._tqdm, self._bars, self._figures = tqdm, {}, {}

    def begin(self, label: str, total: int) -> None:
        self._bars[label] = self._tqdm(total=total, desc=label, unit="step", position=len(self._bars))
        self._figures[label] = {}

    def show(self, label: str, figures: dict) -> None:
        """After a learner step, or some: its figures, as `train_run` gives them."""
        bar, shown_figures = self._bars[label], self._figures[label]
        if "evaluating" in figures:
            bar.update(bar.total - bar.n)
            bar.set_postfix_str(f"final evaluation by {figures['evaluating']}")
            return
        if bar.n == 0 and figures["step"] > 1:
            bar.n = bar.initial = figures["step"] - 1  # a resumed run: the speed counts from here
        shown_figures |= {"loss": f"{figures['loss']:.3g}", "value": f"{figures['value']:.3g}"}
        names = {"fresh_return": "playing", "evaluation": "evaluation"}
        shown_figures |= {names[key]: shown_return(figures[key]) for key in names if figures[key] != ""}
        if "standing" in figures:  # the first word says it: within, below, above
            shown_figures["band"] = figures["standing"].partition(" ")[0]
        bar.set_postfix(shown_figures, refresh=False)
        bar.update(figures["step"] - bar.n)

    def say(self, text: str) -> None:
        self._tqdm.write(text, file=sys.stdout)
        sys.stdout.flush()

    def close(self) -> None:
        for bar in self._bars.values():
            bar.close()


class Lines:
    """A line for each run every few seconds: where it is, its value, its latest return, and the time left."""

    def __init__(self, seconds: float):
        self._seconds, self._totals, self._begun, self._shown, self._returns = seconds, {}, {}, {}, {}
        self._standings: dict[str, str] = {}

    def begin(self, label: str, total: int) -> None:
        self._totals[label], self._shown[label] = total, time.monotonic()

    def show(self, label: str, figures: dict) -> None:
        now, total = time.monotonic(), self._totals[label]
        is_due = now - self._shown[label] >= self._seconds
        if is_due:
            self._shown[label] = now
        if "evaluating" in figures:
            if is_due:
                self.say(f"{label}: final evaluation by {figures['evaluating']}")
            return
        step, latest = figures["step"], figures["evaluation"]
        latest = figures["fresh_return"] if latest == "" else latest
        if latest != "":
            self._returns[label] = latest
        if "standing" in figures:
            self._standings[label] = figures["standing"]
        first, start = self._begun.setdefault(label, (step, now))  # compiling, before the first step, is no speed
        if not is_due:
            return
        parts = [f"step {step} of {total}", f"value {shown_return(figures['value'])}"]
        if label in self._returns:
            parts.append(f"return {shown_return(self._returns[label])}")
        if label in self._standings:  # said once for each evaluation: it is long
            parts[-1] += f", {self._standings.pop(label)}"
        if step > first:
            parts.append(f"{shown_time((now - start) / (step - first) * (total - step))} left")
        self.say(f"{label}: {', '.join(parts)}")

    def say(self, text: str) -> None:
        print(text, flush=True)

    def close(self) -> None:
        pass


class Silence:
    """Shows nothing."""

    def begin(self, label: str, total: int) -> None:
        pass

    def show(self, label: str, figures: dict) -> None:
        pass

    def say(self, text: str) -> None:
        pass

    def close(self) -> None:
        pass


def open_display(seconds: float) -> Bars | LiveCurves | Lines | Silence:
    """What suits the place: `seconds` pass between two lines where there is nothing better; with 0 nothing is shown."""
    if not seconds:
        return Silence()
    if _in_notebook():
        return LiveCurves()
    return Bars() if sys.stderr.isatty() else Lines(seconds)


def _in_notebook() -> bool:
    """Whether a kernel runs this, which can replace a picture that it has shown."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and "IPKernelApp" in shell.config
