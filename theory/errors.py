"""Exact errors of weighted means: the identities that the theorems bound from above."""

import numpy as np
from numpy.typing import ArrayLike

from . import _check as check
from ._check import Floats, Value

__all__ = [
    "exact_mse",
    "gram_bound",
    "gram_distance",
    "naive_mse",
    "shrinkage_weights",
    "squared_error",
]


def naive_mse(trace: ArrayLike, n: ArrayLike) -> Value:
    """Error of the naive mean, ``tr(Sigma) / N`` (eq:naivedef).

    Parameters
    ----------
    trace : array_like
        Trace of the covariance of one observation. The isotropic Gaussian setting has d.
    n : array_like
        Points in the bag.

    Returns
    -------
    float or ndarray
        Mean squared error of the bag's empirical mean.

    Examples
    --------
    >>> float(naive_mse(trace=10.0, n=50))
    0.2
    """
    return check.size("trace", trace) / check.bag_size(n)


def shrinkage_weights(neighbors: ArrayLike, gamma: ArrayLike) -> Floats:
    """Weights of the estimator ``gamma naive_i + (1 - gamma) mean of the neighbors`` (eq:gammaest).

    Parameters
    ----------
    neighbors : array_like of bool, shape (B, B)
        Row i holds the tests T_ij. The diagonal counts as true.
    gamma : array_like
        In [0, 1]: one number, or one for each row.

    Returns
    -------
    ndarray, shape (B, B)
        Row i sums to one.

    Examples
    --------
    >>> shrinkage_weights([[1, 1], [0, 1]], gamma=0.5)
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    tests = check.matrix("neighbors", neighbors) != 0
    check.shape("neighbors", tests, (len(tests), len(tests)))
    np.fill_diagonal(tests, True)
    kept = check.real("gamma", gamma, at_least=0, at_most=1)[..., np.newaxis]
    if kept.ndim > 1:
        check.shape("gamma", kept[..., 0], (len(tests),))
    return kept * np.eye(len(tests)) + (1 - kept) * tests / tests.sum(axis=1, keepdims=True)


def exact_mse(weights: ArrayLike, means: ArrayLike, naive_mse: ArrayLike) -> Floats:
    """Exact mean squared error of ``weights @ naive`` for weights fixed beforehand.

    ``|sum_j w_ij (mu_j - mu_i)|^2 + sum_j w_ij^2 s_j^2``: the identity that Theorem 1 (th:indep)
    and eq:rough bound from above. Rows sum to one.

    Parameters
    ----------
    weights : array_like, shape (B, B)
        Independent of the bags, as when the tests ran on other data.
    means : array_like, shape (B, d)
        The true means; a one-dimensional array is d = 1.
    naive_mse : array_like, shape (B,) or scalar
        Errors s_j^2 of the naive means.

    Returns
    -------
    ndarray, shape (B,)
        Error of each estimate.

    Examples
    --------
    >>> exact_mse([[0.5, 0.5], [0, 1]], means=[[0.0], [1.0]], naive_mse=2.0)
    array([1.25, 2.  ])
    """
    w, mu = check.matrix("weights", weights), check.points(means, "means")
    check.shape("weights", w, (len(mu), len(mu)))
    each = check.size("naive_mse", naive_mse)
    if each.ndim:
        check.shape("naive_mse", each, (len(mu),))
    bias = w @ mu - mu
    return (bias**2).sum(axis=1) + (w**2 * each).sum(axis=1)


def squared_error(weights: ArrayLike, naive: ArrayLike, means: ArrayLike) -> Floats:
    """Squared error ``|sum_j w_ij naive_j - mu_i|^2`` that Theorem 2 (th:onesample) bounds.

    Parameters
    ----------
    weights : array_like, shape (K, B)
        Any weights; they may depend on the same data. K = B unless the errors of only some bags are wanted.
    naive, means : array_like, shape (B, d) and (K, d)
        Naive means, and the true means of the rows; one-dimensional arrays are d = 1.

    Returns
    -------
    ndarray, shape (K,)
        Error of each estimate on these data.

    Examples
    --------
    >>> squared_error([[0.5, 0.5], [0, 1]], naive=[[0.0], [2.0]], means=[[0.0], [1.0]])
    array([1., 1.])
    """
    w, start, mu = (
        check.matrix("weights", weights),
        check.points(naive, "naive"),
        check.points(means, "means"),
    )
    check.shape("weights", w, (len(mu), len(start)))
    check.shape("means", mu, (len(mu), start.shape[1]))
    error = w @ start - mu
    return (error**2).sum(axis=1)


def gram_distance(means: ArrayLike, estimates: ArrayLike) -> float:
    """Squared Frobenius distance ``|(K - K^) / B|^2`` of two Gram matrices (prop:gramfrineq).

    Parameters
    ----------
    means, estimates : array_like, shape (B, d)
        True means and their estimates; one-dimensional arrays are d = 1.

    Returns
    -------
    float
        At most `gram_bound`.

    Examples
    --------
    >>> gram_distance([[1.0], [0.0]], [[0.5], [0.0]])
    0.140625
    """
    a, b = check.points(means, "means"), check.points(estimates, "estimates")
    check.shape("estimates", b, a.shape)
    return float((((a @ a.T - b @ b.T) / len(a)) ** 2).sum())


def gram_bound(squared_errors: ArrayLike, L: ArrayLike) -> Value:
    """Bound ``(4 L^2 / B) sum_i |mu_i - mu^_i|^2`` on `gram_distance` (prop:gramfrineq).

    Parameters
    ----------
    squared_errors : array_like, shape (..., B)
        Squared errors of the estimated means.
    L : array_like
        Bound on the norms of the means and of the estimates.

    Returns
    -------
    float or ndarray
        The constant 4 cannot be lowered: estimates ``(1 - e) mu`` with all mu equal reach it as e
        tends to 0.

    Examples
    --------
    >>> float(gram_bound([0.25, 0.0], L=1.0))
    0.5
    """
    errors = np.atleast_1d(check.size("squared_errors", squared_errors))
    if not errors.shape[-1]:
        raise ValueError(f"squared_errors must hold at least one bag; found shape {errors.shape}.")
    return 4 * check.size("L", L) ** 2 * errors.mean(axis=-1)
