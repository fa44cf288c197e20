"""The tutorial on debugging targets shows what its code prints."""

import contextlib
import io
import re
from pathlib import Path

TUTORIAL = Path(__file__).parents[2] / "tutorials" / "debug_reanalyse_targets.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$\n(?:\n```text\n(.*?)^```$)?", flags=re.DOTALL | re.MULTILINE)


def test_the_output_in_the_tutorial_is_what_its_code_prints():
    names = {"__name__": "__main__"}
    blocks = BLOCK.findall(TUTORIAL.read_text())
    assert sum(bool(shown) for _, shown in blocks) > 10
    for code, shown in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(TUTORIAL), "exec"), names)
        assert printed.getvalue().strip() == shown.strip(), code
