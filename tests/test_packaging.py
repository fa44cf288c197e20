"""requirements.txt and setup.cfg say the same thing, once exactly and once loosely."""

import configparser
import importlib.metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import mzu
from mzu.installation import PYTHON_VERSIONS

REPOSITORY = Path(__file__).parent.parent


def required_packages(text):
    """The requirements in a list such as those of setup.cfg, by name."""
    lines = [line.split(" #")[0].strip() for line in text.splitlines()]
    requirements = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(requirement.name): requirement for requirement in requirements}


SETUP = configparser.ConfigParser()
SETUP.read(REPOSITORY / "setup.cfg")
NEEDED = required_packages(SETUP["options"]["install_requires"])
EXTRAS = {extra: required_packages(text) for extra, text in SETUP["options.extras_require"].items()}
PINNED = required_packages((REPOSITORY / "requirements.txt").read_text())


def test_every_requirement_is_pinned_to_one_version():
    assert NEEDED.keys() <= PINNED.keys()
    for name, requirement in PINNED.items():
        assert [specifier.operator for specifier in requirement.specifier] == ["=="], name


def test_every_pin_lies_within_the_bounds_of_setup_cfg():
    for name, pinned in PINNED.items():
        version = next(iter(pinned.specifier)).version
        for requirements in [NEEDED, *EXTRAS.values()]:
            if name in requirements:
                assert requirements[name].specifier.contains(version), f"{requirements[name]} excludes {version}"


def test_mujoco_4_is_excluded():
    assert not NEEDED["mujoco"].specifier.contains("4.0.0")


def test_the_extras_are_the_documented_ones():
    assert EXTRAS.keys() == {"atari", "data", "classroom", "peers", "tensorboard", "dev"}


def test_python_3_11_and_3_12_are_supported():
    supported = SpecifierSet(SETUP["options"]["python_requires"])
    assert [minor for minor in range(20) if supported.contains(f"3.{minor}.5")] == [11, 12]
    assert PYTHON_VERSIONS == ((3, 11), (3, 12))


def test_the_installed_version_is_the_version_of_the_package():
    assert importlib.metadata.version("mzu") == mzu.__version__


def test_the_installed_requirements_are_those_of_setup_cfg():
    installed = [Requirement(line) for line in importlib.metadata.requires("mzu")]
    always = {canonicalize_name(requirement.name) for requirement in installed if requirement.marker is None}
    assert always == NEEDED.keys(), "setup.cfg has changed since the last pip install -e ."
