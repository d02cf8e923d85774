r"""More ways to choose the parameters of STB: from a few large bags, and by the unbiased risk.

K-fold inside the bags (:func:`stbmta.tune_stb`) is the default, and split noise (:mod:`stbmta.fission`) serves single
points. All return a :class:`stbmta.tuning.Tuning` with the risk over the whole grid, which
:class:`stbmta.plotting.RiskDisplay` draws.
"""

import numpy as np
import numpy.typing as npt

from .bags import RNG, Bags
from .fission import CS, choose_on
from .grid import NeighborPaths, neighbor_paths, thresholds
from .kernels import Kernel, as_kernel
from .similarity import known_mse
from .statistics import BagStatistics, bag_statistics
from .theory import theorems
from .truth import Truth, proxy_truth
from .tuning import Tuning, best_factor, best_gamma, check_count, check_shrinkage, default_zetas

__all__ = ["tune_stb_large_bags", "tune_stb_unbiased"]

Array = npt.NDArray[np.float64]


def tune_stb_large_bags(
    large: Bags,
    bag_size: int,
    kernel: Kernel | str = "linear",
    *,
    zeta: float | None = None,
    gamma: float | str | None = None,
    c: float | None = None,
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
        A kernel object, or the name of one: "linear", "rbf", "laplacian" or "polynomial".
    zeta : float, optional
        A fixed threshold; chosen from `zetas` by default.
    gamma : float or "theory", optional
        A fixed shrinkage, or that of Theorem 1 with c * zeta; chosen by default: the best value between 0
        and 1 has a closed form for each threshold.
    c : float, optional
        With gamma="theory", a fixed factor; chosen by default.
    zetas : array-like, optional
        The thresholds to try.
    variance : float, optional
        The known variance of each coordinate (linear kernel): use the tests of eq. deftestsgaus.
    n_draws : int, default=20
        How often to draw small bags; the scores are averaged.
    rng : {None, int, numpy.random.Generator}, optional
        Draws the points of the small bags.
    n_threads : int, optional
        All available cores by default. It does not change the result.

    Returns
    -------
    Tuning
        The choice, and the estimated risk over the whole grid.

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
    check_shrinkage(gamma, c)
    check_count("n_draws", n_draws)
    check_count("bag_size", bag_size)
    large.require_size(bag_size + 2, f"drawing {bag_size} points and judging them by the others")
    kernel = as_kernel(kernel).resolve(large)
    grid = _grid(zeta, zetas, variance)
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
    return Tuning(**choose_on(drawn, gamma, c), method="large bags")


def tune_stb_unbiased(
    s: BagStatistics,
    *,
    zeta: float | None = None,
    gamma: float | str | None = None,
    c: float | None = None,
    zetas: npt.ArrayLike | None = None,
    variance: float | None = None,
    n_threads: int | None = None,
) -> Tuning:
    r"""Choose threshold and shrinkage by the unbiased risk of fixed weights, :func:`stbmta.risk.unbiased_risk`.

    .. math:: \hat R_i(w) = \Bigl| \sum_j w_j \hat\mu_j - \hat\mu_i \Bigr|^2 + 2 w_i s_i^2 - s_i^2

    Parameters
    ----------
    s : BagStatistics
        Statistics of the bags.
    zeta : float, optional
        A fixed threshold; chosen from `zetas` by default.
    gamma : float or "theory", optional
        A fixed shrinkage, or that of Theorem 1 with c * zeta; chosen by default: the best value between 0
        and 1 has a closed form for each threshold.
    c : float, optional
        With gamma="theory", a fixed factor; chosen by default.
    zetas : array-like, optional
        The thresholds to try.
    variance : float, optional
        The known variance of each coordinate (linear kernel): use the tests of eq. deftestsgaus.
    n_threads : int, optional
        All available cores by default. It does not change the result.

    Returns
    -------
    Tuning
        The choice, and the estimated risk over the whole grid.

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
    check_shrinkage(gamma, c)
    grid = _grid(zeta, zetas, variance)
    mse = s.naive_mse if variance is None else known_mse(s, variance)
    means = s.means
    itself = Truth(
        cross=None if means is not None else s.gram,
        norms=None if means is not None else np.diagonal(s.gram),
        means=means,
    )
    paths = neighbor_paths(s, itself, grid, variance=variance, n_threads=n_threads)
    if gamma == "theory":
        cs = CS if c is None else np.array([float(c)])
        found = paths.theory(cs)
        assert found.zetas is not None
        risk = found.errors + 2 * (_own_theory(paths, mse, cs) - mse.mean())
        chosen = best_factor(found.zetas, cs, risk)
    else:
        square, slope, constant = paths.parabolas()
        # 2 w_i s_i^2 - 2 s_i^2, less the naive means' risk s_i^2, with w_i = gamma + (1 - gamma) / v.
        alone = (mse / paths.counts).mean(axis=1)
        slope = slope + 2 * (mse.mean() - alone)
        constant = constant + 2 * alone - 2 * mse.mean()
        chosen = best_gamma(paths.zetas, gamma, square, slope, constant)
    return Tuning(**chosen, n_scored=len(paths.aa), method="the unbiased risk")


def _grid(zeta: float | None, zetas: npt.ArrayLike | None, variance: float | None) -> Array:
    if zetas is None:
        zetas = default_zetas(variance is not None)
    return thresholds(zetas if zeta is None else zeta)


def _own_theory(paths: NeighborPaths, mse: Array, cs: Array) -> Array:
    """Return the averages of w_i s_i^2 with the shrinkage of Theorem 1, (finite thresholds, factors)."""
    finite = np.isfinite(paths.zetas)
    counts, found = paths.counts[finite], []
    for c in cs:
        gamma = theorems.gamma_independent(c * paths.zetas[finite][:, None], counts - 1)
        found.append(((gamma + (1 - gamma) / counts) * mse).mean(axis=1))
    return np.column_stack(found)
