"""Held actions: one decision for several steps of the world, as in `dm_control:cartpole-swingup?repeat=4`.

Not in the paper: its steps in Atari are four frames long already, and its data of DM Control hold nothing. Many others
play DM Control this way (PlaNet: 2 to 8 steps, by task; TD-MPC2: 2), since what one push of 10 ms changes is little to
learn from. Tutorial: tutorials/environments.md.
"""

from mzu.environments.environment import Environment, is_legal


class HeldActions(Environment):
    """`world`, in which one step takes the action `repeat` times.

    part             of up to `repeat` steps of the world
    reward           the sum, not discounted
    observation      the last one
    end              at once where the world ends, terminated or truncated, with the rewards so far
    legal actions    those of the world now; where the action stops being legal, the hold ends early, and the next
                     decision chooses again

    Time limits are the world's: 1,000 steps of it are 250 steps here with `repeat` 4.
    """

    def __init__(self, world: Environment, repeat: int):
        if repeat < 1 or repeat != int(repeat):
            raise ValueError(f"{world.id}: repeat is {repeat}, but must be a whole number of at least 1")
        if world.unheld is not world:
            raise ValueError(f"{world.id} holds its actions already; give the world itself and one repeat")
        super().__init__(f"{world.id}?repeat={repeat}", world.spaces)
        self.world, self.repeat = world, int(repeat)
        self.frames_per_second = world.frames_per_second / repeat
        self.time_limit = world.time_limit and -(-world.time_limit // self.repeat)

    @property
    def unheld(self) -> Environment:
        return self.world

    def _reset(self, seed):
        return self.world.reset(seed)

    def _step(self, action):
        total = 0.0
        for _ in range(self.repeat):
            observation, reward, terminated, truncated = self.world.step(action)
            total += reward
            if terminated or truncated or not is_legal(self.world, action):
                break
        return observation, total, terminated, truncated

    def legal_actions(self):
        return self.world.legal_actions()

    def render(self):
        return self.world.render()

    def close(self):
        super().close()
        self.world.close()


def split_id(id: str) -> tuple[str, int | None]:
    """The id of the world, and for how many steps actions are held (None: the id does not say).

    >>> split_id("CartPole-v1?repeat=2")
    ('CartPole-v1', 2)
    """
    world, mark, option = id.partition("?")  # no other part of an id has a '?', Gymnasium's names included
    if not mark:
        return id, None
    if not world:
        raise ValueError(f"'{id}' names no environment before the '?'; write for instance catch?repeat=2")
    name, _, number = option.partition("=")
    if name != "repeat":
        what = f"the option '{name}', which is not known" if name else "nothing behind the '?'"
        raise ValueError(f"'{id}' has {what}; the one option of an id is repeat, as in {world}?repeat=4")
    if not (number.isascii() and number.isdigit()):
        raise ValueError(f"'{id}' has the repeat '{number}', but it must be a whole number, as in {world}?repeat=4")
    return world, int(number)


def held_id(id: str, repeat: int) -> str:
    """The id of the same world with another `repeat`.

    >>> held_id("catch?repeat=4", 2), held_id("catch?repeat=4", 1)
    ('catch?repeat=2', 'catch')
    """
    world, _ = split_id(id)
    return world if repeat == 1 else f"{world}?repeat={repeat}"


def spoken_repeat(repeat: int) -> str:
    """ "4 steps", for messages."""
    return f"{repeat} step" if repeat == 1 else f"{repeat} steps"
