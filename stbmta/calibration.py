r"""More ways to choose the parameters of STB: from a few large bags, and by the unbiased risk.

K-fold inside the bags (:func:`stbmta.tune_stb`) is the default, and split noise (:mod:`stbmta.fission`) serves single
points. All return a :class:`stbmta.tuning.Tuning` with the risk over the whole grid, which
:class:`stbmta.plotting.RiskDisplay` draws.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .bags import RNG, Bags
from .fission import CS
from .grid import NeighborPaths, neighbor_paths
from .kernels import Kernel, as_kernel
from .similarity import known_mse
from .statistics import BagStatistics, bag_statistics
from .theory import theorems
from .truth import Truth, proxy_truth
from .tuning import Tuning, default_zetas

__all__ = ["tune_stb_large_bags", "tune_stb_unbiased"]

Array = npt.NDArray[np.float64]

_GAMMAS = np.round(np.linspace(0.0, 1.0, 21), 10)


def tune_stb_large_bags(
    large: Bags,
    bag_size: int,
    kernel: Kernel | str = "linear",
    *,
    gamma: str | None = None,
    zetas: npt.ArrayLike | None = None,
    variance: float | None = None,
    n_draws: int = 20,
    rng: RNG = None,
    n_threads: int | None = None,
) -> Tuning:
    """Choose threshold and shrinkage from a few large bags, as the paper suggests (section 4).

    Small bags are drawn from the large ones again and again, and the points that were not drawn serve as the truth.

    Parameters
    ----------
    large : Bags
        Each with at least two points more than `bag_size`. They should differ from each other as the small bags
        do, and be as many as possible: the number of neighbors depends on it.
    bag_size : int
        The size of the small bags that the parameters are for.
    kernel : Kernel or str
    gamma : "theory", optional
        The shrinkage of Theorem 1 with c * zeta, and c chosen; by default one gamma for all bags is chosen.
    zetas : array-like, optional
        The thresholds to try.
    variance : float, optional
        The known variance of each coordinate (linear kernel): use the tests of eq. deftestsgaus.
    n_draws : int, default=20
    rng : {None, int, numpy.random.Generator}, optional
    n_threads : int, optional

    Returns
    -------
    Tuning

    Notes
    -----
    Heuristic: unbiased for each point of the grid, but for as many bags as there are large ones.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> large = Bags.from_list([generator.normal(size=(200, 50)) for _ in range(20)])
    >>> bool(tune_stb_large_bags(large, 10, rng=0).risk.min() < -4)  # naive means of 10 points have error 5
    True
    """
    _check_gamma(gamma)
    for name, count in (("n_draws", n_draws), ("bag_size", bag_size)):
        if count < 1:
            raise ValueError(f"{name} must be at least 1, found {count}.")
    large.require_size(bag_size + 2, f"drawing {bag_size} points and judging them by the others")
    kernel = as_kernel(kernel).resolve(large)
    grid = default_zetas(variance is not None) if zetas is None else np.asarray(zetas, dtype=np.float64)
    generator = np.random.default_rng(rng)
    drawn = []
    for _ in range(n_draws):
        taken = np.zeros(len(large.data), dtype=bool)
        for start, stop in zip(large.offsets[:-1], large.offsets[1:], strict=True):
            taken[start + generator.permutation(stop - start)[:bag_size]] = True
        small, rest = large.take_points(taken), large.take_points(~taken)
        truth = proxy_truth(small, rest, kernel, n_threads=n_threads)
        s = bag_statistics(small, kernel, n_threads=n_threads)
        drawn.append(neighbor_paths(s, truth, grid, variance=variance, n_threads=n_threads))
    method = "large bags"
    if gamma == "theory":
        found = [paths.theory(CS) for paths in drawn]
        risk = np.mean([errors.errors - errors.naive for errors in found], axis=0)
        return _best_theory(drawn, risk, method)
    square, slope, constant = np.mean([paths.parabolas() for paths in drawn], axis=0)
    return _best(drawn, square, slope, constant - np.mean([paths.naive() for paths in drawn]), method)


def tune_stb_unbiased(
    s: BagStatistics,
    *,
    gamma: str | None = None,
    zetas: npt.ArrayLike | None = None,
    variance: float | None = None,
    n_threads: int | None = None,
) -> Tuning:
    r"""Choose threshold and shrinkage by the unbiased risk of fixed weights, :func:`stbmta.risk.unbiased_risk`.

    .. math:: \hat R_i(w) = \Bigl| \sum_j w_j \hat\mu_j - \hat\mu_i \Bigr|^2 + 2 w_i s_i^2 - s_i^2

    Parameters
    ----------
    s : BagStatistics
    gamma : "theory", optional
        The shrinkage of Theorem 1 with c * zeta, and c chosen; by default one gamma for all bags is chosen.
    zetas : array-like, optional
        The thresholds to try.
    variance : float, optional
        The known variance of each coordinate (linear kernel): use the tests of eq. deftestsgaus.
    n_threads : int, optional

    Returns
    -------
    Tuning

    Notes
    -----
    Heuristic, and a poor one: the risk is unbiased for weights that do not depend on the data, but neighbors are
    chosen on the same data, so small thresholds look better than they are. It needs nothing but the statistics;
    use it where nothing else can be had.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> s = bag_statistics(Bags.from_list([generator.normal(size=(10, 50)) for _ in range(20)]))
    >>> bool(tune_stb_unbiased(s).risk.min() < -3)  # the naive means have squared error 5
    True
    """
    _check_gamma(gamma)
    grid = default_zetas(variance is not None) if zetas is None else np.asarray(zetas, dtype=np.float64)
    mse = s.naive_mse if variance is None else known_mse(s, variance)
    means = s.means
    itself = Truth(
        cross=None if means is not None else s.gram,
        norms=None if means is not None else np.diagonal(s.gram),
        means=means,
    )
    paths = neighbor_paths(s, itself, grid, variance=variance, n_threads=n_threads)
    method = "the unbiased risk"
    if gamma == "theory":
        risk = paths.theory(CS).errors + 2 * (_own_theory(paths, mse) - mse.mean())
        return _best_theory([paths], risk, method)
    square, slope, constant = paths.parabolas()
    # 2 w_i s_i^2 - 2 s_i^2, less the naive means' risk s_i^2, with w_i = gamma + (1 - gamma) / v.
    alone = (mse / paths.counts).mean(axis=1)
    slope = slope + 2 * (mse.mean() - alone)
    return _best([paths], square, slope, constant + 2 * alone - 2 * mse.mean(), method)


def _check_gamma(gamma: str | None) -> None:
    if gamma not in (None, "theory"):
        raise ValueError(f"gamma must be 'theory' or None, found {gamma!r}.")


def _own_theory(paths: NeighborPaths, mse: Array) -> Array:
    """Return the averages of w_i s_i^2 with the shrinkage of Theorem 1, (finite thresholds, factors)."""
    finite = np.isfinite(paths.zetas)
    counts, found = paths.counts[finite], []
    for c in CS:
        gamma = theorems.gamma_independent(c * paths.zetas[finite][:, None], counts - 1)
        found.append(((gamma + (1 - gamma) / counts) * mse).mean(axis=1))
    return np.column_stack(found)


def _best_theory(drawn: Sequence[NeighborPaths], risk: Array, method: str) -> Tuning:
    zetas = drawn[0].zetas[np.isfinite(drawn[0].zetas)]
    z, k = np.unravel_index(int(np.argmin(risk)), risk.shape)
    return Tuning(
        zeta=float(zetas[z]),
        gamma=None,
        c=float(CS[k]),
        zetas=zetas,
        shrinkages=CS,
        risk=risk,
        n_scored=len(drawn[0].aa),
        method=method,
    )


def _best(
    drawn: Sequence[NeighborPaths], square: Array, slope: Array, constant: Array, method: str
) -> Tuning:
    """Return the best point of parabolas in gamma, one a threshold; they are 0 at gamma = 1."""
    gamma = np.divide(-slope, 2 * square, out=np.zeros_like(slope), where=square > 0).clip(0.0, 1.0)
    z = int(np.argmin(square * gamma**2 + slope * gamma + constant))
    return Tuning(
        zeta=float(drawn[0].zetas[z]),
        gamma=float(gamma[z]),
        c=None,
        zetas=drawn[0].zetas,
        shrinkages=_GAMMAS,
        risk=square[:, None] * _GAMMAS**2 + slope[:, None] * _GAMMAS + constant[:, None],
        n_scored=len(drawn[0].aa),
        method=method,
    )
