"""The part of `mzu explain` that looks at a run's model: `mzu explain RUN --model`."""

from mzu.files import written_whole


def run(arguments, is_record: bool) -> int:
    """Makes the report, or reads one that --json wrote, and prints or writes it."""
    _check(arguments, is_record)
    from mzu.explain.model_report import ModelReport

    if is_record:
        report = ModelReport.from_json(arguments.source.read_text())
    else:
        import mzu.explain

        report = mzu.explain.model(arguments.source, arguments.checkpoint, arguments.episodes)
    if arguments.json is not None:
        report.save(arguments.json)
        print(f"{arguments.json}: all numbers")
    if arguments.html is not None:
        with written_whole(arguments.html) as temporary:
            temporary.write_text(report.page(), encoding="utf-8")
        print(f"{arguments.html}: the page")
    if arguments.json is None and arguments.html is None:
        print(report.text(), end="")
    return 0


def _check(arguments, is_record: bool) -> None:
    """Refuses what does not go together."""
    for name in ("episode", "step", "simulations", "compare"):
        if getattr(arguments, name) is not None:
            raise ValueError(f"--{name} is about one position, --model about the whole model; leave one of them out")
    if arguments.serve:
        raise ValueError("--serve shows positions; write the model's page with --model --html FILE")
    if is_record and arguments.checkpoint != "latest":
        raise ValueError(f"{arguments.source} is the record of one checkpoint; --checkpoint needs the folder of a run")
