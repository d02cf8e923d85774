r"""Certificates: how large the squared error of each estimate can be, whatever its weights and however they
were chosen.

For Gaussian points of known variance :math:`\sigma^2`, four events hold for all bags at once with probability 1
- alpha: norms of the naive means' errors, their inner products, their products with differences of means, and
upper confidence bounds :math:`\Delta^+_{ij}` for the distances of all pairs of means. On them, for any weights w,

.. math:: |\tilde\mu_i - \mu_i|^2 \le (1 + c' - c) \sum_j w_j^2 s_j^2 + c \, a^2 + b^2 + 2 \ell a b, \qquad
          a = \sum_j |w_j| s_j, \quad b = \sum_j |w_j| \Delta^+_{ij} + \bigl| 1 - \sum_j w_j \bigr| \, |\mu_i|^+.

The weights may depend on the same data, because the events do not depend on the weights. For equal bags and STB
weights it is the sharp one-sample theorem (:mod:`stbmta.theory.sharp`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .labels import labels_index
from .similarity import known_mse
from .statistics import BagStatistics
from .theory import confidence, exact, sharp
from .unequal import fill

__all__ = ["Certificate", "certified_weights", "certify", "upper_distances"]

Array = npt.NDArray[np.float64]

# Distances at which the confidence bound is computed; others get that of the next larger one.
_GRID = 65


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Guaranteed bounds on the squared errors of estimates, all at once.

    Attributes
    ----------
    bounds : ndarray of shape (B,)
        With probability at least 1 - alpha no squared error is larger than its bound.
    naive_error : ndarray of shape (B,)
        The expected squared errors of the naive means.
    alpha : float
    labels : ndarray of shape (B,)
    """

    bounds: Array
    naive_error: Array
    alpha: float
    labels: npt.NDArray[Any]

    @property
    def factors(self) -> Array:
        """The bounds over the expected squared errors of the naive means; below 1 is guaranteed to help."""
        return self.bounds / self.naive_error

    def to_frame(self) -> Any:
        """Return one row a bag as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            Columns `bound`, `naive_error` and `factor`, by label.
        """
        import pandas as pd

        columns = {"bound": self.bounds, "naive_error": self.naive_error, "factor": self.factors}
        return pd.DataFrame(columns, index=labels_index(self.labels))

    def summary(self) -> str:
        """Return the main figures as text.

        Returns
        -------
        str
            The range and the average of the factors, and how many bags are guaranteed to gain.
        """
        factors = self.factors
        return (
            f"With probability {1 - self.alpha:g} all {len(factors)} squared errors are at most "
            f"{factors.min():.3g} to {factors.max():.3g} times those expected of the naive means "
            f"({factors.mean():.3g} on average); {int((factors < 1).sum())} bags are guaranteed to gain."
        )


def certify(W: Any, s: BagStatistics, variance: float, alpha: float = 0.05) -> Certificate:
    r"""Bound the squared errors of the estimates ``W @ naive``, with probability 1 - alpha for all bags at once.

    Parameters
    ----------
    W : array or scipy.sparse matrix of shape (B, B)
        Any weights, chosen in any way, on the same data or not.
    s : BagStatistics
        Of the linear kernel.
    variance : float
        The known variance of each coordinate of the points, which must be Gaussian and isotropic.
    alpha : float, default=0.05
        The probability that any bound fails, a quarter for each of the four events.

    Returns
    -------
    Certificate
        One bound for each bag.

    Notes
    -----
    Proven, by the union bound over all pairs and triples. Bags may have different sizes. Weights that do not sum to
    1 pull toward 0; the distance to 0 then counts as that to one more bag. Time O(B^2).

    Examples
    --------
    >>> from stbmta import bag_statistics, datasets
    >>> s = bag_statistics(datasets.cluster(50, 10_000, n_clusters=1, spread=0.0, rng=0).bags)
    >>> float(certify(np.full((50, 50), 0.02), s, variance=1.0).factors.max()) < 0.5
    True
    """
    D, errors, ell, c, spread = _events(s, variance, alpha)
    weights = W.toarray() if hasattr(W, "toarray") else np.asarray(W, dtype=np.float64)
    if weights.shape != (len(s), len(s)):
        raise ValueError(
            f"a certificate is for weights of the {len(s)} naive means themselves; found shape {weights.shape}."
        )
    if not np.isfinite(weights).all():
        row, column = np.argwhere(~np.isfinite(weights))[0]
        raise ValueError(
            f"weights must be finite numbers, found {weights[row, column]} at ({row}, {column})."
        )
    return Certificate(
        bounds=_bounds(weights, D, errors, ell, c, spread), naive_error=errors, alpha=alpha, labels=s.labels
    )


def certified_weights(s: BagStatistics, variance: float, alpha: float = 0.05) -> Array:
    """Return weights with a small certificate: water-filling with the confidence bounds as distances.

    Never above the certificate of the naive means.

    Parameters
    ----------
    s : BagStatistics
        Of the linear kernel.
    variance : float
        The known variance of each coordinate of the points, which must be Gaussian and isotropic.
    alpha : float, default=0.05
        The probability that any bound fails, a quarter for each of the four events.

    Returns
    -------
    ndarray of shape (B, B)
        Each row sums to 1, and no weight is negative.

    Notes
    -----
    Proven, as every certificate. They are cautious weights: those of :class:`stbmta.Adaptive` are usually better, but
    nobody can promise it.

    Examples
    --------
    >>> from stbmta import bag_statistics, datasets
    >>> s = bag_statistics(datasets.cluster(50, 10_000, n_clusters=2, rng=0).bags)
    >>> W = certified_weights(s, variance=1.0)
    >>> bool((certify(W, s, variance=1.0).factors < 0.6).all())
    True
    """
    D, errors, ell, c, spread = _events(s, variance, alpha)
    W = fill(D[:, :-1], spread * errors, np.arange(len(s)))
    naive = np.eye(len(s))
    worse = _bounds(W, D, errors, ell, c, spread) > _bounds(naive, D, errors, ell, c, spread)
    W[worse] = naive[worse]
    return W


def upper_distances(s: BagStatistics, variance: float, alpha: float) -> Array:
    r"""Return upper confidence bounds for the distances of all pairs of means, and of each mean to 0, (B, B + 1).

    :math:`|\hat\mu_i - \hat\mu_j|^2 / (\sigma^2 (1/N_i + 1/N_j))` has a noncentral chi-square law with d
    degrees of freedom. All bounds hold at once with probability 1 - alpha. The last column is for 0.

    Parameters
    ----------
    s : BagStatistics
        Of the linear kernel.
    variance : float
        The known variance of each coordinate of the points, which must be Gaussian and isotropic.
    alpha : float
        The probability that any bound fails.

    Returns
    -------
    ndarray of shape (B, B + 1)
        Of the distances themselves, not their squares; 0 from a mean to itself.

    Examples
    --------
    >>> from stbmta import Bags, bag_statistics
    >>> rng = np.random.default_rng(0)
    >>> s = bag_statistics(Bags.from_list([rng.normal(size=(1, 1000)), rng.normal(size=(1, 1000)) + 1]))
    >>> upper_distances(s, 1.0, 0.05).round(0)  # the truth is 32 for the pair, 0 and 32 to 0
    array([[ 0., 35.,  7.],
           [35.,  0., 35.]])
    """
    error = known_mse(s, variance)
    squared = np.column_stack([s.mmd2(unbiased=False), np.diagonal(s.gram)])
    noise = np.column_stack([error[:, None] + error, error])
    zeta = 2 * squared / noise  # 2 for equal means
    own = np.eye(len(s), len(s) + 1, dtype=bool)
    grid = np.unique(np.quantile(zeta[~own], np.linspace(0, 1, _GRID), method="higher"))
    tau = confidence.upper_tau(grid, len(s) + 1, s.dim, alpha)
    found = np.sqrt(np.asarray(tau)[np.searchsorted(grid, zeta).clip(max=len(grid) - 1)] * noise / 2)
    found[own] = 0.0
    return found


def _events(s: BagStatistics, variance: float, alpha: float) -> tuple[Array, Array, float, float, float]:
    """Return distances, errors, ell, c and 1 + c' - c, with a quarter of alpha each."""
    if not (isinstance(alpha, (int, float, np.floating)) and 0 < alpha < 1):
        raise ValueError(
            f"alpha must be a probability between 0 and 1, found {alpha!r}; 0.05 gives bounds that hold with 95 %."
        )
    errors = known_mse(s, variance)
    share, n = alpha / 4, len(s) + 1  # 0 counts as one more bag
    c = float(exact.exact_inner(n, s.dim, share))
    spread = 1 + float(exact.exact_norm(n, s.dim, share)) - c
    ell = float(sharp.cross_term(1.0, n, s.dim, share))
    return upper_distances(s, variance, share), errors, ell, c, spread


def _bounds(W: Array, D: Array, errors: Array, ell: float, c: float, spread: float) -> Array:
    size = np.abs(W)
    noise = size @ np.sqrt(errors)
    bias = np.einsum("ij,ij->i", size, D[:, :-1]) + np.abs(1 - W.sum(axis=1)) * D[:, -1]
    # spread may be negative in few dimensions: the products then bound everything.
    return max(spread, 0.0) * (W**2 @ errors) + c * noise**2 + bias**2 + 2 * ell * noise * bias
