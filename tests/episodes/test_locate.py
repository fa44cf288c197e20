"""Where a dataset is, and what is said where it is not."""

import pytest
from made_episodes import atari_episodes, control_episodes

from mzu import load_episodes
from mzu.episodes.readers.rlu_atari import write_atari
from mzu.episodes.readers.rlu_control import control_task, write_control


def test_the_shuffled_transition_releases_are_refused_with_the_name_of_the_right_one(tmp_path):
    shuffled = tmp_path / "dm_control_suite" / "cartpole_swingup"
    write_control(shuffled, control_episodes(1), control_task("cartpole_swingup"))
    for source, root in (("rlu:cartpole_swingup", tmp_path), (shuffled, None)):
        with pytest.raises(
            ValueError, match=r"random order .* use the release dm_control_suite_episodes/cartpole_swingup"
        ):
            load_episodes(source, root=root, skip_bad=True)
    write_atari(tmp_path / "atari" / "Asterix", atari_episodes(1))
    with pytest.raises(ValueError, match="use the release atari_episodes_ordered/Asterix"):
        load_episodes("rlu_atari:Asterix", root=tmp_path)


@pytest.mark.parametrize(
    ("source", "root", "sentence"),
    [
        ("rlu:cartpole", "here", "RL Unplugged has no task 'cartpole'; it has cartpole_swingup, "),
        ("rlu:fish_swim", None, "rlu:fish_swim needs the folder that holds the downloaded files: --root"),
        ("rlu:fish_swim", "here", "There are no files of rlu:fish_swim under"),
        ("rlu_atri:Pong", "here", "did you mean rlu_atari:Pong?"),
        ("nowhere.npz", "here", "does not exist"),
        ("", "here", "holds no .npz, no files of RL Unplugged"),
        ("text.txt", "here", "is no .npz and not named like a file of RL Unplugged"),
    ],
)
def test_what_cannot_be_found_is_said_in_one_sentence(source, root, sentence, tmp_path):
    (tmp_path / "text.txt").write_text("x")
    with pytest.raises(ValueError, match=r".+") as error:
        load_episodes(source, root=root and tmp_path)
    assert sentence in str(error.value) and "\n" not in str(error.value)
