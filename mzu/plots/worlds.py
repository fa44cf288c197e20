"""Worlds and episodes that are small enough to be drawn whole."""

import numpy as np

# Home, path, fork, swamp, orchard of notebook 01.
PLACE = [(0, 0), (2.6, 0), (5.2, 0), (7.8, -1.7), (7.8, 1.7)]
BEND = {(1, 0): 0.5, (3, 1): -0.33, (4, 1): 0.33}  # of an arrow; others are straight
LABEL = {  # where the text of action a in state s stands
    (0, 0): (-0.1, 1.4),
    (0, 1): (1.3, -0.25),
    (1, 0): (1.3, 0.37),
    (1, 1): (3.9, 0.25),
    (2, 0): (5.9, 1.2),
    (2, 1): (5.8, -1.2),
    (3, 0): (9.6, -1.7),
    (3, 1): (3.3, -2.55),
    (4, 0): (9.6, 1.7),
    (4, 1): (3.3, 2.55),
}
BOX = {"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8}


def draw_five_states(ax, title, states, next_state, texts, widths=1.6) -> None:
    """The world of notebook 01 as a graph: action 0 solid, action 1 dashed.

    states [5] names, next_state [5, 2], texts [5][2] at the arrows, widths of the arrows [5, 2] or one for all
    """
    widths = np.broadcast_to(widths, np.shape(next_state))
    for s, (x, y) in enumerate(PLACE):
        ax.scatter(x, y, s=1500, color="white", edgecolor="black")
        ax.text(x, y, states[s], ha="center", va="center", fontsize=9)
        for a in (0, 1):
            _draw_arrow(ax, s, a, next_state[s][a], widths[s][a])
            ax.text(*LABEL[s, a], texts[s][a], ha="center", va="center", fontsize=9, bbox=BOX)
    ax.set(xlim=(-1.2, 10.3), ylim=(-2.9, 2.9), title=title)
    ax.axis("off")


def _draw_arrow(ax, s, a, target, width) -> None:
    place = np.array(PLACE[s])
    if target == s:  # a loop: upwards at home, to the right elsewhere
        side, across, bend = ([0, 1], [1, 0], -1.6) if s == 0 else ([1, 0], [0, 1], 1.6)
        start = place + 0.45 * np.array(side) - 0.3 * np.array(across)
        end, gap = start + 0.6 * np.array(across), 4
    else:
        start, end, bend, gap = place, PLACE[target], BEND.get((s, a), 0), 21
    look = {"color": f"C{a}", "linestyle": "-" if a == 0 else "--", "linewidth": width}
    shape = {"arrowstyle": "-|>", "mutation_scale": 15, "shrinkA": gap, "shrinkB": gap}
    ax.annotate("", end, start, arrowprops={**look, **shape, "connectionstyle": f"arc3,rad={bend}"})


def draw_episodes(axes, episodes, segment_length) -> None:
    """Episodes of the corridor of notebook 04: cell by step, rewards on the way, the end, and where segments end."""
    for number, (ax, episode) in enumerate(zip(axes, episodes, strict=True)):
        cells, steps = episode.observations[:, 0], np.arange(len(episode) + 1)
        ax.plot(steps, cells, "o-")
        for t, u in enumerate(episode.rewards):
            middle = t + 0.5, (cells[t] + cells[t + 1]) / 2
            ax.text(*middle, f"{u:+.1f}", fontsize=8, ha="center", va="center", bbox=BOX | {"pad": 0.8, "alpha": 1})
        if episode.terminated:
            ax.plot(steps[-1], cells[-1], "ks", markersize=10, label="terminal")
        else:
            ax.plot(steps[-1], cells[-1], "kx", markersize=11, markeredgewidth=2.5, label="cut off")
        for border in range(segment_length, len(episode), segment_length):
            ax.axvline(border - 0.5, color="C1", linestyle="--")
        ax.set(xlabel="step t", title=f"episode {number}", ylim=(-0.5, 7), xticks=steps[::2])
        ax.legend(loc="lower right")
    axes[0].set(ylabel="cell")
