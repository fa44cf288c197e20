"""Learning curves show what was measured."""

from PIL import Image

from mzu.training.curves import Curve, draw_curves


def test_curves_leave_out_what_was_not_measured(tmp_path):
    nan = float("nan")
    names = ("evaluation", "low", "high", "fresh_return", "policy_loss", "value_loss", "reward_loss")
    rows = [{"step": step, **dict.fromkeys(names, nan)} for step in (10, 20)]
    rows[1] |= {"evaluation": 2.0, "low": 1.0, "high": 3.0}
    steps, values = Curve("a", rows).column("evaluation")
    assert steps.tolist() == [20] and values.tolist() == [2.0]
    draw_curves([Curve("a", rows)], "nothing evaluated in the end").savefig(tmp_path / "a.png")
    assert Image.open(tmp_path / "a.png").format == "PNG"
