"""The four events that the theorems exclude, for given means, tests and errors.

A(tau): some pair at distance sqrt(tau) or more is declared similar (false positive).
B(tau'): some pair within distance sqrt(tau') is not (false negative).
C(tau): two errors have an inner product above tau. C'(tau): a squared error exceeds 1 + tau.
Distances are in units of sigma-bar, squared errors and inner products in units of sigma-bar^2.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _check as check
from ._check import Floats, Value
from ._table import Tabular

__all__ = [
    "EventProbabilities",
    "false_negative",
    "false_positive",
    "large_inner_product",
    "large_norm",
    "separated_pairs",
    "similar_pairs",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventProbabilities(Tabular):
    """Upper bounds of the probabilities of the four events.

    Attributes
    ----------
    A, B, C, C_prime : float or ndarray
        One bound for each event, at most 1.

    Examples
    --------
    >>> float(EventProbabilities(A=0.05, B=0.05, C=0.1, C_prime=0.05).total)
    0.25
    """

    A: Value
    B: Value
    C: Value
    C_prime: Value

    @property
    def total(self) -> Value:
        """Bound of the probability that any of the four happens."""
        return np.minimum(self.A + self.B + self.C + self.C_prime, 1.0)

    def _columns(self) -> dict[str, list[float]]:
        names = ("A: false positive", "B: false negative", "C: inner product", "C': norm", "any")
        values = np.broadcast_arrays(self.A, self.B, self.C, self.C_prime, self.total)
        return {name: value.ravel().tolist() for name, value in zip(names, values, strict=True)}


def similar_pairs(sq_distances: ArrayLike, tau: ArrayLike, sigma: ArrayLike = 1.0) -> NDArray[np.bool_]:
    """Pairs ``G(tau)``: squared distance at most ``tau sigma-bar^2``.

    Parameters
    ----------
    sq_distances : array_like, shape (B, B)
        Squared distances of the true means.
    tau : array_like
        Squared radius in units of sigma-bar^2.
    sigma : array_like, default 1
        Length sigma-bar, whose square bounds the errors of all naive means.

    Returns
    -------
    bool or ndarray of bool
        True for similar pairs, each bag with itself included.

    Examples
    --------
    >>> similar_pairs([[0.0, 2.0], [2.0, 0.0]], tau=1.0)
    array([[ True, False],
           [False,  True]])
    """
    return np.asarray(_distances(sq_distances) <= check.tau(tau) * check.size("sigma", sigma) ** 2)[()]


def separated_pairs(sq_distances: ArrayLike, tau: ArrayLike, sigma: ArrayLike = 1.0) -> NDArray[np.bool_]:
    """Pairs ``G-bar(tau)``: squared distance at least ``tau sigma-bar^2``.

    Parameters
    ----------
    sq_distances : array_like, shape (B, B)
        As in `similar_pairs`.
    tau, sigma : array_like
        As in `similar_pairs`.

    Returns
    -------
    bool or ndarray of bool
        Equality belongs to both sets, as in the paper.

    Examples
    --------
    >>> separated_pairs([0.0, 1.0, 2.0], tau=1.0)
    array([False,  True,  True])
    """
    return np.asarray(_distances(sq_distances) >= check.tau(tau) * check.size("sigma", sigma) ** 2)[()]


def false_positive(
    neighbors: ArrayLike, sq_distances: ArrayLike, tau: ArrayLike, sigma: ArrayLike = 1.0
) -> bool:
    """Whether A(tau) happened: a separated pair was declared similar.

    Parameters
    ----------
    neighbors : array_like of bool, shape (B, B)
        The tests T_ij.
    sq_distances : array_like, shape (B, B)
        As in `similar_pairs`.
    tau, sigma : array_like
        As in `similar_pairs`.

    Returns
    -------
    bool
        Both theorems need this to be False.

    Examples
    --------
    >>> false_positive([[1, 1], [0, 1]], [[0.0, 2.0], [2.0, 0.0]], tau=1.0)
    True
    """
    return bool(np.any(_tests(neighbors) & separated_pairs(sq_distances, tau, sigma)))


def false_negative(
    neighbors: ArrayLike, sq_distances: ArrayLike, tau_prime: ArrayLike, sigma: ArrayLike = 1.0
) -> bool:
    """Whether B(tau') happened: a similar pair was missed.

    Parameters
    ----------
    neighbors : array_like of bool, shape (B, B)
        The tests T_ij. The diagonal must be true.
    sq_distances : array_like, shape (B, B)
        As in `false_positive`.
    tau_prime : array_like
        Squared radius in units of sigma-bar^2.
    sigma : array_like, default 1
        As in `false_positive`.

    Returns
    -------
    bool
        The averaged bounds of both theorems need this to be False.

    Examples
    --------
    >>> false_negative([[1, 1], [0, 1]], [[0.0, 0.1], [0.1, 0.0]], tau_prime=0.2)
    True
    """
    return bool(np.any(~_tests(neighbors) & similar_pairs(sq_distances, tau_prime, sigma)))


def large_inner_product(errors: ArrayLike, tau: ArrayLike, sigma: ArrayLike = 1.0) -> bool:
    """Whether C(tau) happened: ``|<e_i, e_j>| > tau sigma-bar^2`` for some i other than j.

    Parameters
    ----------
    errors : array_like, shape (B, d)
        Naive means minus true means.
    tau, sigma : array_like
        As in `similar_pairs`.

    Returns
    -------
    bool
        Theorem 2 needs this to be False.

    Examples
    --------
    >>> large_inner_product([[1.0, 0.0], [0.0, 1.0]], tau=0.1)
    False
    """
    e = check.matrix("errors", errors)
    products = np.abs(e @ e.T)
    np.fill_diagonal(products, 0.0)
    return bool(products.max() > check.tau(tau) * check.size("sigma", sigma) ** 2)


def large_norm(errors: ArrayLike, tau: ArrayLike, sigma: ArrayLike = 1.0) -> bool:
    """Whether C'(tau) happened: ``|e_i|^2 > (1 + tau) sigma-bar^2`` for some i.

    Parameters
    ----------
    errors : array_like, shape (B, d)
        As in `large_inner_product`.
    tau, sigma : array_like
        As in `similar_pairs`.

    Returns
    -------
    bool
        Theorem 2 needs this to be False.

    Examples
    --------
    >>> large_norm([[1.0, 0.0], [0.0, 1.2]], tau=0.1)
    True
    """
    e = check.matrix("errors", errors)
    return bool((e**2).sum(axis=1).max() > (1 + check.tau(tau)) * check.size("sigma", sigma) ** 2)


def _distances(sq_distances: ArrayLike) -> Floats:
    return check.real("sq_distances", sq_distances, hint="They are squared distances of true means.")


def _tests(neighbors: ArrayLike) -> NDArray[np.bool_]:
    return check.real("neighbors", neighbors, hint="They are tests: true or false.") != 0
