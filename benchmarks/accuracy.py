"""Errors of the RBF statistics against extended precision, on easy and on hard data."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stbmta import RBF, Bags, bag_statistics

__all__ = ["Accuracy", "measure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Largest relative error of the mean kernel values between bags.

    Attributes
    ----------
    well_scaled : float
        Standard normal points in 2, 12 and 100 dimensions, width sqrt(d).
    hard : float
        Points with a common offset of 1e3 and 1e6, and two clusters 1e6 apart.
    single : float
        Single precision on the well-scaled points.
    """

    well_scaled: float
    hard: float
    single: float

    def to_dict(self) -> dict[str, float]:
        """Return the errors."""
        return asdict(self)


def measure(n_bags: int = 6, bag_size: int = 10) -> Accuracy:
    """Measure the errors against sums in `numpy.longdouble` (64 bits of mantissa on x86).

    Examples
    --------
    >>> measure(2, 3).well_scaled < 1e-13
    True
    """
    rng = np.random.default_rng(0)
    easy = {d: rng.normal(size=(n_bags, bag_size, d)) for d in (2, 12, 100)}
    apart = np.where(np.arange(n_bags) % 2, 1e6, 0.0)[:, None, None]
    hard = [easy[12] + 1e3, easy[12] + 1e6, easy[12] + apart, easy[12] + apart + 1e6]
    return Accuracy(
        well_scaled=max(_error(points, np.float64) for points in easy.values()),
        hard=max(_error(points, np.float64) for points in hard),
        single=max(_error(points, np.float32) for points in easy.values()),
    )


def _error(points: npt.NDArray[np.float64], dtype: npt.DTypeLike) -> float:
    width = float(np.sqrt(points.shape[2]))
    found = bag_statistics(Bags.from_list(list(points)), RBF(width), dtype=dtype).gram
    exact = _reference(points, width)
    counts = exact > 1e-300  # beyond that doubles have fewer digits
    return float(np.max(np.abs(found[counts] / exact[counts] - 1)))


def _reference(points: npt.NDArray[np.float64], width: float) -> Any:
    """Mean kernel values between bags, in extended precision, from differences of coordinates."""
    x = points.astype(np.longdouble)
    difference = x[:, None, :, None, :] - x[None, :, None, :, :]
    values = np.exp(-(difference**2).sum(axis=-1) / (2 * np.longdouble(width) ** 2))
    return values.mean(axis=(2, 3))
