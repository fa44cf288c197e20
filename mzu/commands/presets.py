"""`mzu presets`: the named settings, and what one of them says."""

from mzu.presets import PRESETS, preset


def add_arguments(parser) -> None:
    parser.add_argument("name", nargs="?", help="show the settings of this one")
    parser.add_argument("--json", action="store_true", help="all its settings, as a run's config.json has them")


def run(arguments) -> int:
    """Lists the presets, or prints one."""
    if arguments.name is None:
        if arguments.json:
            raise ValueError("--json shows one preset; say which: `mzu presets NAME --json`")
        width = max(map(len, PRESETS))
        for name, one in PRESETS.items():
            print(f"{name:<{width}}  {one.summary}")
        print("\n`mzu train NAME` trains one; `mzu presets NAME` shows how it differs from the paper's Atari settings.")
        return 0
    chosen = preset(arguments.name)
    if arguments.json:
        print(chosen.config.to_json())
        return 0
    print(f"# {chosen.summary}")
    if chosen.compare:
        print("# trains behaviour cloning, CRR and Unplugged on the same data, and compares them")
    print("\n".join(chosen.config.differences() or ["# the defaults, all of them"]))
    return 0
