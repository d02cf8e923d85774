"""Printed against exact thresholds of the Gaussian setting, as tables anyone can print."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import gaussian
from ._table import Tabular

__all__ = ["Table", "dimensions", "thresholds"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Tabular):
    """Columns of one length.

    Attributes
    ----------
    columns : dict of str to tuple
        Name and values of each column.
    """

    columns: dict[str, tuple[Any, ...]]

    def _columns(self) -> dict[str, tuple[Any, ...]]:
        return self.columns


def thresholds(n_bags: ArrayLike, dims: ArrayLike, alpha: float = 0.05, C: float = 1000.0) -> Table:
    """Smallest tau as printed and exact, over numbers of bags and dimensions.

    Parameters
    ----------
    n_bags, dims : array_like
        Values of B and d; all combinations are listed.
    alpha : float, default 0.05
        Error probability of each event.
    C : float, default 1000
        The paper's constant, for the printed thresholds.

    Returns
    -------
    Table
        ``printed`` is prop:testgauss; ``exact`` has tau' = tau / 3 as the paper does, ``equal means`` tau' = 0,
        ``one task`` controls the pairs of a single bag only; ``gain`` is printed over exact.

    Examples
    --------
    >>> print(thresholds([100, 2000], [1000, 100_000]).summary())
     bags      dim  printed   exact  equal means  one task   gain
    -----  -------  -------  ------  -----------  --------  -----
      100    1,000    12.21   1.635        0.902     1.167  7.466
      100  100,000   0.3494  0.1188       0.0777   0.09084  2.941
    2,000    1,000     18.2   2.292        1.202      1.53  7.941
    2,000  100,000   0.4266  0.1535      0.09988    0.1128  2.779
    """
    bags, dim = (a.ravel() for a in np.meshgrid(np.atleast_1d(n_bags), np.atleast_1d(dims), indexing="ij"))
    printed, exact = gaussian.tau_min(bags, dim, alpha, C), gaussian.exact_tau(bags, dim, alpha)
    with np.errstate(divide="ignore"):  # two bags and a large alpha need no tau at all
        gain = printed / exact
    columns = {
        "bags": bags,
        "dim": dim,
        "printed": printed,
        "exact": exact,
        "equal means": gaussian.exact_tau(bags, dim, alpha, ratio=0),
        "one task": gaussian.exact_tau(bags, dim, alpha, family="task"),
        "gain": gain,
    }
    return Table(columns={name: tuple(np.atleast_1d(values).tolist()) for name, values in columns.items()})


def dimensions(
    n_bags: ArrayLike, taus: ArrayLike = (1.0, 0.1), alpha: float = 0.05, C: float = 1000.0
) -> Table:
    """Smallest dimension in which tau is allowed, as printed and exact.

    Parameters
    ----------
    n_bags, taus : array_like
        Values of B and tau; all combinations are listed.
    alpha : float, default 0.05
        Error probability of each event.
    C : float, default 1000
        The paper's constant, for the printed dimensions.

    Returns
    -------
    Table
        Columns as in `thresholds`; dimensions are whole numbers, infinite where no number is large enough.

    Examples
    --------
    >>> print(dimensions([10, 1000]).summary())
     bags  tau    printed    exact  equal means   gain
    -----  ---  ---------  -------  -----------  -----
       10    1      7,601    1,108          431   6.86
       10  0.1    760,091   71,830       31,410  10.58
    1,000    1     16,812    3,200        1,245  5.254
    1,000  0.1  1,681,125  207,521       90,744  8.101
    """
    bags, tau = (a.ravel() for a in np.meshgrid(np.atleast_1d(n_bags), np.atleast_1d(taus), indexing="ij"))
    exact = np.ceil(gaussian.exact_dim(tau, bags, alpha))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        printed = np.ceil(gaussian.delta(bags, 1, alpha) / gaussian.delta_max(tau, C))
        gain = printed / exact
    columns = {
        "bags": bags,
        "tau": tau,
        "printed": printed,
        "exact": exact,
        "equal means": np.ceil(gaussian.exact_dim(tau, bags, alpha, ratio=0)),
        "gain": gain,
    }
    return Table(columns={name: tuple(np.atleast_1d(values).tolist()) for name, values in columns.items()})
