"""Where two embeddings differ."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.linalg

from ..embedding import KernelMeans
from ..labels import place_of
from ._style import BLUE, GRAY, VERMILION, axes, label_text

__all__ = ["WitnessDisplay"]

Array = npt.NDArray[np.float64]


class WitnessDisplay:
    r"""The witness function :math:`\tilde\mu_i(z) - \tilde\mu_j(z)`: positive where bag i has more mass.

    Parameters
    ----------
    grid : ndarray of shape (m,) or (m, m, 2)
        Points on the line, or on the plane that is drawn.
    witness : ndarray of shape (m,) or (m, m)
        Values of the function there.
    points : tuple of ndarray
        The points of both bags in the coordinates of the grid.
    labels : tuple
        Of both bags.
    names : tuple of str
        Of the coordinates.

    Attributes
    ----------
    ax_, figure_
        After :meth:`plot`.

    Examples
    --------
    >>> from stbmta import RBF, STB
    >>> rng = np.random.default_rng(0)
    >>> est = STB(RBF(1.0), zeta=1.0, gamma=0.0).fit([rng.normal(k, size=(9, 1)) for k in range(3)])
    >>> WitnessDisplay.from_estimator(est, 0, 2).plot().ax_.get_title()
    'witness function of 0 and 2'
    """

    def __init__(
        self,
        grid: Array,
        witness: Array,
        points: tuple[Array, Array],
        labels: tuple[Any, Any],
        names: tuple[str, ...],
    ) -> None:
        self.grid = grid
        self.witness = witness
        self.points = points
        self.labels = labels
        self.names = names

    @classmethod
    def from_estimator(cls, estimator: Any, first: Any, second: Any, *, resolution: int = 60) -> Self:
        """Show the difference of two estimated embeddings.

        Parameters
        ----------
        estimator : any estimator of the package
            Fitted.
        first, second : labels of bags
            Labels of both bags.
        resolution : int, default=60
            Points of the grid in each direction.
        """
        return cls.from_embedding(estimator.embedding_, first, second, resolution=resolution)

    @classmethod
    def from_embedding(cls, means: KernelMeans, first: Any, second: Any, *, resolution: int = 60) -> Self:
        """Show the difference of two embeddings.

        In one dimension on the line, in two on the plane; in more, on the plane through the center of both bags
        that their first two principal directions span.

        Parameters
        ----------
        means : KernelMeans
            Embeddings of the bags.
        first, second : labels
            Labels of both bags.
        resolution : int, default=60
            Points of the grid in each direction.
        """
        i, j = (place_of(means.labels, label) for label in (first, second))
        bags = tuple(means.bags.bag(label).astype(np.float64) for label in (first, second))
        both = np.concatenate(bags)
        center = both.mean(axis=0)
        dim = both.shape[1]
        if dim == 1:
            grid = _axis(both[:, 0], 4 * resolution)
            values = means.witness(i, j, grid[:, None])
            return cls(
                grid, values, (bags[0][:, 0], bags[1][:, 0]), (first, second), means.bags.columns or ("x",)
            )
        if dim == 2:
            center, plane = np.zeros(2), np.eye(2)
        else:
            plane = scipy.linalg.svd(both - center, full_matrices=False)[2][:2]
        places = tuple((bag - center) @ plane.T for bag in bags)
        together = np.concatenate(places)
        x, y = (_axis(together[:, k], resolution) for k in range(2))
        grid = np.stack(np.meshgrid(x, y), axis=-1)
        values = means.witness(i, j, center + grid.reshape(-1, 2) @ plane)
        names: tuple[str, ...] = ("first principal direction", "second principal direction")
        if dim == 2:
            names = means.bags.columns or ("first coordinate", "second coordinate")
        return cls(grid, values.reshape(grid.shape[:2]), (places[0], places[1]), (first, second), names)

    def plot(self, ax: Any = None) -> Self:
        """Draw a curve or a map.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        self
            With ``ax_`` and ``figure_``.
        """
        self.figure_, self.ax_ = axes(ax, (5.4, 4.2))
        names = [label_text(label) for label in self.labels]
        if self.grid.ndim == 1:
            self.ax_.axhline(0, color=GRAY, linewidth=0.8)
            self.ax_.plot(self.grid, self.witness, color="black")
            for sign, color, name in ((1, BLUE, names[0]), (-1, VERMILION, names[1])):
                self.ax_.fill_between(
                    self.grid,
                    0,
                    self.witness,
                    where=sign * self.witness > 0,
                    color=color,
                    alpha=0.3,
                    label=f"more of {name}",
                )
            for points, color, height in zip(self.points, (BLUE, VERMILION), (0.02, 0.0), strict=True):
                self.ax_.plot(
                    points,
                    np.full(len(points), height),
                    "|",
                    color=color,
                    markersize=9,
                    transform=self.ax_.get_xaxis_transform(),
                    clip_on=False,
                )
            self.ax_.set_xlabel(label_text(self.names[0]))
            self.ax_.set_ylabel("witness function")
        else:
            largest = float(np.abs(self.witness).max()) or 1.0
            levels = np.linspace(-largest, largest, 16)
            x, y = self.grid[..., 0], self.grid[..., 1]
            filled = self.ax_.contourf(x, y, self.witness, levels, cmap="RdBu")
            self.figure_.colorbar(
                filled, ax=self.ax_, format="%.2g", ticks=np.linspace(-largest, largest, 5)
            ).set_label("witness function")
            for points, color, marker, name in zip(self.points, (BLUE, VERMILION), "o^", names, strict=True):
                self.ax_.scatter(
                    *points.T, s=12, color=color, marker=marker, edgecolor="white", linewidths=0.3, label=name
                )
            self.ax_.set_xlabel(label_text(self.names[0]))
            self.ax_.set_ylabel(label_text(self.names[1]))
        self.ax_.set_title(f"witness function of {names[0]} and {names[1]}", fontsize=10)
        self.ax_.legend(fontsize=8)
        return self


def _axis(values: Array, resolution: int) -> Array:
    margin = 0.15 * float(np.ptp(values)) or 1.0
    return np.linspace(values.min() - margin, values.max() + margin, resolution)
