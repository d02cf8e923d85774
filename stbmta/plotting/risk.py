"""The risk over the tuning grid."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..tuning import Tuning
from ._style import VERMILION, axes

__all__ = ["RiskDisplay"]

Array = npt.NDArray[np.float64]


class RiskDisplay:
    """The estimated change of the squared error over thresholds and shrinkages; below 0 beats the naive means.

    Parameters
    ----------
    zetas : ndarray of shape (Z,)
        Thresholds that were tried.
    shrinkages : ndarray of shape (S,)
        Values of gamma, or c, that were tried.
    risk : ndarray of shape (Z, S)
        Change of the squared error at each of them.
    chosen : tuple of float
        Threshold (one of `zetas`) and shrinkage that were chosen.
    name : str
        Of the shrinkage parameter.

    Attributes
    ----------
    ax_, figure_, mesh_
        After :meth:`plot`.

    Examples
    --------
    >>> from stbmta import Bags, tune_stb
    >>> rng = np.random.default_rng(0)
    >>> tuning = tune_stb(Bags.from_list([rng.normal(size=(9, 5)) for _ in range(6)]), rng=0)
    >>> RiskDisplay.from_tuning(tuning).plot().ax_.get_ylabel()
    'threshold zeta'
    """

    def __init__(
        self, zetas: Array, shrinkages: Array, risk: Array, chosen: tuple[float, float], name: str
    ) -> None:
        self.zetas = zetas
        self.shrinkages = shrinkages
        self.risk = risk
        self.chosen = chosen
        self.name = name

    @classmethod
    def from_tuning(cls, tuning: Tuning) -> Self:
        """Show what :func:`stbmta.tune_stb` found.

        Parameters
        ----------
        tuning : Tuning
            What was tried, and what was chosen.
        """
        name = "c" if tuning.gamma is None else "gamma"
        return cls(tuning.zetas, tuning.shrinkages, tuning.risk, (tuning.zeta, tuning.shrinkage), name)

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """Show how the parameters of a fitted STB were chosen.

        Parameters
        ----------
        estimator : STB
            Fitted with `zeta` or `gamma` left out.
        """
        tuning = getattr(estimator, "tuning_", None)
        if tuning is None:
            raise ValueError("nothing was tuned; leave out zeta or gamma of STB.")
        return cls.from_tuning(tuning)

    def plot(self, ax: Any = None) -> Self:
        """Draw a map, or a curve where only one parameter was chosen.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        self
            With ``ax_`` and ``figure_``.
        """
        self.figure_, self.ax_ = axes(ax, (5.4, 4.0))
        # An infinite threshold stands one step beyond the last finite one.
        finite = self.zetas[np.isfinite(self.zetas)]
        step = finite[-1] - finite[-2] if len(finite) > 1 else 1.0
        heights = np.where(
            np.isfinite(self.zetas), self.zetas, (finite[-1] if len(finite) else 0.0) + 3 * step
        )
        height = float(heights[self.zetas == self.chosen[0]][0])
        if len(self.shrinkages) == 1 or len(self.zetas) == 1:
            self._plot_curve(heights, height)
        else:
            self._plot_map(heights, height)
        self.ax_.set_title("estimated change of the squared error", fontsize=10)
        return self

    def _plot_map(self, heights: Array, height: float) -> None:
        largest = float(np.abs(self.risk.min())) or 1.0
        self.mesh_ = self.ax_.pcolormesh(
            np.arange(len(self.shrinkages)),
            heights,
            np.clip(self.risk, -largest, largest),
            cmap="RdBu_r",
            vmin=-largest,
            vmax=largest,
            shading="nearest",
            rasterized=True,
        )
        bar = self.figure_.colorbar(self.mesh_, ax=self.ax_)
        bar.set_label("blue: better than naive")
        place = np.interp(self.chosen[1], self.shrinkages, np.arange(len(self.shrinkages)))
        self.ax_.scatter(
            [place], [height], marker="*", s=130, color="black", edgecolor="white", label="chosen", zorder=3
        )
        shown = np.unique(np.linspace(0, len(self.shrinkages) - 1, 6).astype(int))
        self.ax_.set_xticks(shown, [f"{self.shrinkages[k]:.3g}" for k in shown])
        if np.isinf(self.zetas).any():
            tried = self.zetas[np.isfinite(self.zetas)]
            finite = [tick for tick in self.ax_.get_yticks() if tried.min() <= tick <= tried.max()]
            self.ax_.set_yticks([*finite, heights[-1]], [*(f"{tick:g}" for tick in finite), "all"])
        self.ax_.set_xlabel(f"shrinkage {self.name}")
        self.ax_.set_ylabel("threshold zeta")
        self.ax_.legend(fontsize=8, loc="lower right")

    def _plot_curve(self, heights: Array, height: float) -> None:
        along_zeta = len(self.shrinkages) == 1
        x, risk = heights if along_zeta else self.shrinkages, self.risk.ravel()
        if along_zeta and np.isinf(self.zetas[-1]) and np.isfinite(self.chosen[0]) and len(x) > 1:
            # Averaging all bags may be far worse than anything else; it would flatten the curve.
            x, risk = x[:-1], risk[:-1]
        self.ax_.plot(x, risk, color="black")
        self.ax_.axhline(0, color="gray", linewidth=0.8, linestyle=":")
        self.ax_.axvline(
            height if along_zeta else self.chosen[1], color=VERMILION, linewidth=1, label="chosen"
        )
        self.ax_.set_xlabel("threshold zeta" if along_zeta else f"shrinkage {self.name}")
        self.ax_.set_ylabel("below 0: better than naive")
        self.ax_.legend(fontsize=8, frameon=False)
