"""Kernels that hardly tell points apart: how many digits rounding leaves of the errors."""

import warnings
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .inputs import describe_bag

if TYPE_CHECKING:
    from .bags import Bags
    from .statistics import BagStatistics

__all__ = ["too_close", "warn_of_close_points"]

# Scatter over k(x, x) below which rounding takes more than a thousandth of it (of values in single precision)
# or a millionth (in double).
_LEAST_SCATTER = {"float32": 1e-4, "float64": 1e-10}


def too_close(s: "BagStatistics", precision: npt.DTypeLike) -> npt.NDArray[np.bool_]:
    """Return for each bag whether its points differ so little in the kernel that its scatter has lost its digits.

    Parameters
    ----------
    s : BagStatistics
        Statistics of the bags.
    precision : dtype
        Of the kernel values.

    Returns
    -------
    ndarray of bool, shape (B,)
        False for bags of one point.

    Examples
    --------
    >>> from stbmta import RBF, Bags, bag_statistics
    >>> too_close(bag_statistics(Bags.from_list([[0.0, 1e-4], [0.0, 1.0], [3.0]]), RBF(1.0)), "float32")
    array([ True, False, False])
    """
    return (s.scatter < _LEAST_SCATTER[np.dtype(precision).name] * s.diagonal) & (s.sizes > 1)


def warn_of_close_points(bags: "Bags", s: "BagStatistics") -> None:
    """Say where rounding has taken the digits of errors, and what to do. Equal points have no error to lose.

    Parameters
    ----------
    bags : Bags
        The bags that the statistics are of.
    s : BagStatistics
        Of these bags, in double precision.

    Examples
    --------
    >>> from stbmta import RBF, Bags, bag_statistics
    >>> bags = Bags.from_list([[0.0, 0.0], [1.0, 2.0]])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_close_points(bags, bag_statistics(bags, RBF(1e9)))
    >>> print(caught[0].message)
    RBF(bandwidth=1000000000.0) hardly tells the points of bag 1 (index 1) apart: ...
    """
    close = [i for i in np.flatnonzero(too_close(s, np.float64)).tolist() if (bags[i] != bags[i][0]).any()]
    if not close:
        return
    others = f" and {len(close) - 1} other bags" if len(close) > 1 else ""
    warnings.warn(
        f"{s.kernel!r} hardly tells the points of {describe_bag(s.labels[close[0]], close[0])}{others} apart: rounding "
        "takes digits of their errors, and of tests with them. Choose a smaller bandwidth, take out bags that are far "
        "from all others, or use the linear kernel.",
        RuntimeWarning,
        stacklevel=3,
    )
