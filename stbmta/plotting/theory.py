"""Pictures of the theory: covering numbers, and errors of the tests."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..theory import covering, exact, pvalues
from ._style import BLUE, GRAY, SKY, VERMILION, axes, plain_ticks

__all__ = ["CoveringDisplay", "ThresholdDisplay"]

Array = npt.NDArray[np.float64]


class CoveringDisplay:
    """How many balls of a radius hold all means: the fewer, the more neighbors can help.

    Parameters
    ----------
    profile : stbmta.theory.covering.CoveringProfile
        Covering numbers over the radius.
    certified : bool
        Whether the points are the means themselves. Naive means lie farther apart than the means.

    Attributes
    ----------
    ax_, figure_
        After :meth:`plot`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> CoveringDisplay.from_points(rng.normal(size=(50, 3))).plot().ax_.get_ylabel()
    'covering number'
    """

    def __init__(self, profile: covering.CoveringProfile, *, certified: bool = True) -> None:
        self.profile = profile
        self.certified = certified

    @classmethod
    def from_points(cls, points: npt.ArrayLike, radii: npt.ArrayLike | None = None) -> Self:
        """Show the covering numbers of known means.

        Parameters
        ----------
        points : array-like of shape (B, d)
            The means.
        radii : array-like, optional
            From the smallest to the largest distance of two points by default.
        """
        return cls(_profile(np.asarray(points, dtype=np.float64), radii))

    @classmethod
    def from_estimator(cls, estimator: Any, radii: npt.ArrayLike | None = None) -> Self:
        """Show the covering numbers of estimated means (linear kernel): an impression, not a certificate.

        Parameters
        ----------
        estimator : any estimator of the package
            Fitted.
        radii : array-like, optional
            From small to large by default.
        """
        return cls(_profile(estimator.means_, radii), certified=False)

    def plot(self, ax: Any = None) -> Self:
        """Draw the certified interval over the radius.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        self
            With ``ax_`` and ``figure_``.
        """
        self.figure_, self.ax_ = axes(ax, (5.2, 3.8))
        p = self.profile
        self.ax_.fill_between(
            p.radii, p.lower, p.upper, color=SKY, alpha=0.5, linewidth=0, label="between both"
        )
        self.ax_.plot(p.radii, p.upper, color=BLUE, label="at most (a cover)")
        self.ax_.plot(p.radii, p.lower, color=VERMILION, linestyle="--", label="at least (a packing)")
        self.ax_.set(xscale="log", yscale="log", xlabel="radius", ylabel="covering number")
        for axis in (self.ax_.xaxis, self.ax_.yaxis):
            plain_ticks(axis)
        self.ax_.legend(fontsize=8, frameon=False)
        what = "means" if self.certified else "estimated means"
        self.ax_.set_title(f"covering numbers of {p.n_points} {what}", fontsize=10)
        return self


def _profile(points: Array, radii: npt.ArrayLike | None) -> covering.CoveringProfile:
    if radii is None:
        spread = float(np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1).max())) or 1.0
        radii = np.geomspace(spread / 50, 1.2 * spread, 60)
    return covering.covering_profile(points, radii)


class ThresholdDisplay:
    r"""The errors of the similarity tests over the true distance of two means (isotropic Gaussian setting).

    With threshold zeta, type I is the probability that any of the pairs at squared distance
    :math:`\tau \bar\sigma^2` is called similar, type II that any of them is missed (Bonferroni over pairs).

    Parameters
    ----------
    taus : ndarray
        Squared distances over the squared error of the naive mean.
    type_1, type_2 : ndarray
        Probabilities of both errors at each of them.
    zeta, alpha : float
        Threshold and level of the tests.
    n_bags, dim : float
        Number of bags, and dimension of the points.

    Attributes
    ----------
    ax_, figure_
        After :meth:`plot`.

    Examples
    --------
    >>> display = ThresholdDisplay.from_gaussian(n_bags=100, dim=1000).plot()
    >>> display.ax_.get_xlabel()
    'squared distance of two means / squared error of a naive mean'
    """

    def __init__(
        self,
        taus: Array,
        type_1: Array,
        type_2: Array,
        *,
        zeta: float,
        alpha: float,
        n_bags: float,
        dim: float,
    ) -> None:
        self.taus = taus
        self.type_1 = type_1
        self.type_2 = type_2
        self.zeta = zeta
        self.alpha = alpha
        self.n_bags = n_bags
        self.dim = dim

    @classmethod
    def from_gaussian(cls, n_bags: float, dim: float, alpha: float = 0.05, zeta: float | None = None) -> Self:
        """Compute the errors from the exact laws.

        Parameters
        ----------
        n_bags, dim : float
            Number of bags, and dimension of the points.
        alpha : float, default=0.05
            Level of the tests.
        zeta : float, optional
            By default the threshold at the smallest tau for which both errors are at most `alpha`,
            :func:`stbmta.theory.gaussian.exact_tau`.
        """
        if zeta is None:
            zeta = float(exact.exact_zeta(exact.exact_tau(n_bags, dim, alpha), n_bags, dim, alpha))
        center = max(zeta - 2, 1.0 / np.sqrt(dim))
        taus = np.geomspace(center / 30, center * 10, 400)
        # Unit noise, one point a bag: the naive error is d, a difference has variance 2 in each coordinate.
        similar = pvalues.gaussian_similarity(zeta * dim, dim, 2.0, taus * dim)
        missed = pvalues.gaussian_difference(zeta * dim, dim, 2.0, taus * dim)
        pairs = n_bags * (n_bags - 1) / 2
        errors = (np.minimum(pairs * np.asarray(p), 1.0) for p in (similar, missed))
        return cls(taus, *errors, zeta=zeta, alpha=alpha, n_bags=n_bags, dim=dim)

    def plot(self, ax: Any = None) -> Self:
        """Draw both errors, and the distances at which each stays below the level.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        self
            With ``ax_`` and ``figure_``.
        """
        self.figure_, self.ax_ = axes(ax, (5.4, 3.8))
        self.ax_.plot(
            self.taus, self.type_2, color=VERMILION, linestyle="--", label="type II: a pair is missed"
        )
        self.ax_.plot(self.taus, self.type_1, color=BLUE, label="type I: a pair is falsely called similar")
        self.ax_.axhline(self.alpha, color=GRAY, linewidth=0.8, linestyle=":")
        self.ax_.text(
            self.taus[0], self.alpha * 1.15, f" {self.alpha:g}", fontsize=8, color=GRAY, va="bottom"
        )
        for errors, where, color, side in (
            (self.type_2, -1, VERMILION, "right"),
            (self.type_1, 0, BLUE, "left"),
        ):
            safe = np.flatnonzero(errors <= self.alpha)
            if len(safe):
                edge = self.taus[safe[where]]
                self.ax_.axvline(edge, color=GRAY, linewidth=0.8)
                span = (self.taus[0], edge) if where else (edge, self.taus[-1])
                self.ax_.axvspan(*span, color=color, alpha=0.06, linewidth=0)
                self.ax_.text(edge, 0.3, f" tau = {edge:.3g} ", rotation=90, fontsize=8, va="center", ha=side)
        self.ax_.set_xscale("log")
        plain_ticks(self.ax_.xaxis)
        self.ax_.set_ylim(-0.02, 1.05)
        self.ax_.set_xlabel("squared distance of two means / squared error of a naive mean")
        self.ax_.set_ylabel("probability, any pair")
        self.ax_.set_title(
            f"{self.n_bags:g} bags, dimension {self.dim:g}, zeta = {self.zeta:.4g}", fontsize=10, pad=22
        )
        # Between title and axes, where no curve can run through it.
        self.ax_.legend(fontsize=8, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 0.98), ncols=2)
        return self
