"""Networks on disk: `NAME.keras` (models and weights) or `NAME.weights.h5` (weights), with `NAME.json` beside it.

Only weights are ever read: the models are built anew from config and spaces, so that no layer, function or module that
a stranger wrote into a file is looked at. (Other programs open NAME.keras with `keras.saving.load_model`.)

A file appears under its final name whole or not at all (`mzu/files.py`). It carries config and spaces inside it, so
that no crash between two files can ever pair it with another network's; the JSON file beside it is the same text for
people to read.
"""

import dataclasses
import json
import os
import pathlib
import zipfile

import h5py

from mzu.config import Config
from mzu.environments.spaces import Spaces
from mzu.files import check_seal, seal, written_whole
from mzu.networks.network import Network, build_network
from mzu.silent_tensorflow import keras

KERAS, WEIGHTS = ".keras", ".weights.h5"
DESCRIPTION = "mzu.json"  # the member of a .keras archive, or the attribute of a .weights.h5 file
FORMAT = "mzu network 1"


def save_network(network: Network, path: str | os.PathLike) -> None:
    """Saves to `NAME.keras` or `NAME.weights.h5`, crash-safe, and writes `NAME.json` beside it."""
    path = pathlib.Path(path)
    name = _without_suffix(path)
    text = _describe(network)
    container = _container(network)
    with written_whole(path) as temporary:
        if path.name.endswith(KERAS):
            container.save(temporary)
            with zipfile.ZipFile(temporary, "a") as archive:
                archive.writestr(DESCRIPTION, text)
                seal(archive)
        else:
            container.save_weights(temporary)
            with h5py.File(temporary, "a") as file:
                file.attrs[DESCRIPTION] = text
    with written_whole(path.with_name(name + ".json")) as temporary:
        temporary.write_text(text)


def load_network(path: str | os.PathLike) -> Network:
    """Reads what `save_network` wrote."""
    path = pathlib.Path(path)
    _without_suffix(path)
    if not path.is_file():
        raise FileNotFoundError(2, "No such file", str(path))
    try:
        text = _read_description(path)
    except Exception as error:
        raise ValueError(
            f"{path} is damaged or no network saved by mzu ({error}); go back to an earlier checkpoint"
        ) from None
    config, spaces = _parse_description(text, path)
    try:
        network = build_network(config, spaces)
        _container(network).load_weights(path)
        return network
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ValueError(f"{path} is damaged ({reason}); go back to an earlier checkpoint") from None


def _container(network: Network) -> keras.Model:
    """One Keras model around all sub-models: an observation, then one action, and every output."""
    observation = keras.Input(network.spaces.observation_shape, dtype=network.spaces.observation_dtype)
    action = keras.Input(network.dynamics.input_shape[1][1:], dtype=network.dynamics.inputs[1].dtype)
    hidden = network.representation(observation)
    next_hidden, reward = network.dynamics([hidden, action])
    outputs = [reward, *network.prediction(next_hidden)]
    if network.action_value is not None:
        outputs.append(network.action_value(hidden))
    return keras.Model([observation, action], outputs, name="network")


def _describe(network: Network) -> str:
    sections = {"network": dataclasses.asdict(network.config), "spaces": dataclasses.asdict(network.spaces)}
    return json.dumps({"format": FORMAT, **sections}, indent=2) + "\n"


def _read_description(path: pathlib.Path) -> str:
    if path.name.endswith(KERAS):
        with zipfile.ZipFile(path) as archive:
            check_seal(archive)
            if damaged := archive.testzip():  # HDF5 reads here and there, and would not meet the checksum at the end
                raise ValueError(f"the bytes of {damaged} do not match their checksum")
            return archive.read(DESCRIPTION).decode()
    with h5py.File(path) as file:
        return file.attrs[DESCRIPTION]


def _parse_description(text: str, path: pathlib.Path):
    try:
        description = json.loads(text)
        if description["format"] != FORMAT:
            raise ValueError(f"its format is {description['format']!r}, but this version reads {FORMAT!r}")
        config = Config.from_json(json.dumps({"network": description["network"]})).network
        return config, Spaces(**description["spaces"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None


def _without_suffix(path: pathlib.Path) -> str:
    for suffix in (KERAS, WEIGHTS):
        if path.name.endswith(suffix) and path.name != suffix:
            return path.name.removesuffix(suffix)
    raise ValueError(f"{path} must end in {KERAS} (models and weights) or {WEIGHTS} (weights)")
