"""What all pictures share."""

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "BLACK",
    "BLUE",
    "GRAY",
    "GREEN",
    "ORANGE",
    "PURPLE",
    "SKY",
    "VERMILION",
    "axes",
    "label_text",
    "name_points",
    "some_bags",
    "tick_names",
]

# The palette of Okabe and Ito.
BLACK, ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE, GRAY = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
    "#8C8C8C",
)

Array = npt.NDArray[np.float64]

# A picture has room for this many bags; of more, some are shown.
_MOST_BAGS = 1000
# A matrix has room for this many names, and for this many letters of each.
_MOST_NAMES = 40
_LONGEST_NAME = 20


def axes(ax: Any, figsize: tuple[float, float] = (5.0, 4.0)) -> tuple[Any, Any]:
    """Return figure and axes: those given, or new ones outside pyplot's list of open figures."""
    if ax is None:
        from matplotlib.figure import Figure

        figure = _new_figure(Figure, figsize)
        ax = figure.add_subplot()
    ax.spines[["top", "right"]].set_visible(False)
    return ax.figure, ax


def _new_figure(kind: Any, figsize: tuple[float, float]) -> Any:
    """Make a figure; in a notebook or with pyplot in use, one that is shown."""
    import sys

    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        return pyplot.figure(figsize=figsize, layout="constrained")
    return kind(figsize=figsize, layout="constrained")


def label_text(label: Any) -> str:
    """Write a label as text; the parts of a tuple are separated by slashes.

    Examples
    --------
    >>> label_text(("a", 1))
    'a / 1'
    """
    return " / ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def name_points(ax: Any, places: Array, labels: npt.NDArray[Any]) -> None:
    """Write labels beside points, leaving out those that would cover one that is written already."""
    low = places.min(axis=0)
    spread = np.maximum(places.max(axis=0) - low, np.finfo(float).tiny)
    written: list[Array] = []
    for place, label in zip(places, labels.tolist(), strict=True):
        text = label_text(label)
        at = (place - low) / spread
        room = np.array([0.02 + 0.012 * len(text), 0.035])
        if any((np.abs(at - other) < room).all() for other in written):
            continue
        written.append(at)
        ax.annotate(text, place, (4, 4), textcoords="offset points", fontsize=7)


def some_bags(n_bags: int) -> npt.NDArray[np.int64]:
    """Return the bags that a picture shows: all, or 1000 at equal steps.

    Examples
    --------
    >>> some_bags(3), len(some_bags(10_000))
    (array([0, 1, 2]), 1000)
    """
    return np.linspace(0, n_bags - 1, min(n_bags, _MOST_BAGS)).astype(np.int64)


def tick_names(ax: Any, labels: npt.NDArray[Any]) -> None:
    """Write the labels of bags along both axes of a matrix, shortened, if they are few enough to be read."""
    if len(labels) > _MOST_NAMES:
        return
    names = [
        text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"
        for text in map(label_text, labels.tolist())
    ]
    size = 8 if len(names) <= 20 else 6
    ax.set_xticks(range(len(names)), names, rotation=90, fontsize=size)
    ax.set_yticks(range(len(names)), names, fontsize=size)
