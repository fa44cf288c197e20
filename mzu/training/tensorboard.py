"""The log as TensorBoard events, where the package tensorboard is installed (the extra `tensorboard`)."""

from pathlib import Path

from mzu.extras import is_installed


class TensorBoardLog:
    """Writes the numbers of the log's rows as scalars."""

    def __init__(self, folder: Path):
        from tensorboard.summary import Writer

        self._writer = Writer(str(folder))

    def write(self, row: dict) -> None:
        for name, value in row.items():
            if name != "step" and value != "":
                self._writer.add_scalar(name, value, row["step"])
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


class NoLog:
    """Where TensorBoard is not installed, or nothing is to be kept."""

    def write(self, row: dict) -> None:
        pass

    def close(self) -> None:
        pass


def open_tensorboard(folder) -> TensorBoardLog | NoLog:
    """A log in the run's folder `tensorboard/`, or one that does nothing."""
    if folder is None or not is_installed("tensorboard"):
        return NoLog()
    return TensorBoardLog(folder.path / "tensorboard")
