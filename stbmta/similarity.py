"""The tests T_ij: which bags are neighbors.

Step 4 of the way of the data. Row i holds the neighbors of bag i; a bag is always its own neighbor.
"""

import numpy as np
import numpy.typing as npt

from .jit import linear as jit_linear
from .statistics import BagStatistics
from .threads import chunks

__all__ = ["gaussian_neighbors", "given_errors", "known_mse", "neighbors", "require_known_variance"]

Neighbors = npt.NDArray[np.bool_]


def neighbors(s: BagStatistics, zeta: npt.ArrayLike) -> Neighbors:
    r"""Find the neighbors of each bag by the test of the paper's experiments.

    .. math:: T_{ij} = 1 \iff U_{ij} \le \zeta \, \widehat{\mathrm{MSE}}_i

    with the unbiased squared MMD (eq. Ustat) and the estimated squared error of the naive mean (eq.
    esttaskvar). This is eq. simtest_kme with :math:`\zeta = \tau / 2` and the variance of task i in place
    of the common bound.

    Parameters
    ----------
    s : BagStatistics
        Statistics of the bags.
    zeta : float or array-like of shape (B,)
        The threshold, at least 0; one for all bags or one a bag.

    Returns
    -------
    ndarray of bool, shape (B, B)
        Not symmetric in general, because row i uses the variance of bag i. The diagonal is True.

    Notes
    -----
    The authors' code replaces negative U by 0 first. With a threshold of at least 0 that changes nothing.

    With the linear kernel, pairs that lie on the threshold as far as rounding can tell are decided from the
    differences of their means, as :func:`stbmta.neighbor_averages` decides all pairs.

    Examples
    --------
    >>> from stbmta import Bags, bag_statistics
    >>> s = bag_statistics(Bags.from_list([[0.0, 2.0], [1.0, 3.0], [9.0, 9.5]]))
    >>> neighbors(s, 1.0).astype(int)
    array([[1, 1, 0],
           [1, 1, 0],
           [0, 0, 1]])
    """
    _require_pairs(s)
    return _tests(s, s.mmd2(), s.naive_mse, _thresholds(zeta, s.naive_mse))


def gaussian_neighbors(s: BagStatistics, zeta: npt.ArrayLike, variance: float = 1.0) -> Neighbors:
    r"""Find the neighbors of each bag when points are isotropic with known variance.

    .. math:: T_{ij} = 1 \iff |\hat\mu_i - \hat\mu_j|^2 \le \zeta \, d \sigma^2 / N_i

    Eq. deftestsgaus, with the squared error of the naive mean of bag i. It needs no variance estimate, so
    bags of one point are welcome.

    Parameters
    ----------
    s : BagStatistics
        Of the linear kernel.
    zeta : float or array-like of shape (B,)
        The threshold. Equal means are at distance 2 on average, so useful values are around 2 to 3.
    variance : float, default=1.0
        The variance of each coordinate, :math:`\sigma^2`.

    Returns
    -------
    ndarray of bool, shape (B, B)
        Not symmetric where bags differ in size. The diagonal is True.

    Examples
    --------
    >>> from stbmta import Bags, bag_statistics
    >>> s = bag_statistics(Bags.from_list([[[0.0, 1.0]], [[1.0, 0.0]], [[9.0, 9.0]]]))
    >>> gaussian_neighbors(s, 2.9).astype(int)
    array([[1, 1, 0],
           [1, 1, 0],
           [0, 0, 1]])
    """
    _require_pairs(s)
    threshold = _thresholds(zeta, known_mse(s, variance))
    return _tests(s, s.mmd2(unbiased=False), np.zeros(len(s)), threshold)


def _require_pairs(s: object) -> None:
    """Refuse what does not compare all bags with all bags, and say what does without that."""
    if not hasattr(s, "mmd2"):
        raise TypeError(
            f"expected the statistics that bag_statistics makes, found {type(s).__name__}. "
            "Bags and means have their neighbors from stbmta.neighbor_averages(..., keep_neighbors=True)."
        )


def known_mse(s: BagStatistics, variance: float) -> npt.NDArray[np.float64]:
    r"""Return the squared error of the naive means when the variance is known, :math:`d \sigma^2 / N_i`.

    Returns
    -------
    ndarray of shape (B,)
        One number a bag.
    """
    require_known_variance(s.means is not None, variance)
    return s.dim * float(variance) / s.sizes


def require_known_variance(vectors: bool, variance: float) -> None:
    """Refuse a variance that is no positive number, or one of coordinates where there are none."""
    if not vectors:
        raise ValueError("a known variance of the coordinates needs the linear kernel.")
    if not (isinstance(variance, (int, float, np.number)) and np.isfinite(variance) and variance > 0):
        raise ValueError(f"variance must be a positive number, found {variance!r}.")


def given_errors(s: BagStatistics, mse: npt.ArrayLike | None) -> npt.NDArray[np.float64]:
    """Return the squared errors of the naive means, as given or, without any, as estimated.

    Returns
    -------
    ndarray of shape (B,)
        At least 0.
    """
    if mse is None:
        return s.naive_mse
    error = np.asarray(mse, dtype=np.float64)
    if error.shape != (len(s),) or not (np.isfinite(error) & (error >= 0)).all():
        raise ValueError(f"mse must be {len(s)} finite numbers of at least 0, one a bag.")
    return error


def _thresholds(zeta: npt.ArrayLike, mse: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return zeta * mse; an infinite zeta lets everybody in, also where the error is 0."""
    values = np.asarray(zeta, dtype=np.float64)
    if values.ndim > 1 or (values.ndim == 1 and len(values) != len(mse)):
        raise ValueError(
            f"zeta must be a number or {len(mse)} numbers, one a bag; found shape {values.shape}."
        )
    if not (values >= 0).all():
        raise ValueError(f"zeta must be at least 0, found {zeta!r}.")
    return np.where(np.isinf(values), np.inf, np.where(np.isinf(values), 0.0, values) * mse)


def _tests(
    s: BagStatistics,
    distances: npt.NDArray[np.float64],
    errors: npt.NDArray[np.float64],
    thresholds: npt.NDArray[np.float64],
) -> Neighbors:
    """Return distances <= thresholds. Where rounding decides, the means themselves are asked, if there are any."""
    tests = distances <= thresholds[:, None]
    if s.means is not None:
        norms = np.diagonal(s.centered_gram)
        farthest = float(np.sqrt(norms.max()))
        rounding = np.finfo(float).eps * (s.means.shape[1] + 16)
        # Of norms and inner products; of the differences of means, which have the rounding of the offset.
        margins = rounding * (4 * norms + errors + np.abs(s.means).max() * farthest)
        for first, last in chunks(len(s), s.means.size):  # Ctrl-C is heard in between
            jit_linear.settle_ties(s.means, distances, errors, thresholds, margins, first, last, tests)
    np.fill_diagonal(tests, True)
    return tests
