r"""The weight matrix W of each method: ``estimate = W @ naive``.

Step 5 of the way of the data. One function a method, formulas of the paper's appendix "Details on the
Tested Methods". Row i holds the weights of the naive means in the estimate of mean i.

Neighbors may be a Boolean array or a ``scipy.sparse`` matrix; weights are of the same kind.
"""

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy  # its parts load when first used

from .similarity import given_errors, known_mse
from .statistics import BagStatistics
from .theory import theorems

__all__ = [
    "james_stein",
    "mta",
    "mta_constant",
    "mta_stb",
    "naive",
    "rkmse",
    "stb",
    "stb_same_data",
    "stb_theory",
]

Array = npt.NDArray[np.float64]
Matrix = Any  # a dense array or a scipy.sparse matrix


def naive(s: BagStatistics) -> Array:
    """Return the weights of NE, the naive means: the identity.

    Returns
    -------
    ndarray of shape (B, B)
        Row i holds the weights of the naive means in estimate i.

    Examples
    --------
    >>> from stbmta import Bags, bag_statistics
    >>> naive(bag_statistics(Bags.from_list([[1.0], [2.0]])))
    array([[1., 0.],
           [0., 1.]])
    """
    return np.eye(len(s))


def rkmse(s: BagStatistics) -> Array:
    r"""Return the weights of R-KMSE, which shrinks each mean toward 0 (Muandet et al. 2016).

    .. math:: w_{ii} = \frac1{1 + \lambda_i}, \qquad
              \lambda_i = \frac{\varrho_i - \rho_i}{(1/N_i - 1) \varrho_i + (N_i - 1) \rho_i}

    with :math:`\varrho_i` the mean of k(x, x) and :math:`\rho_i` the mean of all k(x, y) of bag i. Where the
    denominator is not positive the shrinkage is complete, w = 0. A bag of equal points is not shrunk.

    Returns
    -------
    ndarray of shape (B, B)
        Diagonal: each estimate is a multiple of its naive mean.

    Examples
    --------
    >>> from stbmta import Bags, bag_statistics
    >>> np.diag(rkmse(bag_statistics(Bags.from_list([[1.0, 3.0]])))).round(3)
    array([0.6])
    """
    mse = s.naive_mse
    counts = s.sizes.astype(np.float64)
    numerator = s.scatter
    # (1/N - 1) * mean k(x, x) + (N - 1) * mean k = (N - 1) * (mean k - mean k(x, x) / N)
    denominator = (counts - 1) * (np.diagonal(s.gram) - s.diagonal / counts)
    total = numerator + denominator
    kept = np.divide(denominator, total, out=np.zeros(len(s)), where=(denominator > 0) & (total > 0))
    kept[mse == 0] = 1.0
    return np.diag(kept)


def stb(N: Matrix, gamma: npt.ArrayLike = 0.0) -> Matrix:
    r"""Return the weights of STB: shrink each mean toward the average of its neighbors (eq. gammaest).

    .. math:: w_{ij} = \gamma 1\{i = j\} + \frac{1 - \gamma}{|V_i|} 1\{j \in V_i\}

    Parameters
    ----------
    N : array or scipy.sparse matrix of bool, shape (B, B)
        The neighbors; the diagonal must be True.
    gamma : float or array-like of shape (B,), default=0.0
        What each mean keeps of itself, from 0 (STB-0) to 1 (the naive mean). Tuned, it is STB weight.

    Returns
    -------
    ndarray or scipy.sparse array of shape (B, B)
        Row i holds the weights of the naive means in estimate i; sparse if `N` is.

    Examples
    --------
    >>> stb(np.array([[True, True], [False, True]]), gamma=0.5)
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    N = N if scipy.sparse.issparse(N) else np.asarray(N)
    counts = _neighbor_counts(N)
    gamma = np.broadcast_to(np.asarray(gamma, dtype=np.float64), counts.shape)
    if not ((gamma >= 0) & (gamma <= 1)).all():
        raise ValueError("gamma must be between 0 and 1.")
    share = (1 - gamma) / counts
    if scipy.sparse.issparse(N):
        return (
            scipy.sparse.diags_array(share) @ N.astype(np.float64) + scipy.sparse.diags_array(gamma)
        ).tocsr()
    W = N * share[:, None]
    W[np.diag_indices_from(W)] += gamma
    return W


def stb_theory(N: Matrix, zeta: float, c: float = 1.0) -> Matrix:
    r"""Return the weights of STB theory: the shrinkage that Theorem 1 proves optimal (eq. optgamma).

    .. math:: \gamma_i = \frac{c \zeta (|V_i| - 1)}{(1 + c \zeta) (|V_i| - 1) + 1}

    Parameters
    ----------
    N : array or scipy.sparse matrix of bool, shape (B, B)
        The neighbors; the diagonal must be True.
    zeta : float
        The threshold of the tests, in place of :math:`\tau`.
    c : float, default=1.0
        A factor for zeta.

    Returns
    -------
    ndarray or scipy.sparse array of shape (B, B)
        Row i holds the weights of the naive means in estimate i; sparse if `N` is.

    Notes
    -----
    Theorem 1 speaks of :math:`\tau`, the squared distance of the means over the squared error. In the
    test of eq. simtest_kme :math:`\tau = 2 \zeta`; in the Gaussian test of eq. deftestsgaus
    :math:`\zeta \approx 2 + \tau`. The paper puts zeta in place of tau in both and leaves the rest to c.

    Examples
    --------
    >>> stb_theory(np.array([[True, True], [True, True]]), zeta=1.0).round(3)
    array([[0.667, 0.333],
           [0.333, 0.667]])
    """
    return stb(N, theorems.gamma_independent(c * float(zeta), _neighbor_counts(N) - 1))


def stb_same_data(N: Matrix, tau: float) -> Matrix:
    r"""Return the weights of Theorem 2, for tests on the same data: :math:`\gamma = \tau / (1 + \tau)`.

    Eq. optgamma-onesample.

    Returns
    -------
    ndarray or scipy.sparse array of shape (B, B)
        Row i holds the weights of the naive means in estimate i; sparse if `N` is.

    Examples
    --------
    >>> stb_same_data(np.array([[True, True], [True, True]]), tau=1.0)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    return stb(N, theorems.gamma_same_data(tau))


def mta(s: BagStatistics, similarity: Matrix, gamma: float, *, mse: npt.ArrayLike | None = None) -> Array:
    r"""Return the weights of multi-task averaging with a given similarity of tasks (eq. mtaweight).

    .. math:: W = \Bigl( I + \frac{\gamma}{B} D L(A) \Bigr)^{-1}, \qquad L(A) = \mathrm{diag}(A 1) - A,

    D the diagonal matrix of the naive means' squared errors. Rows sum to 1 and no weight is negative.

    Parameters
    ----------
    s : BagStatistics
        Statistics of the bags.
    similarity : array or scipy.sparse matrix of shape (B, B)
        A, not negative. It may be directed: row i says which tasks pull on task i.
    gamma : float
        How strongly, at least 0.
    mse : array-like of shape (B,), optional
        The squared errors of the naive means; their estimates by default.

    Returns
    -------
    ndarray of shape (B, B)
        Row i holds the weights of the naive means in estimate i.

    Examples
    --------
    >>> from stbmta import Bags, bag_statistics
    >>> s = bag_statistics(Bags.from_list([[0.0, 2.0], [1.0, 3.0]]))
    >>> mta(s, np.ones((2, 2)), gamma=2.0).round(3)
    array([[0.667, 0.333],
           [0.333, 0.667]])
    """
    gamma = _at_least_zero(gamma, "gamma")
    error = given_errors(s, mse)
    A = similarity.toarray() if scipy.sparse.issparse(similarity) else np.asarray(similarity)
    A = A.astype(np.float64)
    if A.shape != (len(s), len(s)) or not ((A >= 0) & np.isfinite(A)).all():
        raise ValueError(f"similarity must be a matrix of {len(s)} x {len(s)} finite numbers of at least 0.")
    laplacian = np.diag(A.sum(axis=1)) - A
    system = np.eye(len(s)) + (gamma / len(s)) * error[:, None] * laplacian
    return scipy.linalg.solve(system, np.eye(len(s)), overwrite_a=True, overwrite_b=True)


def mta_constant(
    s: BagStatistics,
    gamma: float = 1.0,
    *,
    constant: Literal["inverse", "mean", "minimax"] = "inverse",
    mse: npt.ArrayLike | None = None,
) -> Array:
    r"""Return the weights of MTA const: every pair of tasks is equally similar.

    A = a 11' in :func:`mta`, where a comes from the average squared distance of the means,
    :math:`\bar\Delta^2 = \frac{1}{B(B-1)} \sum_{i \ne j} \max(U_{ij}, 0)`.

    Parameters
    ----------
    s : BagStatistics
        Statistics of the bags.
    gamma : float, default=1.0
        How strongly; 1 needs no tuning with the inverse constant (Feldman et al. 2014).
    constant : {"inverse", "mean", "minimax"}, default="inverse"
        "inverse": :math:`a = 2 / \bar\Delta^2`, as Feldman et al. derive it and the authors' code has it:
        the farther apart the means, the less they say about each other. "mean": :math:`a = \bar\Delta^2`,
        as the paper's text prints it. "minimax": :math:`a = 2 / \max |\hat\mu_i - \hat\mu_j|^2`, for means anywhere
        within the range of the naive ones (Feldman et al. 2014, there for numbers: the squared range). Only the
        product of gamma and a matters.
    mse : array-like of shape (B,), optional
        The squared errors of the naive means, if they are known. Distances then come from them too.

    Returns
    -------
    ndarray of shape (B, B)
        Row i holds the weights of the naive means in estimate i.

    Notes
    -----
    When no two means can be told apart (all U are at most 0) the constant is infinite; the weights are
    then their limit, the average of all bags by inverse variance. Cost O(B^2), in closed form.

    Examples
    --------
    >>> from stbmta import Bags, bag_statistics
    >>> s = bag_statistics(Bags.from_list([[0.0, 2.0], [4.0, 6.0]]))
    >>> mta_constant(s).round(4)
    array([[0.9375, 0.0625],
           [0.0625, 0.9375]])
    """
    gamma = _at_least_zero(gamma, "gamma")
    if constant not in ("inverse", "mean", "minimax"):
        raise ValueError(f"constant must be 'inverse', 'mean' or 'minimax', found {constant!r}.")
    error = given_errors(s, mse)
    B = len(s)
    if B == 1 or gamma == 0:
        return np.eye(B)
    distances = s.mmd2(unbiased=False)
    if constant == "minimax":
        typical = float(distances.max())
    else:
        distances -= error[:, None] + error
        np.fill_diagonal(distances, 0.0)
        typical = float(np.maximum(distances, 0.0).sum() / (B * (B - 1)))
    strength = gamma * (typical if constant == "mean" else 2 / typical if typical else math.inf)
    if math.isinf(strength * (float(error.max()) or 1.0)):
        return np.broadcast_to(_inverse_variance(error), (B, B)).copy()
    # I + strength * D (I - 11'/B): a diagonal and a matrix of rank one, inverted by Sherman-Morrison. Its divisor,
    # 1 less the sum of what is pulled, is the average of what is kept, and is not lost when that is little.
    kept = 1 / (1 + strength * error)
    pulled = strength * error * kept / B
    return np.diag(kept) + np.outer(pulled, kept / kept.mean())


def _inverse_variance(error: Array) -> Array:
    weights = (error == 0).astype(np.float64) if (error == 0).any() else 1 / error
    return weights / weights.sum()


def mta_stb(s: BagStatistics, N: Matrix, gamma: float, *, mse: npt.ArrayLike | None = None) -> Array:
    """Return the weights of MTA stb: the similarity of two tasks is the outcome of their test.

    :func:`mta` with A the matrix of neighbors, which may be directed.

    Parameters
    ----------
    s : BagStatistics
        Statistics of the bags.
    N : array or scipy.sparse matrix of bool, shape (B, B)
        The neighbors; the diagonal does not matter.
    gamma : float
        How strongly, at least 0.
    mse : array-like of shape (B,), optional
        The squared errors of the naive means; their estimates by default.

    Returns
    -------
    ndarray of shape (B, B)
        Row i holds the weights of the naive means in estimate i.

    Examples
    --------
    >>> from stbmta import Bags, bag_statistics
    >>> s = bag_statistics(Bags.from_list([[0.0, 2.0], [1.0, 3.0]]))
    >>> mta_stb(s, np.array([[True, True], [False, True]]), gamma=2.0)
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    return mta(s, N, gamma, mse=mse)


def james_stein(
    s: BagStatistics,
    *,
    target: Literal["zero", "mean"] | npt.ArrayLike = "zero",
    variance: float | None = None,
    constant: Literal["classical", "authors"] = "classical",
) -> Array:
    r"""Return the weights of the positive-part James-Stein estimator of each bag.

    .. math:: \tilde\mu_i = \nu + w_{ii} (\hat\mu_i - \nu), \qquad
              w_{ii} = \Bigl( 1 - \frac{(d - 2) \hat\sigma_i^2}{|\hat\mu_i - \nu|^2} \Bigr)_+

    Parameters
    ----------
    s : BagStatistics
        Of the linear kernel.
    target : "zero", "mean" or array-like of shape (d,), default="zero"
        Where to shrink: :math:`\nu = 0`, the average of all naive means, or a given vector. With a vector the
        estimate is ``nu + W @ (naive - nu)``.
    variance : float, optional
        The variance of each coordinate, if it is known: then :math:`\hat\sigma_i^2` is variance / N_i.
        Otherwise it is estimated in each bag, by the sum of squares over
        :math:`N_i (d (N_i - 1) + 2)`, which keeps the estimator better than the naive mean.
    constant : {"classical", "authors"}, default="classical"
        d - 2, which is optimal, or d - 3 as the authors' code has it.

    Returns
    -------
    ndarray of shape (B, B)
        Diagonal, unless the target is the average of the naive means.

    Notes
    -----
    In fewer than three dimensions (four for "authors") there is nothing to gain: the weights are those
    of the naive mean.

    Examples
    --------
    >>> from stbmta import Bags, bag_statistics
    >>> s = bag_statistics(Bags.from_list([np.full((1, 4), 1.0)]))
    >>> james_stein(s, variance=1.0)
    array([[0.5]])
    """
    if s.means is None:
        raise ValueError(
            "James-Stein shrinkage needs vectors of finite dimension: use the linear kernel, or rkmse."
        )
    if constant not in ("classical", "authors"):
        raise ValueError(f"constant must be 'classical' or 'authors', found {constant!r}.")
    strength = max(0, s.dim - (2 if constant == "classical" else 3))
    if variance is None:
        counts = s.sizes.astype(np.float64)
        squares = s.naive_mse * counts * (counts - 1)
        error = squares / (counts * (s.dim * (counts - 1) + 2))
    else:
        error = known_mse(s, variance) / s.dim
    away = s.means - james_stein_target(s, target)
    norms = np.einsum("ij,ij->i", away, away)
    shrunk = np.divide(strength * error, norms, out=np.zeros(len(s)), where=norms > 0)
    kept = np.maximum(0.0, 1 - shrunk)
    W = np.diag(kept)
    if isinstance(target, str) and target == "mean":
        W += (1 - kept)[:, None] / len(s)
    return W


def james_stein_target(s: BagStatistics, target: Literal["zero", "mean"] | npt.ArrayLike) -> Array:
    """Return the vector that James-Stein shrinks toward."""
    assert s.means is not None
    if isinstance(target, str):
        if target not in ("zero", "mean"):
            raise ValueError(f"target must be 'zero', 'mean' or a vector, found {target!r}.")
        return s.means.mean(axis=0) if target == "mean" else np.zeros(s.dim)
    vector = np.asarray(target, dtype=np.float64)
    if vector.shape != (s.dim,) or not np.isfinite(vector).all():
        raise ValueError(f"target must be a finite vector of {s.dim} numbers, found shape {vector.shape}.")
    return vector


def _neighbor_counts(N: Matrix) -> Array:
    N = N if scipy.sparse.issparse(N) else np.asarray(N)
    if N.ndim != 2 or N.shape[0] != N.shape[1]:
        raise ValueError(f"neighbors must be a square matrix, found shape {N.shape}.")
    if not np.all(N.diagonal()):
        raise ValueError("every bag must be its own neighbor: set the diagonal to True.")
    return np.asarray(N.sum(axis=1), dtype=np.float64).ravel()


def _at_least_zero(value: float, name: str) -> float:
    if not (np.ndim(value) == 0 and np.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be a number of at least 0, found {value!r}.")
    return float(value)
