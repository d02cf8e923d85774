r"""The RBF kernel as a finite Fourier series: features that are exact in few dimensions.

On a box, the Gaussian :math:`e^{-t^2 / 2 s^2}` agrees with its periodic continuation, and the Fourier series of that
ends after a few terms, because the transform of a Gaussian is a Gaussian. For points in one to three dimensions and
kernels that are not too narrow for the box, a thousand features thus do what random features never reach: all digits,
in one pass over the points, where all pairs of points would take time quadratic in their number.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..kernels import RBF

__all__ = ["FourierSeries"]

Array = npt.NDArray[np.float64]

# More features than this are no bargain: all pairs, or random features, are the better choice.
_MOST = 50_000


@dataclass(frozen=True, eq=False)
class FourierSeries:
    r"""Features of the RBF kernel whose inner products are exact to a tolerance, for points in a box.

    .. math:: e^{-(x - y)^2 / 2 s^2} \approx \sum_{|m| \le M} c_m e^{i \omega_m (x - y)}, \quad
              \omega_m = \frac{2 \pi m}{P}, \quad c_m = \frac{\sqrt{2 \pi} s}{P} e^{-\omega_m^2 s^2 / 2}

    in each dimension, and products over dimensions. With :math:`t = \sqrt{2 \log(1 / \mathrm{tolerance})}` the period
    P is the width of the box plus t s, so that the nearest copy of the kernel is below the tolerance; M is such
    that :math:`\omega_M s \ge t`, so that the rest of the series is. Make one with :meth:`within`.

    Attributes
    ----------
    kernel : RBF
    low, high : ndarray of shape (d,)
        The box.
    periods : ndarray of shape (d,)
    orders : ndarray of shape (d,)
        The largest m of each dimension.

    Notes
    -----
    :math:`D = 2 (M_1 + 1) \prod_{k > 1} (2 M_k + 1)` features: about 50 in one dimension and 1500 in two, where the
    box is five widths s wide. Time O(n D), against O(n^2 d) for all pairs, which are so quick that the series pays from
    about a hundred thousand points in two dimensions.
    """

    kernel: RBF
    low: Array
    high: Array
    periods: Array
    orders: npt.NDArray[np.int64]

    @classmethod
    def within(
        cls, kernel: RBF, low: npt.ArrayLike, high: npt.ArrayLike, *, tolerance: float = 1e-13
    ) -> "FourierSeries":
        """Make the features for points between two corners.

        Parameters
        ----------
        kernel : RBF
            With a number as bandwidth.
        low, high : array-like of shape (d,)
            The smallest and the largest value of each column.
        tolerance : float, default=1e-13
            Largest error of an inner product, up to a small factor; the kernel is at most 1.

        Examples
        --------
        >>> x = np.random.default_rng(0).normal(size=(50, 2))
        >>> features = FourierSeries.within(RBF(1.5), x.min(axis=0), x.max(axis=0))
        >>> bool(np.abs(features(x) @ features(x).T - RBF(1.5)(x, x)).max() < 1e-12)
        True
        """
        if not isinstance(kernel, RBF) or isinstance(kernel.bandwidth, str):
            raise ValueError(f"a Fourier series needs RBF with a number, found {kernel!r}.")
        if not 0 < tolerance < 1:
            raise ValueError(f"tolerance must be between 0 and 1, found {tolerance!r}.")
        a, b = (np.atleast_1d(np.asarray(corner, dtype=np.float64)) for corner in (low, high))
        if a.shape != b.shape or a.ndim != 1 or not (a <= b).all():
            raise ValueError("low and high must have one value a column, low at most high.")
        width = float(kernel.bandwidth)
        t = math.sqrt(-2 * math.log(tolerance))
        periods = (b - a) + t * width
        orders = np.ceil(t * periods / (2 * np.pi * width)).astype(np.int64)
        made = cls(kernel, a, b, periods, orders)
        if made.n_features > _MOST:
            raise ValueError(
                f"a Fourier series would need {made.n_features} features: the kernel is too narrow for the box, or it "
                "has too many dimensions. Use bag_statistics, or RandomFourier."
            )
        return made

    @property
    def n_features(self) -> int:
        """Number of features, D."""
        first, *others = self.orders.tolist()
        return 2 * (first + 1) * math.prod(2 * m + 1 for m in others)

    @property
    def dim(self) -> int:
        """Number of columns of the points, d."""
        return len(self.orders)

    def __call__(self, X: Array) -> Array:
        """Return the features of points, (n, D); points outside the box are refused."""
        points = np.asarray(X, dtype=np.float64)
        outside = ((points < self.low) | (points > self.high)).any(axis=1)
        if outside.any():
            row = int(np.argmax(outside))
            raise ValueError(f"row {row}, {points[row]}, is outside the box from {self.low} to {self.high}.")
        features = np.ones((len(points), 1), dtype=np.complex128)
        for k, order in enumerate(self.orders.tolist()):
            # Terms m and -m are complex conjugates of each other: of the first dimension one half is enough.
            m = np.arange(0 if k == 0 else -order, order + 1)
            angular = 2 * np.pi * m / self.periods[k]
            width = float(self.kernel.bandwidth)
            weight = math.sqrt(2 * np.pi) * width / self.periods[k] * np.exp(-((angular * width) ** 2) / 2)
            if k == 0:
                weight[1:] *= 2
            middle = self.low[k] / 2 + self.high[k] / 2
            waves = np.sqrt(weight) * np.exp(1j * np.multiply.outer(points[:, k] - middle, angular))
            features = (features[:, :, None] * waves[:, None, :]).reshape(len(points), -1)
        return np.hstack([features.real, features.imag])
