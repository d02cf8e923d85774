"""One picture of an estimate."""

from typing import Any

from .errors import ErrorBySizeDisplay
from .neighbors import NeighborsDisplay
from .shrinkage import ShrinkageDisplay
from .weights import WeightsDisplay

__all__ = ["estimate_figure"]


def estimate_figure(estimator: Any) -> Any:
    """Draw who is similar (or who has which weight), where the means went, and the errors by bag size.

    The matrix, which has the names, takes the left; the others stand one above the other on the right. Parts that the
    estimator has no data for are left out.

    Parameters
    ----------
    estimator : any estimator of the package
        Fitted.

    Returns
    -------
    matplotlib.figure.Figure
        To be saved or shown.

    Raises
    ------
    ValueError
        If the estimator has data for no part.

    Examples
    --------
    >>> import numpy as np
    >>> from stbmta import STB
    >>> rng = np.random.default_rng(0)
    >>> est = STB(zeta=1.0, gamma=0.0).fit([rng.normal(size=(9, 5)) for _ in range(6)])
    >>> len(estimate_figure(est).axes)
    3
    """
    from matplotlib.figure import Figure

    displays = displays_of(estimator)
    if not displays:
        raise ValueError(
            f"there is nothing to draw: {type(estimator).__name__} with this kernel weighs points, not bags, and does "
            "not estimate its errors."
        )
    if len(displays) < 3:
        figure = Figure(figsize=(5.0 * len(displays), 4.4), layout="constrained")
        places = list(figure.subplots(1, len(displays), squeeze=False)[0])
    else:
        figure = Figure(figsize=(11.0, 6.6), layout="constrained")
        grid = figure.add_gridspec(2, 2, width_ratios=(1.45, 1.0))
        places = [figure.add_subplot(part) for part in (grid[:, 0], grid[0, 1], grid[1, 1])]
    for display, place in zip(displays, places, strict=True):
        display.plot(ax=place)
    return figure


def displays_of(estimator: Any) -> list[Any]:
    """Return the parts of the picture that the estimator has data for."""
    found: list[Any] = []
    tested = getattr(estimator, "neighbors_", None) is not None
    for kind in (NeighborsDisplay if tested else WeightsDisplay, ShrinkageDisplay, ErrorBySizeDisplay):
        try:
            found.append(kind.from_estimator(estimator))
        except ValueError:
            continue
    return found
