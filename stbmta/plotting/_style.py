"""What all pictures share."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ..labels import label_list, plain_label

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
    "count_bags",
    "label_text",
    "name_points",
    "plain_ticks",
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
# A picture has room for this many letters of a name, and a matrix for names of at least so many points.
_LONGEST_NAME = 25
_SMALLEST_FONT = 4.5


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


def count_bags(count: int) -> str:
    """Write a number of bags in words.

    Examples
    --------
    >>> count_bags(1), count_bags(3)
    ('1 bag', '3 bags')
    """
    return f"{count} bag{'s' * (count != 1)}"


def label_text(label: Any, *, longest: int | None = None) -> str:
    r"""Write a label as text that matplotlib shows as it is, without reading formulas between dollars.

    Parameters
    ----------
    label : object
        The parts of a tuple are separated by slashes.
    longest : int, optional
        Shorten to so many letters, in the middle: names often differ at the end.

    Examples
    --------
    >>> label_text(("a", 1)), label_text("$1 to $5"), label_text("a long name", longest=7)
    ('a / 1', '\\$1 to \\$5', 'a l…ame')
    """
    text = " / ".join(map(str, label)) if isinstance(label, tuple) else str(plain_label(label))
    if longest is not None and len(text) > longest:
        half = (longest - 1) // 2
        text = f"{text[: longest - 1 - half]}…{text[-half:]}"
    return text.replace("$", r"\$")


def name_points(ax: Any, places: Array, labels: npt.NDArray[Any]) -> None:
    """Write labels beside points, leaving out those that would cover one that is written already."""
    low = places.min(axis=0)
    spread = np.maximum(places.max(axis=0) - low, np.finfo(float).tiny)
    written: list[Array] = []
    for place, label in zip(places, label_list(labels), strict=True):
        text = label_text(label, longest=_LONGEST_NAME)
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
    """Write the labels of bags along both axes of a matrix, shortened, if there is room to read them; else nothing."""
    size = min(8.0, 0.75 * 72 * ax.get_position().height * ax.figure.get_figheight() / len(labels))
    if size < _SMALLEST_FONT:  # numbers would be read as those of bags, which stand in another order
        ax.set_xticks([])
        ax.set_yticks([])
        return
    names = [label_text(label, longest=_LONGEST_NAME) for label in label_list(labels)]
    ax.set_xticks(range(len(names)), names, rotation=90, fontsize=size)
    ax.set_yticks(range(len(names)), names, fontsize=size)


def plain_ticks(axis: Any) -> None:
    """Put numbers such as 20, 50, 100 on a logarithmic axis, instead of powers and multiples of powers."""
    from matplotlib.ticker import MaxNLocator

    low, high = sorted(axis.get_view_interval())
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    choices = [np.sort(np.outer(powers, steps).ravel()) for steps in ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0))]
    # In a narrow range equal steps do.
    choices.append(np.asarray(MaxNLocator(5).tick_values(low, high)))
    inside = [ticks[(low <= ticks) & (ticks <= high)] for ticks in choices]
    ticks = next((ticks for ticks in inside if len(ticks) >= 3), inside[-1])
    ticks = ticks[:: -(-len(ticks) // 8)]
    axis.set_ticks(ticks, [f"{tick:.4g}" for tick in ticks])
    axis.set_ticks([], minor=True)
