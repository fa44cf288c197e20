"""`mzu presets`: the named settings, and what one of them says."""

import dataclasses

from mzu.config import Config
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
    print("\n".join(differences(chosen.config) or ["# the defaults, all of them"]))
    return 0


def differences(config: Config) -> list[str]:
    """What `--set` would have to say to make `config` of the defaults."""
    found = []
    default = Config()
    for field in dataclasses.fields(config):
        value, usual = getattr(config, field.name), getattr(default, field.name)
        if not dataclasses.is_dataclass(value):
            pairs = [(field.name, value, usual)]
        else:
            names = [inner.name for inner in dataclasses.fields(value)]
            pairs = [(f"{field.name}.{name}", getattr(value, name), getattr(usual, name)) for name in names]
        found += [f"{name}={_text(value)}" for name, value, usual in pairs if value != usual]
    return found


def _text(value) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)
