"""On which bags parameters are chosen, and how much memory that takes."""

import numpy as np
import numpy.typing as npt

from .kernels import Kernel, Linear
from .memory import require_memory
from .tuning import default_scored, default_zetas

__all__ = ["TUNING_BAGS", "require_tuning_memory", "tuning_choice", "tuning_memory"]

# Bags on which parameters are chosen: more cost much and hardly change the choice. Half as many where kernel values
# between all their points are needed.
TUNING_BAGS = 2000
# Folds that are scored at least, by drawing them several times.
_LEAST_SCORED = 500


def tuning_choice(n_bags: int, kernel: Kernel, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return the bags on which parameters are chosen: all, or some drawn at random where they are very many.

    It depends on their number and the kind of kernel alone, so that memory and the way of computing change no
    parameter.

    Returns
    -------
    ndarray of int
        Ascending positions of the bags: at most 2000, or 1000 with other kernels than the linear one.

    Examples
    --------
    >>> from stbmta import RBF
    >>> tuning_choice(3, Linear(), np.random.default_rng(0))
    array([0, 1, 2])
    >>> [len(tuning_choice(5000, kernel, np.random.default_rng(0))) for kernel in (Linear(), RBF(1.0))]
    [2000, 1000]
    """
    most = TUNING_BAGS if isinstance(kernel, Linear) else TUNING_BAGS // 2
    return np.arange(n_bags) if n_bags <= most else np.sort(rng.choice(n_bags, most, replace=False))


def tuning_memory(
    sizes: npt.NDArray[np.int64], dim: int, kernel: Kernel, n_folds: int, copies: int = 0
) -> float:
    """Return how many bytes the choice of parameters takes.

    Parameters
    ----------
    sizes : ndarray of shape (B,)
        Of the bags that it is made on.
    dim : int
        Number of features of the points.
    kernel : Kernel
        The linear kernel takes less than others.
    n_folds : int
        At most; a bag of N points has at most N folds.
    copies : int, default=0
        How often their points are held before the choice begins.

    Returns
    -------
    float
        An estimate of the bytes, the copies included.
    """
    B, linear = len(sizes), isinstance(kernel, Linear)
    folds = int(np.minimum(sizes, n_folds).sum())
    scored = min(folds, default_scored(B))
    parts = min(folds, B + 2 * scored)
    points = 8.0 * float(sizes.sum()) * dim * (copies + (1 if linear else 3))
    sums = 8.0 * B * (parts * (1 if linear else 2) + 3 * B)
    paths = 2 * 32.0 * len(default_zetas()) * max(scored, _LEAST_SCORED)
    return points + sums + paths


def require_tuning_memory(
    sizes: npt.NDArray[np.int64], dim: int, kernel: Kernel, n_folds: int, copies: int, limit: int
) -> None:
    """Refuse a choice of parameters that would not fit into what is left; see :func:`tuning_memory`."""
    require_memory(
        tuning_memory(sizes, dim, kernel, n_folds, copies),
        limit,
        f"choosing parameters on {len(sizes)} bags with {int(sizes.sum())} points",
        "Give zeta and gamma (they may be chosen on a smaller sample), or allow more with max_memory.",
    )
