r"""Choosing zeta, gamma and c without knowing the truth.

K-fold inside each bag. Leave out one fold of bag i, estimate its mean from the rest of the bag and all other
bags, and score the estimate :math:`m` by :math:`|m|^2 - 2 \langle m, f \rangle` with f the mean of the fold:
an unbiased estimate of the squared error, less a constant, for a bag that is smaller by the fold. All
scores come from one pass over the sums of kernel values between folds and bags.

The other ways to choose can be had from here, too: :func:`stbmta.tune_stb_fission` for single points,
:func:`stbmta.tune_stb_large_bags` and :func:`stbmta.tune_stb_unbiased`.
"""

import importlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .bags import RNG, Bags
from .grid import finite_thresholds, thresholds
from .inputs import check_folds
from .jit import folds as jit_folds
from .kernels import Kernel, Linear, as_kernel
from .points import point_diagonal
from .risk import held_out_risk, unbiased_risk
from .similarity import require_known_variance
from .sums import part_sums
from .theory import theorems
from .threads import run
from .vectors import centered_means, require_squares

if TYPE_CHECKING:
    from .calibration import tune_stb_large_bags, tune_stb_unbiased
    from .fission import tune_stb_fission

__all__ = [
    "Tuning",
    "default_zetas",
    "held_out_risk",
    "tune_stb",
    "tune_stb_fission",
    "tune_stb_large_bags",
    "tune_stb_unbiased",
    "unbiased_risk",
]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

# Where the oracle's choices lie in the paper's experiments, and some way beyond; infinity averages all bags.
_ZETAS = np.append(np.round(np.arange(0.0, 5.01, 0.1), 10), np.inf)
# In the test with known variance equal means are at distance 2 on average, and beyond 3 a neighbor does harm.
_GAUSSIAN_ZETAS = np.append(np.round(np.arange(1.5, 4.01, 0.05), 10), np.inf)
_GAMMAS = np.round(np.linspace(0.0, 1.0, 21), 10)
_CS = np.r_[0.0, np.round(np.geomspace(0.01, 10.0, 31), 10)]
# Scores that are worth having, by drawing folds or noise several times where bags are few.
_ENOUGH = 500
_MOST_DRAWS = 10
# Found when asked for: their modules need this one.
_ELSEWHERE = {
    "tune_stb_fission": ".fission",
    "tune_stb_large_bags": ".calibration",
    "tune_stb_unbiased": ".calibration",
}


def __getattr__(name: str) -> Any:
    if name not in _ELSEWHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_ELSEWHERE[name], __package__), name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What was chosen, and the estimated risk over the whole grid.

    Attributes
    ----------
    zeta : float
    gamma : float or None
        None where `c` was chosen.
    c : float or None
    zetas, shrinkages : ndarray
        The grid: thresholds, and values of gamma (or c).
    risk : ndarray of shape (thresholds, shrinkages)
        Estimated squared error less that of the naive means, averaged over bags: negative is better than
        naive.
    n_scored : int
        How many bags were scored: those with enough points, and not so far from all others that rounding would
        swallow the score. All bags serve as neighbors.
    method : str
        How the risk was estimated.
    """

    zeta: float
    gamma: float | None
    c: float | None
    zetas: Array
    shrinkages: Array
    risk: Array
    n_scored: int
    method: str = "K-fold"

    @property
    def shrinkage(self) -> float:
        """The value of gamma, or of c where that was chosen."""
        value = self.c if self.gamma is None else self.gamma
        assert value is not None
        return value

    def summary(self) -> str:
        """Return the choice as text.

        Returns
        -------
        str
            The parameters, how they were chosen, and the estimated change of the squared error.
        """
        name = "c" if self.gamma is None else "gamma"
        return (
            f"zeta = {self.zeta:g}, {name} = {self.shrinkage:.4g}, chosen by {self.method} on {self.n_scored} bags; "
            f"estimated change of the squared error: {self.risk.min():.4g}"
        )

    def to_frame(self) -> Any:
        """Return the risk over the grid as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            One row a threshold, and one column a value of gamma (or c).
        """
        import pandas as pd

        name = "c" if self.gamma is None else "gamma"
        return pd.DataFrame(
            self.risk, index=pd.Index(self.zetas, name="zeta"), columns=pd.Index(self.shrinkages, name=name)
        )


def default_zetas(known_variance: bool = False) -> Array:
    """Return the thresholds that are tried when none are given.

    Returns
    -------
    ndarray
        Ascending; the last is infinity, which averages all bags.
    """
    return (_GAUSSIAN_ZETAS if known_variance else _ZETAS).copy()


def default_scored(n_bags: int) -> int:
    """Return how many estimates are worth following through their neighbors, O(B^2) each, to choose parameters."""
    return max(200, int(1e9) // n_bags**2)


def default_draws(n_scores: int) -> int:
    """Return how often to draw folds or noise anew where one draw gives so many scores: few are a matter of luck."""
    return int(np.clip(_ENOUGH // n_scores, 1, _MOST_DRAWS))


def check_shrinkage(gamma: Any, c: float | None) -> None:
    """Refuse a fixed shrinkage, or a factor of that of Theorem 1, that means nothing."""
    known = (
        gamma == "theory"
        if isinstance(gamma, str)
        else gamma is None or (np.ndim(gamma) == 0 and 0 <= gamma <= 1)
    )
    if not known:
        raise ValueError(f"gamma must be a number from 0 to 1, 'theory' or None, found {gamma!r}.")
    if c is not None and not (np.isfinite(c) and c >= 0):
        raise ValueError(f"c must be a number of at least 0, found {c!r}.")


def check_count(name: str, count: Any) -> None:
    """Refuse how often, or of how many, where that is no integer of at least 1."""
    if not (isinstance(count, (int, np.integer)) and count >= 1):
        raise ValueError(f"{name} must be an integer of at least 1, found {count!r}.")


def best_gamma(grid: Array, gamma: Any, square: Array, slope: Array, constant: Array) -> dict[str, Any]:
    """Return what a :class:`Tuning` says of risks that are parabolas in gamma, one a threshold."""
    if gamma is None:
        best = np.divide(-slope, 2 * square, out=np.zeros_like(slope), where=square > 0).clip(0.0, 1.0)
        gammas = _GAMMAS
    else:
        best = np.full(len(grid), float(gamma))
        gammas = best[:1]
    z = int(np.argmin(square * best**2 + slope * best + constant))
    return {
        "zeta": float(grid[z]),
        "gamma": float(best[z]),
        "c": None,
        "zetas": grid,
        "shrinkages": gammas,
        "risk": square[:, None] * gammas**2 + slope[:, None] * gammas + constant[:, None],
    }


def best_factor(grid: Array, cs: Array, risk: Array) -> dict[str, Any]:
    """Return what a :class:`Tuning` says of risks for thresholds and factors c."""
    z, k = np.unravel_index(int(np.argmin(risk)), risk.shape)
    return {
        "zeta": float(grid[z]),
        "gamma": None,
        "c": float(cs[k]),
        "zetas": grid,
        "shrinkages": cs,
        "risk": risk,
    }


def tune_stb(
    bags: Bags,
    kernel: Kernel | str = "linear",
    *,
    zeta: float | None = None,
    gamma: float | str | None = None,
    c: float | None = None,
    zetas: npt.ArrayLike | None = None,
    variance: float | None = None,
    n_folds: int = 5,
    n_draws: int | None = None,
    max_scored: int | None = None,
    rng: RNG = None,
    n_threads: int | None = None,
    client: Any = None,
) -> Tuning:
    r"""Choose the threshold and the shrinkage of STB by K-fold inside each bag.

    Parameters
    ----------
    bags : Bags
        Bags with fewer than three points (two, if the variance is known) cannot be scored; they still
        serve as neighbors.
    kernel : Kernel or str
        A kernel object, or the name of one: "linear", "rbf", "laplacian" or "polynomial".
    zeta : float, optional
        A fixed threshold; chosen from `zetas` by default.
    gamma : float or "theory", optional
        A fixed shrinkage, or that of Theorem 1 with c * zeta; chosen by default: the best value between
        0 and 1 has a closed form for each threshold.
    c : float, optional
        With gamma="theory", a fixed factor; chosen by default.
    zetas : array-like, optional
        The thresholds to try.
    variance : float, optional
        The known variance of each coordinate (linear kernel): use the tests of eq. deftestsgaus.
    n_folds : int, default=5
        At most; a bag of N points has at most N folds.
    n_draws : int, optional
        How often to draw the folds anew; the scores are averaged. None: so often that about 500 folds are
        scored, 10 times at most. With few bags one draw is a matter of luck.
    max_scored : int, optional
        Score so many folds of a draw at most, chosen at random; all bags serve as neighbors. None: about
        :math:`10^9 / B^2`, at least 200; more would cost more than all the rest and hardly change the choice.
    rng : {None, int, numpy.random.Generator}, optional
        Draws the folds.
    n_threads : int, optional
        All available cores by default. It does not change the result.
    client : dask.distributed.Client, optional
        Compute kernel values on its cluster; the result has the same bits.

    Returns
    -------
    Tuning
        The choice, and the estimated risk over the whole grid.

    Notes
    -----
    Time that of :func:`stbmta.bag_statistics`, once a draw, and O(max_scored * |V|^2) for following the neighbors.
    Heuristic: the score is unbiased for each fixed threshold at a bag size reduced by one fold, but the
    minimum of noisy scores is not.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bags = Bags.from_list([rng.normal(size=(10, 50)) for _ in range(20)])
    >>> bool(tune_stb(bags, rng=0).risk.min() < -4)  # the naive means have squared error 5
    True
    """
    check_folds(n_folds)
    check_shrinkage(gamma, c)
    if zetas is None:
        zetas = default_zetas(variance is not None)
    grid = thresholds(zetas if zeta is None else zeta)
    for name, count in (("n_draws", n_draws), ("max_scored", max_scored)):
        if count is not None:
            check_count(name, count)
    if variance is not None:
        require_known_variance(isinstance(as_kernel(kernel), Linear), variance)
    generator = np.random.default_rng(rng)
    if n_draws is None:
        n_draws = default_draws(int(np.minimum(bags.sizes, n_folds).sum()))
    if max_scored is None:
        max_scored = default_scored(len(bags))
    kernel = as_kernel(kernel).resolve(bags)
    drawn = [
        _fold_paths(bags, kernel, grid, variance, n_folds, max_scored, generator, n_threads, client)
        for _ in range(n_draws)
    ]
    paths, ends, bag_of = (np.concatenate(parts) for parts in zip(*drawn, strict=True))
    # Each bag counts alike, whatever its number of folds.
    share = 1 / np.bincount(bag_of, minlength=len(bags))[bag_of]
    n_scored = len(np.unique(bag_of))
    weights = share / n_scored
    if gamma == "theory":
        return _choose_theory(grid, c, paths, ends, weights, n_scored)
    return _choose_weight(grid, gamma, paths, ends, weights, n_scored)


def _choose_weight(
    grid: Array, gamma: Any, paths: Array, ends: Array, weights: Array, n_scored: int
) -> Tuning:
    # loss(gamma) - loss(1) is a parabola in gamma for each threshold: m = gamma a + (1 - gamma) b.
    aa, af = ends[:, 0] @ weights, ends[:, 1] @ weights
    ab, bb, bf = (np.tensordot(weights, paths[..., k], 1) for k in (1, 2, 3))
    square, slope, constant = aa - 2 * ab + bb, 2 * (ab - bb + bf - af), bb - 2 * bf - (aa - 2 * af)
    return Tuning(**best_gamma(grid, gamma, square, slope, constant), n_scored=n_scored)


def _choose_theory(
    grid: Array, c: float | None, paths: Array, ends: Array, weights: Array, n_scored: int
) -> Tuning:
    cs = _CS if c is None else np.array([float(c)])
    finite = finite_thresholds(grid)
    grid, paths = grid[finite], paths[:, finite]
    risk = np.empty((len(grid), len(cs)))
    v, ab, bb, bf = (paths[..., k] for k in range(4))
    aa, af = ends[:, :1], ends[:, 1:]
    for k, factor in enumerate(cs):
        gamma = theorems.gamma_independent(factor * grid, v - 1)
        loss = gamma**2 * aa + 2 * gamma * (1 - gamma) * ab + (1 - gamma) ** 2 * bb
        loss -= 2 * (gamma * af + (1 - gamma) * bf)
        risk[:, k] = weights @ (loss - (aa - 2 * af))
    return Tuning(**best_factor(grid, cs, risk), n_scored=n_scored)


def _fold_paths(
    bags: Bags,
    kernel: Kernel,
    zetas: Array,
    variance: float | None,
    n_folds: int,
    max_scored: int,
    rng: np.random.Generator,
    n_threads: int | None,
    client: Any,
) -> tuple[Array, Array, npt.NDArray[np.int64]]:
    """Return the path of each scored fold over the thresholds, its end points, and its bag."""
    least_left = 2 if variance is None else 1  # points that the rest of a bag needs for its error
    if variance is None:
        bags.require_size(2, "its variance")
    shuffled, offsets, bag_of = bags.folds(n_folds, rng)
    scored = np.flatnonzero(bags.sizes[bag_of] - np.diff(offsets) >= least_left)
    if len(scored) == 0:
        raise ValueError(
            f"no bag has the {least_left + 1} rows that choosing parameters by folds needs "
            f"(n_samples={bags.sizes.max()}); give zeta and gamma."
        )
    if len(scored) > max_scored:
        offsets, bag_of, scored = _only(
            np.sort(rng.choice(scored, max_scored, replace=False)), offsets, shuffled.offsets
        )
    sums, own, diagonal = _fold_sums(shuffled, offsets, bag_of, kernel, n_threads, client)
    first = np.searchsorted(bag_of, np.arange(len(bags)))
    counts = bags.sizes.astype(np.float64)
    bag_sums = np.add.reduceat(sums, first, axis=0)
    gram = bag_sums / np.outer(counts, counts)
    bag_diagonal = np.add.reduceat(diagonal, first)
    known = 0.0
    if variance is None:
        mse = np.maximum(bag_diagonal / counts - np.diagonal(gram), 0.0) / (counts - 1)
    else:
        known = bags.dim * variance
        mse = known / counts
    owner = bag_of[scored]
    scored = scored[_resolved(np.diagonal(gram)[owner], mse[owner])]
    paths = np.empty((len(scored), len(zetas), 4))
    ends = np.empty((len(scored), 2))
    step = max(1, len(scored) // 256)
    arguments = (
        bag_of, np.diff(offsets), sums, own, diagonal, bag_sums, bag_diagonal, bags.sizes, gram,
        gram.sum(axis=1), mse, known, zetas, scored,
    )  # fmt: skip
    run(
        [
            partial(jit_folds.fold_paths, *arguments, k, min(k + step, len(scored)), paths, ends)
            for k in range(0, len(scored), step)
        ],
        n_threads,
    )
    return paths, ends, bag_of[scored]


def _resolved(norms: Array, mse: Array) -> npt.NDArray[np.bool_]:
    """Tell which bags lie so near to the center that their scores are more than rounding; all, if none does."""
    rounding, error = np.finfo(np.float64).eps * norms, np.median(mse)
    near = rounding <= 1e-6 * error
    return near if error > 0 and near.any() else np.ones_like(near)


def _only(chosen: Indices, offsets: Indices, bag_offsets: Indices) -> tuple[Indices, Indices, Indices]:
    """Join the folds that are not chosen: offsets and bags of what is left, and where the chosen ones are."""
    starts = np.unique(np.r_[bag_offsets, offsets[chosen], offsets[chosen + 1]])
    bag_of = np.searchsorted(bag_offsets, starts[:-1], side="right") - 1
    return starts, bag_of, np.searchsorted(starts, offsets[chosen])


def _fold_sums(
    shuffled: Bags, offsets: Indices, bag_of: Indices, kernel: Kernel, n_threads: int | None, client: Any
) -> tuple[Array, Array, Array]:
    """Return the sums between folds and bags, of folds with themselves, and of k(x, x) over folds."""
    if not isinstance(kernel, Linear):
        found = part_sums(shuffled.data, shuffled.rows, offsets, bag_of, kernel, n_threads, client=client)
        return found.sums, found.own, np.add.reduceat(point_diagonal(shuffled, kernel), offsets[:-1])
    # Sums of points less a common center: scores change by a constant, and no accuracy is lost.
    _, means, squares = centered_means(Bags.from_offsets(shuffled.data, offsets), n_threads)
    sizes = np.diff(offsets).astype(np.float64)
    totals = means * sizes[:, None]
    norms = np.einsum("ij,ij->i", totals, totals)
    require_squares(max(norms.max(), squares.max()), shuffled.data)
    bag_totals = np.add.reduceat(totals, np.searchsorted(bag_of, np.arange(len(shuffled))), axis=0)
    return totals @ bag_totals.T, norms, squares + norms / sizes
