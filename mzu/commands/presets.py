"""`mzu presets`: the named settings, what one of them says, and whether it holds."""

from pathlib import Path

from mzu.presets import PRESETS, preset

FIRST_SEED = 100  # settings were chosen with smaller ones


def add_arguments(parser) -> None:
    parser.add_argument("name", nargs="?", help="show the settings of this one")
    parser.add_argument("--json", action="store_true", help="all its settings, as a run's config.json has them")

    parser.add_argument("--check", action="store_true", help="train it with several seeds: does it hold?")
    parser.add_argument("--curves", action="store_true",
                        help="make its reference curves of the runs that --check left in --out")  # fmt: skip
    parser.add_argument(
        "--seeds", type=int, metavar="N", help=f"for --check: how many, from {FIRST_SEED} on (default 5, online 3)"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder of the runs of --check (default runs/check)")


def run(arguments) -> int:
    """Lists the presets, prints one, or checks one; 1 where it does not hold."""
    given = [
        f"--{name}"
        for name in ("json", "check", "curves", "seeds", "out")
        if getattr(arguments, name) not in (None, False)
    ]
    if arguments.name is None:
        if given:
            raise ValueError(f"{given[0]} is about one preset; say which: `mzu presets NAME {given[0]}`")
        width = max(map(len, PRESETS))
        for name, one in PRESETS.items():
            print(f"{name:<{width}}  {one.summary}")
        print("\n`mzu train NAME` trains one; `mzu presets NAME` shows how it differs from the defaults.")
        return 0
    chosen = preset(arguments.name)
    if arguments.check:
        return _check(arguments)
    if arguments.curves:
        return _curves(arguments)
    if not set(given) <= {"--json"}:
        raise ValueError(f"{given[-1]} goes with --check")
    if arguments.json:
        print(chosen.config.to_json())
        return 0
    print(f"# {chosen.summary}")
    if chosen.compare:
        print("# trains behaviour cloning, CRR and Unplugged on the same data, and compares them")
    print("\n".join(chosen.config.differences() or ["# the defaults, all of them"]))
    return 0


def _check(arguments) -> int:
    from mzu.experiments.preset_proof import broken_claims, prove

    chosen, count = preset(arguments.name), arguments.seeds
    if count is None:
        count = 5 if chosen.compare else 3
    if count < 1:
        raise ValueError(f"--seeds is {count}, but must be at least 1")
    out = arguments.out or Path("runs/check")
    rows = prove(arguments.name, range(FIRST_SEED, FIRST_SEED + count), out)
    broken = broken_claims(rows, chosen.goal)
    print("\n".join(broken) or f"{arguments.name} holds in all {count} seeds")
    print(f"The runs are in {out}, their table in {out / arguments.name}.csv")
    return 1 if broken else 0


def _curves(arguments) -> int:
    from mzu.experiments.preset_curves import LEAST_SEEDS, curve_seeds, write_curves

    path = write_curves(arguments.name, arguments.out or Path("runs/check"))
    seeds = curve_seeds(path)
    print(f"wrote {path}: {len(seeds)} seeds, {', '.join(map(str, seeds))}")
    if len(seeds) < LEAST_SEEDS:
        print(f"A reference that comes with mzu has at least {LEAST_SEEDS} seeds: `--check --seeds {LEAST_SEEDS}`")
    return 0
