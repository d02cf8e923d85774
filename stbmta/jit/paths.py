"""How well each bag's neighbors would do, over a whole grid of thresholds.

As the threshold grows, neighbors only ever enter, so one pass over the bags in order of entry serves all
thresholds: O(|V|^2) a bag, |V| the largest neighborhood of the grid.

The oracle is ``tests/naive.py``: neighbors, stb and squared_error, one threshold at a time.
"""

import numpy as np

from ..theory._jit import compiled
from .folds import _follow, _order_of_entry

__all__ = ["neighbor_paths"]


@compiled
def neighbor_paths(gram, row_totals, cross, mse, unbiased, zetas, first, last, paths):
    """Follow the neighbors of some bags over a grid of thresholds.

    Parameters
    ----------
    gram : float64 array of shape (B, B)
        Inner products of the naive means.
    row_totals : float64 array of shape (B,)
        Row sums of gram.
    cross : float64 array of shape (B, B)
        Row i: the inner products of all naive means with the true mean i.
    mse : float64 array of shape (B,)
        Squared errors of the naive means.
    unbiased : bool
        Free distances of the errors first (eq. Ustat); otherwise compare them as they are (eq. deftestsgaus).
    zetas : float64 array, increasing
        The thresholds. The last may be infinite.
    first, last : int
        Which bags.
    paths : float64 array of shape (B, thresholds, 4)
        For each threshold: number of neighbors with the bag itself, <a, b>, <b, b>, <b, m>, where a is
        the naive mean of the bag, b the average of its neighbors' naive means, m its true mean.
    """
    n_bags = len(mse)
    entry = np.empty(n_bags, np.int64)
    by_entry = np.empty(n_bags, np.int64)
    members = np.empty(n_bags, np.int64)
    column = np.empty(n_bags)
    counts = np.empty(len(zetas) + 2, np.int64)
    for i in range(first, last):
        _order_of_entry(i, mse[i], gram, mse, unbiased, zetas, gram[i], entry, counts, by_entry)
        _follow(i, gram, row_totals, zetas, gram[i], cross[i], entry, by_entry, members, column, paths[i])
