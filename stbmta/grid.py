r"""Squared errors of STB over whole grids of parameters, in closed form from the B x B statistics.

Where the truth is known (:mod:`stbmta.truth`), these say what the best parameters would be: the "oracle" of
the paper's experiments. No grid point builds estimates: one pass over the neighbors in order of entry serves
all thresholds, and the error is a parabola in gamma for each threshold. :mod:`stbmta.grid_mta` does the same
for multi-task averaging.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .jit import paths as jit_paths
from .similarity import known_mse
from .statistics import BagStatistics
from .theory import theorems
from .threads import run
from .truth import Truth

__all__ = [
    "Best",
    "GridErrors",
    "NeighborPaths",
    "average_errors",
    "finite_thresholds",
    "inner_products",
    "naive_errors",
    "neighbor_paths",
    "one_dimensional",
    "thresholds",
]

Array = npt.NDArray[np.float64]

# Terms that a task adds up at most: some tenths of a second, so that Ctrl-C is heard.
_TERMS = 2**28


class Best(NamedTuple):
    """The best point of a grid. `zeta` is None for a method without tests."""

    zeta: float | None
    value: float
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GridErrors:
    """Squared errors over a grid, averaged over bags.

    Attributes
    ----------
    parameter : {"gamma", "c"}
        What `values` are values of.
    zetas : ndarray of shape (Z,) or None
        The thresholds; None for a method without tests.
    values : ndarray of shape (P,)
    errors : ndarray of shape (Z, P)
        One row where there are no thresholds.
    naive : float
        The error of the naive means.
    """

    parameter: str
    zetas: Array | None
    values: Array
    errors: Array
    naive: float

    def best(self) -> Best:
        """Return the point with the smallest error; the first of several.

        Returns
        -------
        Best
            Its threshold, its value of gamma (or c), and its error.
        """
        z, p = np.unravel_index(int(np.argmin(self.errors)), self.errors.shape)
        zeta = None if self.zetas is None else float(self.zetas[z])
        return Best(zeta, float(self.values[p]), float(self.errors[z, p]))

    def summary(self) -> str:
        """Return the best point as text.

        Returns
        -------
        str
            The smallest error, where it is, and the error of the naive means.
        """
        zeta, value, error = self.best()
        place = f"{self.parameter} = {value:g}" + ("" if zeta is None else f", zeta = {zeta:g}")
        return f"smallest squared error {error:.4g} at {place}; naive means {self.naive:.4g}"

    def to_frame(self) -> Any:
        """Return the errors as a pandas data frame, one row a threshold.

        Returns
        -------
        pandas.DataFrame
            One column for each value of gamma (or c).
        """
        import pandas as pd

        index = None if self.zetas is None else pd.Index(self.zetas, name="zeta")
        return pd.DataFrame(self.errors, index=index, columns=pd.Index(self.values, name=self.parameter))


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighborPaths:
    r"""What STB does to each bag as the threshold grows.

    With a the naive mean of a bag, b the average of its neighbors' naive means and m its true mean, the
    squared error of :math:`\gamma a + (1 - \gamma) b` is

    .. math:: \gamma^2 |a|^2 + 2 \gamma (1 - \gamma) \langle a, b \rangle + (1 - \gamma)^2 |b|^2
              - 2 \gamma \langle a, m \rangle - 2 (1 - \gamma) \langle b, m \rangle + |m|^2.

    Attributes
    ----------
    zetas : ndarray of shape (Z,)
    counts : ndarray of shape (Z, B)
        Number of neighbors, the bag itself included.
    ab, bb, bm : ndarray of shape (Z, B)
        Inner products.
    aa, am, mm : ndarray of shape (B,)
    """

    zetas: Array
    counts: Array
    ab: Array
    bb: Array
    bm: Array
    aa: Array
    am: Array
    mm: Array

    def errors(self, gamma: npt.ArrayLike) -> Array:
        """Return the squared error of each bag at each threshold, (Z, B), for a gamma of that shape or less.

        Returns
        -------
        ndarray of shape (Z, B)
            Against a proxy of the truth errors can be negative.
        """
        g = np.asarray(gamma, dtype=np.float64)
        quadratic = g**2 * self.aa + 2 * g * (1 - g) * self.ab + (1 - g) ** 2 * self.bb
        return quadratic - 2 * (g * self.am + (1 - g) * self.bm) + self.mm

    def naive(self, clip: bool = False) -> float:
        """Return the squared error of the naive means, averaged over bags.

        Returns
        -------
        float
            With `clip` the negative errors of single bags count as 0.
        """
        return float(average_errors(self.aa - 2 * self.am + self.mm, clip))

    def weight(self, gammas: npt.ArrayLike, *, clip: bool = False) -> GridErrors:
        """Return the errors of STB weight; gamma = 0 is STB-0.

        Parameters
        ----------
        gammas : array-like
            Between 0 and 1.
        clip : bool, default=False
            Replace the negative errors of single bags by 0. Against a proxy of the truth errors can be
            negative; the paper's experiments clip them, which hides part of a large improvement.

        Returns
        -------
        GridErrors
            One row a threshold, and one column a gamma.
        """
        values = one_dimensional(gammas, "gammas")
        if not ((values >= 0) & (values <= 1)).all():
            raise ValueError("gammas must be between 0 and 1.")
        if clip:
            errors = np.stack([average_errors(self.errors(gamma), True) for gamma in values], axis=1)
        else:
            square, slope, constant = self.parabolas()
            errors = np.multiply.outer(square, values**2) + np.multiply.outer(slope, values)
            errors += constant[:, None]
        return GridErrors(
            parameter="gamma", zetas=self.zetas, values=values, errors=errors, naive=self.naive(clip)
        )

    def theory(self, cs: npt.ArrayLike, *, clip: bool = False) -> GridErrors:
        """Return the errors of STB theory for factors c of the threshold (eq. optgamma).

        Theorem 1 has nothing to say about an infinite threshold; it is left out.

        Parameters
        ----------
        cs : array-like
            At least 0.
        clip : bool, default=False
            As for :meth:`weight`.

        Returns
        -------
        GridErrors
            One row a finite threshold, and one column a factor.
        """
        values = one_dimensional(cs, "cs")
        finite = finite_thresholds(self.zetas)
        zetas, others = self.zetas[finite], self.counts[finite] - 1
        errors = np.empty((len(zetas), len(values)))
        gamma = np.ones_like(self.counts)
        for k, c in enumerate(values):
            gamma[finite] = theorems.gamma_independent((c * zetas)[:, None], others)
            errors[:, k] = average_errors(self.errors(gamma)[finite], clip)
        return GridErrors(parameter="c", zetas=zetas, values=values, errors=errors, naive=self.naive(clip))

    def parabolas(self) -> tuple[Array, Array, Array]:
        """Return the average error at each threshold as a parabola in gamma: square, slope, constant, (Z,).

        Returns
        -------
        square, slope, constant : ndarray of shape (Z,)
            The average error is square * gamma^2 + slope * gamma + constant.
        """
        aa, am, mm = self.aa.mean(), self.am.mean(), self.mm.mean()
        ab, bb, bm = (term.mean(axis=1) for term in (self.ab, self.bb, self.bm))
        return aa - 2 * ab + bb, 2 * (ab - bb + bm - am), bb - 2 * bm + mm


def neighbor_paths(
    s: BagStatistics,
    truth: Truth,
    zetas: npt.ArrayLike,
    *,
    variance: float | None = None,
    bags: npt.ArrayLike | None = None,
    n_threads: int | None = None,
) -> NeighborPaths:
    r"""Follow the neighbors of every bag over a grid of thresholds.

    Parameters
    ----------
    s : BagStatistics
        Statistics of the bags.
    truth : Truth
        One true mean a bag.
    zetas : array-like
        The thresholds; infinity averages all bags.
    variance : float, optional
        The known variance of each coordinate (linear kernel): use the tests of eq. deftestsgaus.
    bags : array-like of int, optional
        Follow only these bags; all serve as neighbors.
    n_threads : int, optional
        It does not change the result.

    Returns
    -------
    NeighborPaths
        Sorted by threshold.

    Notes
    -----
    Time :math:`O(B^2 + \sum_i |V_i|^2)` with the neighbors of the largest finite threshold, whatever the
    number of thresholds; memory O(B^2).

    Examples
    --------
    >>> from stbmta import bag_statistics, datasets, known_means
    >>> sample = datasets.cluster(60, 50, n_clusters=3, rng=0)
    >>> s, truth = bag_statistics(sample.bags), known_means(sample.means)
    >>> paths = neighbor_paths(s, truth, [2.0, 2.5, 3.0], variance=1.0)
    >>> print(paths.weight([0.0, 0.1]).summary())
    smallest squared error 3.758 at gamma = 0, zeta = 2.5; naive means 48.94
    """
    grid = thresholds(zetas)
    B = len(s)
    chosen = np.arange(B) if bags is None else np.asarray(bags, dtype=np.int64)
    gram, cross, norms = inner_products(s, truth, chosen)
    mse = naive_errors(s, variance)
    step = max(1, min(B // 256, _TERMS // B**2)) if bags is None else 1
    found = np.empty((B, len(grid), 4))
    arguments = (gram, gram.sum(axis=1), cross, mse, variance is None, grid)
    run(
        [
            partial(jit_paths.neighbor_paths, *arguments, int(i), min(int(i) + step, B), found)
            for i in chosen[::step]
        ],
        n_threads,
    )
    counts, ab, bb, bm = (np.ascontiguousarray(found[chosen, :, k].T) for k in range(4))
    return NeighborPaths(
        zetas=grid,
        counts=counts,
        ab=ab,
        bb=bb,
        bm=bm,
        aa=np.diagonal(gram)[chosen],
        am=np.diagonal(cross)[chosen],
        mm=norms[chosen],
    )


def inner_products(
    s: BagStatistics, truth: Truth, rows: npt.NDArray[np.int64] | slice = slice(None)
) -> tuple[Array, Array, Array]:
    """Return the inner products of naive means, those of the true mean i with them as row i, and the norms.

    True means that are not in `rows` may be left out. Vectors are taken less their average: weights sum to 1, so errors
    stay, and no accuracy is lost.

    Returns
    -------
    gram, cross : ndarray of shape (B, B)
        Between naive means, and of true means (rows) with naive means (columns).
    norms : ndarray of shape (B,)
        Squared norms of the true means, less the squared errors of a proxy.
    """
    truth.check(s)
    known = truth.norms if truth.means is None else truth.means
    assert known is not None
    if len(known) != len(s):
        raise ValueError(f"there are {len(s)} bags, but {len(known)} true means; one a bag is needed.")
    if truth.means is None:
        assert truth.cross is not None
        return s.gram, np.ascontiguousarray(truth.cross.T), known
    assert s.means is not None
    center = s.means.mean(axis=0)
    found, true = s.means - center, truth.means - center
    cross = np.zeros((len(s), len(s)))
    cross[rows] = true[rows] @ found.T
    norms = np.einsum("ij,ij->i", true, true)
    # The Gram matrix around the average: from that around another center, which is there already.
    inner = s.centered_gram.mean(axis=1)
    gram = s.centered_gram - inner[:, None]
    gram -= inner - inner.mean()
    return gram, cross, norms if truth.noise is None else norms - truth.noise


def naive_errors(s: BagStatistics, variance: float | None) -> Array:
    """Return the squared errors of the naive means: estimated, or from the known variance.

    Returns
    -------
    ndarray of shape (B,)
        One squared error a bag.
    """
    return s.naive_mse if variance is None else known_mse(s, variance)


def average_errors(errors: Array, clip: bool) -> Any:
    """Return the average over the last axis, over bags; with `clip` negative errors count as 0.

    Returns
    -------
    float or ndarray
        A number for one error a bag; one average less axis otherwise.
    """
    return (np.maximum(errors, 0.0) if clip else errors).mean(axis=-1)


def thresholds(zetas: npt.ArrayLike) -> Array:
    """Return the different thresholds in ascending order, and refuse negative ones.

    Returns
    -------
    ndarray of shape (Z,)
        At least 0; the last may be infinity.
    """
    grid = np.unique(one_dimensional(zetas, "zetas"))
    if not (grid >= 0).all():
        raise ValueError(f"zetas must be at least 0, found {grid[~(grid >= 0)][0]}.")
    return grid


def finite_thresholds(zetas: Array) -> npt.NDArray[np.bool_]:
    """Tell which thresholds Theorem 1 speaks about, and refuse a grid without any.

    Returns
    -------
    ndarray of bool, shape (Z,)
        True where a threshold is finite.
    """
    finite = np.isfinite(zetas)
    if not finite.any():
        raise ValueError(
            "gamma='theory' needs a finite zeta; Theorem 1 has nothing to say about an infinite one."
        )
    return finite


def one_dimensional(values: npt.ArrayLike, name: str) -> Array:
    """Return the values of a grid as an array, and refuse anything else.

    Returns
    -------
    ndarray of float64
        A single number becomes a grid of one value.
    """
    array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if array.ndim != 1 or len(array) == 0 or np.isnan(array).any():
        raise ValueError(f"{name} must be a list of numbers, found {values!r}.")
    return array
