"""requirements.txt and setup.cfg say the same thing, once exactly and once loosely."""

import ast
import configparser
import importlib.metadata
import sys
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import mzu
from mzu import extras
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
    assert not EXTRAS["control"]["mujoco"].specifier.contains("4.0.0")


def test_the_extras_are_the_documented_ones():
    assert EXTRAS.keys() == {
        "atari", "minatar", "control", "video", "notebooks", "data", "classroom", "bench", "tensorboard", "peers",
        "recording", "all", "dev",
    }  # fmt: skip


def test_the_extra_all_has_everything_but_other_implementations_and_test_tools():
    assert EXTRAS["all"]["mzu"].extras == EXTRAS.keys() - {"all", "dev", "peers", "recording"}


def imported_packages(path):
    """The packages of others that a module imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
        for name in names:
            package = name.split(".")[0]
            if package != "mzu" and package not in sys.stdlib_module_names:
                yield package


IMPORTED = {package for path in (REPOSITORY / "mzu").rglob("*.py") for package in imported_packages(path)}
# What a package is called where it is installed from, if not as it is imported.
DISTRIBUTIONS = {"PIL": "pillow", "cv2": "opencv-python-headless", "google": "protobuf"}


def distribution(package):
    return canonicalize_name(DISTRIBUTIONS.get(package, package))


def test_every_package_that_is_imported_is_declared():
    assert {"h5py", "PIL", "google", "scipy"} <= IMPORTED
    core = {package for package in IMPORTED if distribution(package) in NEEDED}
    assert core.isdisjoint(extras.EXTRAS)
    assert IMPORTED - core <= extras.EXTRAS.keys()
    for package, extra in extras.EXTRAS.items():
        assert distribution(package) in EXTRAS[extra], f"{package} is not in the extra {extra}"


def test_every_package_that_is_declared_is_imported():
    needed_by_others = {"tf-keras"}  # TensorFlow Probability
    assert NEEDED.keys() - {distribution(package) for package in IMPORTED} == needed_by_others


def test_modules_of_the_core_import_no_package_of_an_extra_at_the_top():
    """So that a core-only installation can import them; a function that needs one says so with `require`."""
    rooms_of_extras = {"classroom", "bench"}
    for path in (REPOSITORY / "mzu").rglob("*.py"):
        if path.relative_to(REPOSITORY / "mzu").parts[0] in rooms_of_extras:
            continue
        for node in ast.parse(path.read_text()).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
            assert not {name.split(".")[0] for name in names} & extras.EXTRAS.keys(), path


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
