r"""Choosing parameters where every bag may have a single point: Gaussian noise of known variance.

K-fold needs points to leave out. Where the noise is Gaussian with known variance, adding more of it does the
same: with e drawn like the noise of the naive means X, the two vectors

.. math:: X' = X + a e, \qquad X'' = X - e / a

are independent and have the same means. Fit on X', score the fit against X'': the score is an unbiased
estimate of the squared error, less a constant, where the noise is larger by the factor :math:`1 + a^2`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .bags import RNG, Bags
from .grid import NeighborPaths, neighbor_paths
from .similarity import known_mse
from .statistics import BagStatistics, bag_statistics
from .truth import Truth, known_means
from .tuning import (
    Tuning,
    best_factor,
    best_gamma,
    check_count,
    check_shrinkage,
    default_draws,
    default_scored,
    default_zetas,
)

__all__ = ["Fission", "FissionTuning", "choose_stb", "fission", "tune_stb_fission"]

Array = npt.NDArray[np.float64]

# In the test with known variance zeta is about 2 + tau, so factors that matter are small.
CS = np.r_[0.0, np.round(np.geomspace(0.001, 10.0, 41), 10)]


class Fission(NamedTuple):
    """Bags split by noise into two independent parts.

    Attributes
    ----------
    statistics : BagStatistics
        Of X', to fit on.
    variance : float
        The variance of the coordinates of its points, larger than before by 1 + a^2.
    truth : Truth
        X'', in place of the true means: errors against it are unbiased up to a constant.
    """

    statistics: BagStatistics
    variance: float
    truth: Truth


def fission(s: BagStatistics, variance: float, *, amount: float = 0.3, rng: RNG = None) -> Fission:
    r"""Split the naive means into two independent parts by adding noise (data fission, Gaussian thinning).

    Parameters
    ----------
    s : BagStatistics
        Of the linear kernel.
    variance : float
        The known variance of each coordinate of the points; their noise must be Gaussian.
    amount : float, default=0.3
        The factor a of the noise. Small: X' is close to the data, but X'' is noisy.
    rng : {None, int, numpy.random.Generator}, optional
        Draws the noise.

    Returns
    -------
    Fission
        The two parts, and the variance of the coordinates in the first.

    Examples
    --------
    >>> s = bag_statistics(Bags.from_list([np.zeros((1, 3)), np.ones((1, 3))]))
    >>> parts = fission(s, variance=1.0, amount=0.5, rng=0)
    >>> parts.variance
    1.25
    >>> (0.2 * parts.truth.means + 0.8 * parts.statistics.means).round(12)  # weights a^2 : 1 take e out again
    array([[0., 0., 0.],
           [1., 1., 1.]])
    """
    if not (np.ndim(amount) == 0 and np.isfinite(amount) and amount > 0):
        raise ValueError(f"amount must be a positive number, found {amount!r}.")
    spread = np.sqrt(known_mse(s, variance) / s.dim)
    assert s.means is not None
    noise = spread[:, None] * np.random.default_rng(rng).standard_normal(s.means.shape)
    noisy = s.means + amount * noise
    centered = noisy - noisy.mean(axis=0)
    return Fission(
        replace(s, means=noisy, centered_gram=centered @ centered.T, scatter=np.zeros(len(s))),
        float(variance) * (1 + amount**2),
        known_means(s.means - noise / amount),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FissionTuning(Tuning):
    """What was chosen by fission, and the estimated risk over the whole grid; see :class:`stbmta.tuning.Tuning`.

    Attributes
    ----------
    method : str
        "fission".
    amount : float
        The factor a of the noise.
    n_draws : int
        How often the noise was drawn.
    """

    amount: float
    n_draws: int
    method: str = "fission"

    def summary(self) -> str:
        """Return the choice as text.

        Returns
        -------
        str
            The parameters, how they were chosen, and the estimated change of the squared error.
        """
        name = "c" if self.gamma is None else "gamma"
        draws = "1 draw" if self.n_draws == 1 else f"{self.n_draws} draws"
        return (
            f"zeta = {self.zeta:g}, {name} = {self.shrinkage:.4g}, chosen by fission of {self.n_scored} bags "
            f"({draws} of noise, a = {self.amount:g}); "
            f"estimated change of the squared error: {self.risk.min():.4g}"
        )


def tune_stb_fission(
    bags: Bags,
    variance: float,
    *,
    zeta: float | None = None,
    gamma: float | str | None = None,
    c: float | None = None,
    zetas: npt.ArrayLike | None = None,
    amount: float = 0.3,
    n_draws: int | None = None,
    rng: RNG = None,
    statistics: BagStatistics | None = None,
    n_threads: int | None = None,
) -> FissionTuning:
    r"""Choose the threshold and the shrinkage of STB without knowing the truth, also for bags of one point.

    The tests are those of eq. deftestsgaus, :math:`|\hat\mu_i - \hat\mu_j|^2 \le \zeta d \sigma^2 / N_i`.

    Parameters
    ----------
    bags : Bags
        Of any size.
    variance : float
        The known variance :math:`\sigma^2` of each coordinate; the noise must be Gaussian.
    zeta : float, optional
        A fixed threshold; chosen from `zetas` by default.
    gamma : float or "theory", optional
        A fixed shrinkage, or that of Theorem 1 with c * zeta; chosen by default: the best value between 0
        and 1 has a closed form for each threshold.
    c : float, optional
        With gamma="theory", a fixed factor; chosen by default.
    zetas : array-like, optional
        The thresholds to try.
    amount : float, default=0.3
        The factor a of the noise that is added. The choice is right for a noise variance larger by
        :math:`1 + a^2`; the smaller a, the closer to the data and the noisier the score.
    n_draws : int, optional
        How often to draw the noise; the scores are averaged. None: so often that about 500 bags are scored, 10 times
        at most. With few bags one draw is a matter of luck.
    rng : {None, int, numpy.random.Generator}, optional
        Draws the noise.
    statistics : BagStatistics, optional
        Of the bags, if they are known already.
    n_threads : int, optional
        All available cores by default. It does not change the result.

    Returns
    -------
    FissionTuning
        The choice, and the estimated risk over the whole grid.

    See Also
    --------
    stbmta.tune_stb : By K-fold, for any kernel and unknown variance.

    Notes
    -----
    Time that of :func:`stbmta.grid.neighbor_paths`, once a draw. Of very many bags only some are scored, drawn at
    random; all serve as neighbors.

    Examples
    --------
    >>> from stbmta import datasets
    >>> sample = datasets.cluster(200, 100, n_clusters=4, rng=0)
    >>> chosen = tune_stb_fission(sample.bags, variance=1.0, rng=0)
    >>> bool(chosen.risk.min() < -80)  # of the naive means' squared error of 125 with the added noise
    True
    """
    if n_draws is None:
        n_draws = default_draws(len(bags))
    check_count("n_draws", n_draws)
    grid = default_zetas(known_variance=True) if zetas is None else np.asarray(zetas, dtype=np.float64)
    if zeta is not None:
        grid = np.array([float(zeta)])
    generator = np.random.default_rng(rng)
    s = bag_statistics(bags, n_threads=n_threads) if statistics is None else statistics
    count = default_scored(len(s))
    scored = np.sort(generator.permutation(len(s))[:count]) if count < len(s) else None
    drawn = []
    for _ in range(n_draws):
        parts = fission(s, variance, amount=amount, rng=generator)
        drawn.append(
            neighbor_paths(
                parts.statistics,
                parts.truth,
                grid,
                variance=parts.variance,
                bags=scored,
                n_threads=n_threads,
            )
        )
    return choose_stb(drawn, gamma=gamma, c=c, amount=amount)


def choose_stb(
    drawn: Sequence[NeighborPaths],
    *,
    gamma: float | str | None = None,
    c: float | None = None,
    amount: float = 0.3,
) -> FissionTuning:
    """Choose the parameters of one variant of STB by the scores of one or several fissions.

    Use it in place of :func:`tune_stb_fission` to choose for several variants by the same scores.

    Parameters
    ----------
    drawn : sequence of NeighborPaths
        One for each draw of the noise, of X' against X''.
    gamma : float or "theory", optional
        A fixed shrinkage, or that of Theorem 1 with c * zeta; chosen by default: the best value between 0
        and 1 has a closed form for each threshold.
    c : float, optional
        With gamma="theory", a fixed factor; chosen by default.
    amount : float, default=0.3
        The factor a of the noise in `drawn`; it is passed on to the result.

    Returns
    -------
    FissionTuning
        The choice, and the estimated risk over the whole grid.

    Examples
    --------
    >>> from stbmta import datasets
    >>> s = bag_statistics(datasets.cluster(200, 100, n_clusters=4, rng=0).bags)
    >>> parts = fission(s, variance=1.0, rng=0)
    >>> scores = neighbor_paths(parts.statistics, parts.truth, [2.0, 2.5, 3.0], variance=parts.variance)
    >>> [choose_stb([scores], gamma=gamma).zeta for gamma in (0.0, "theory")]
    [2.5, 2.5]
    """
    return FissionTuning(**choose_on(drawn, gamma, c), amount=amount, n_draws=len(drawn))


def choose_on(drawn: Sequence[NeighborPaths], gamma: float | str | None, c: float | None) -> dict[str, Any]:
    """Return what a :class:`stbmta.tuning.Tuning` says of the scores of several draws, averaged."""
    check_shrinkage(gamma, c)
    if gamma == "theory":
        cs = CS if c is None else np.array([float(c)])
        found = [paths.theory(cs) for paths in drawn]
        assert found[0].zetas is not None
        risk = np.mean([errors.errors - errors.naive for errors in found], axis=0)
        chosen = best_factor(found[0].zetas, cs, risk)
    else:
        square, slope, constant = np.mean([paths.parabolas() for paths in drawn], axis=0)
        constant = constant - np.mean([paths.naive() for paths in drawn])
        chosen = best_gamma(drawn[0].zetas, gamma, square, slope, constant)
    return {**chosen, "n_scored": len(drawn[0].aa)}
