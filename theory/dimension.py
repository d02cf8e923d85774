"""Effective dimensions and traces of a covariance, from points or from kernel Gram matrices.

The paper's effective dimension is ``tr(Sigma) / |Sigma|_op`` (eq:deffunif). The similarity test itself is governed
by the larger ``tr(Sigma)^2 / tr(Sigma^2)``. Gram matrices are of one bag, ``K_kl = <x_k, x_l>``, diagonal included.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigvalsh

from . import _check as check
from ._check import Floats
from ._table import Tabular
from .traces import (
    center_gram,
    square_gram,
    trace_covariance,
    trace_cubed,
    trace_product,
    trace_squared,
)

__all__ = [
    "EffectiveDimension",
    "effective_dimension",
    "frobenius_dimension",
    "naive_mse",
    "pooled_dimension",
    "trace_covariance",
    "trace_cubed",
    "trace_product",
    "trace_squared",
    "u_statistic",
    "u_variance",
]

# What a covariance may miss in symmetry, or have below zero, of its largest entry or eigenvalue.
_ROUNDING = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveDimension(Tabular):
    """Traces and effective dimensions pooled over bags.

    Attributes
    ----------
    trace : float
        Unbiased estimate of tr(Sigma).
    trace_squared : float
        Unbiased estimate of tr(Sigma^2); nan if no bag has four points.
    op_norm : float
        Mean of the largest eigenvalues of the bags' sample covariances; too large for small bags.
    smallest : float
        Smallest ``tr / |.|_op`` of a single bag, the d_eff that eq:deffunif asks for.
    """

    trace: float
    trace_squared: float
    op_norm: float
    smallest: float

    @property
    def d_eff(self) -> float:
        """``tr(Sigma) / |Sigma|_op``; too small for small bags."""
        return self.trace / self.op_norm

    @property
    def d_frobenius(self) -> float:
        """``tr(Sigma)^2 / tr(Sigma^2)``; nan if the estimate of tr(Sigma^2) is not positive."""
        return self.trace**2 / self.trace_squared if self.trace_squared > 0 else float("nan")

    def _columns(self) -> dict[str, list[Any]]:
        rows = {
            "tr(Sigma)": self.trace,
            "tr(Sigma^2)": self.trace_squared,
            "|Sigma|_op": self.op_norm,
            "tr / op": self.d_eff,
            "tr / op, smallest bag": self.smallest,
            "tr^2 / tr(Sigma^2)": self.d_frobenius,
        }
        return {"quantity": list(rows), "estimate": list(rows.values())}


def effective_dimension(
    covariance: ArrayLike | None = None, samples: ArrayLike | None = None, gram: ArrayLike | None = None
) -> float:
    """Effective dimension ``tr(Sigma) / |Sigma|_op`` (eq:deffunif).

    Parameters
    ----------
    covariance : array_like, shape (d, d), optional
        The covariance itself.
    samples : array_like, shape (N, d), optional
        Points of one bag; the sample covariance is used.
    gram : array_like, shape (N, N), optional
        Kernel Gram matrix of one bag, diagonal included.

    Returns
    -------
    float
        From data it is the plug-in estimate, which is biased downwards: with N points it never exceeds N - 1.

    See Also
    --------
    frobenius_dimension : Stable already for small bags.

    Examples
    --------
    >>> effective_dimension(covariance=[[4.0, 0.0], [0.0, 2.0]])
    1.5
    >>> effective_dimension(samples=[[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    2.0
    """
    values = _spectrum(covariance, samples, gram)
    return float(values.sum() / values[-1])


def frobenius_dimension(
    covariance: ArrayLike | None = None, samples: ArrayLike | None = None, gram: ArrayLike | None = None
) -> float:
    """The other effective dimension, ``tr(Sigma)^2 / tr(Sigma^2)``.

    Parameters
    ----------
    covariance : array_like, shape (d, d), optional
        The covariance itself.
    samples : array_like, shape (N, d), optional
        Points of one bag, at least four.
    gram : array_like, shape (N, N), optional
        Kernel Gram matrix of one bag of at least four points, diagonal included.

    Returns
    -------
    float
        At least `effective_dimension` of the same covariance. From data, both traces are unbiased; nan if
        the estimate of tr(Sigma^2) is not positive.

    Examples
    --------
    >>> round(frobenius_dimension(covariance=[[4.0, 0.0], [0.0, 2.0]]), 9)
    1.8
    """
    _exactly_one(covariance=covariance, samples=samples, gram=gram)
    if covariance is not None:
        values = _spectrum(covariance, samples, gram)
        parts = values / values[-1]  # whose squares do not overflow, and do not all vanish
        return float(parts.sum() ** 2 / (parts**2).sum())
    bag = _gram_of(samples, 4) if samples is not None else square_gram(gram if gram is not None else [], 4)
    trace, square = trace_covariance(bag), trace_squared(bag)
    return trace**2 / square if square > 0 else float("nan")


def pooled_dimension(
    *, samples: Sequence[ArrayLike] | None = None, grams: Sequence[ArrayLike] | None = None
) -> EffectiveDimension:
    """Effective dimensions pooled over bags, as if they had one covariance.

    Parameters
    ----------
    samples : sequence of array_like, each (N_i, d), optional
        The bags.
    grams : sequence of array_like, each (N_i, N_i), optional
        Their kernel Gram matrices instead.

    Returns
    -------
    EffectiveDimension
        Traces are averaged with weights N_i - 1; bags of less than four points do not enter tr(Sigma^2).
        Time O(N^2 d) for a bag of N points, O(N^3) where d is larger or for a Gram matrix; memory O(N^2).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> pooled = pooled_dimension(samples=[rng.normal(size=(20, 30)) for _ in range(200)])
    >>> round(pooled.d_frobenius), round(pooled.d_eff)
    (30, 7)
    """
    _exactly_one(samples=samples, grams=grams)
    bags, largest = [], []
    for k, bag in enumerate(samples if samples is not None else grams if grams is not None else []):
        try:
            points = samples is not None
            bags.append(_gram_of(bag) if points else square_gram(bag))
            largest.append(_spectrum(None, bag if points else None, None if points else bag)[-1])
        except ValueError as error:
            raise ValueError(f"bag {k}: {error}") from error
    if not bags:
        raise ValueError("There is no bag; pass at least one.")
    degrees = np.array([len(bag) - 1.0 for bag in bags])
    traces, tops = np.array([trace_covariance(bag) for bag in bags]), np.array(largest)
    large = [bag for bag in bags if len(bag) >= 4]
    squares, weights = [trace_squared(bag) for bag in large], [len(bag) - 1.0 for bag in large]
    square = float(np.average(squares, weights=weights)) if large else float("nan")
    return EffectiveDimension(
        trace=float(np.average(traces, weights=degrees)),
        trace_squared=square,
        op_norm=float(np.average(tops, weights=degrees)),
        smallest=float((traces / tops).min()),
    )


def naive_mse(gram: ArrayLike) -> float:
    """Unbiased estimate of the error of the naive mean, ``tr(Sigma) / N`` (eq:esttaskvar).

    Parameters
    ----------
    gram : array_like, shape (N, N)
        Kernel Gram matrix of one bag, at least two points.

    Returns
    -------
    float
        Mean squared error of the bag's empirical mean, in the units of the Gram matrix.

    Examples
    --------
    >>> naive_mse([[1.0, -1.0], [-1.0, 1.0]])  # the points 1 and -1
    1.0
    """
    bag = square_gram(gram)
    return trace_covariance(bag) / len(bag)


def u_statistic(gram_x: ArrayLike, gram_y: ArrayLike, gram_xy: ArrayLike) -> float:
    """Unbiased squared distance of two means (eq:Ustat); the bags may differ in size.

    Parameters
    ----------
    gram_x, gram_y : array_like, shape (N, N) and (M, M)
        Kernel Gram matrices of the two bags; the diagonals are not used.
    gram_xy : array_like, shape (N, M)
        Kernel values between them.

    Returns
    -------
    float
        May be negative.

    Examples
    --------
    >>> u_statistic([[1.0, 1.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]])
    1.0
    """
    x, y, xy = square_gram(gram_x), square_gram(gram_y), check.real("gram_xy", gram_xy)
    if xy.shape != (len(x), len(y)):
        raise ValueError(f"gram_xy must have shape {(len(x), len(y))}; found {xy.shape}.")

    def within(bag: Floats) -> float:
        n = float(len(bag))
        return float((bag.sum() - np.trace(bag)) / (n * (n - 1)))

    return within(x) + within(y) - 2 * float(xy.mean())


def u_variance(
    trace_squared_x: ArrayLike,
    trace_squared_y: ArrayLike,
    trace_product: ArrayLike,
    n_x: ArrayLike,
    n_y: ArrayLike,
    spread_x: ArrayLike = 0.0,
    spread_y: ArrayLike = 0.0,
) -> Floats | np.float64:
    """Variance of `u_statistic`.

    ``2 tr(Sx^2) / (N (N-1)) + 2 tr(Sy^2) / (M (M-1)) + 4 tr(Sx Sy) / (N M) + 4 <D, Sx D> / N + 4 <D, Sy D> / M``,
    D being the difference of the means.

    Parameters
    ----------
    trace_squared_x, trace_squared_y : array_like
        Traces tr(Sx^2) and tr(Sy^2), or estimates of them.
    trace_product : array_like
        Trace tr(Sx Sy), or an estimate of it.
    n_x, n_y : array_like
        Bag sizes N and M, at least 2.
    spread_x, spread_y : array_like, default 0
        <D, Sx D> and <D, Sy D>; 0 for equal means, at most |D|^2 times the largest eigenvalue.

    Returns
    -------
    float or ndarray
        Exact for the true traces; with estimated ones it may be negative for small bags.

    Examples
    --------
    >>> float(u_variance(4.0, 4.0, 4.0, n_x=2, n_y=2))
    12.0
    """
    n, m = check.bag_size(n_x, 2, "n_x"), check.bag_size(n_y, 2, "n_y")
    x, y = check.real("trace_squared_x", trace_squared_x), check.real("trace_squared_y", trace_squared_y)
    xy = check.real("trace_product", trace_product)
    along = check.size("spread_x", spread_x) / n + check.size("spread_y", spread_y) / m
    return 2 * x / (n * (n - 1)) + 2 * y / (m * (m - 1)) + 4 * xy / (n * m) + 4 * along


def _spectrum(covariance: ArrayLike | None, samples: ArrayLike | None, gram: ArrayLike | None) -> Floats:
    """Eigenvalues of the covariance in increasing order (those that are not 0 for want of points)."""
    _exactly_one(covariance=covariance, samples=samples, gram=gram)
    if covariance is not None:
        values = eigvalsh(_covariance(covariance))
        _not_negative(values, _ROUNDING * np.abs(values).max(), "covariance", "a covariance")
    elif samples is not None:
        x = _centered(samples)
        values = eigvalsh((x.T @ x if len(x) > x.shape[1] else x @ x.T) / (len(x) - 1))
    else:
        bag = square_gram(gram if gram is not None else [])
        check.inner_products(bag)
        values = eigvalsh(center_gram(bag) / (len(bag) - 1))
        _not_negative(values, check.SLACK * np.abs(bag).max(), "gram, once centered,", "inner products")
    values = np.maximum(values, 0.0)
    if values[-1] == 0:
        raise ValueError("The covariance is zero (all points are equal): it has no effective dimension.")
    return values


def _not_negative(values: Floats, slack: float, name: str, wanted: str) -> None:
    if values[0] < -slack:
        raise ValueError(
            f"{name} must have no negative eigenvalue; found {values[0]:g}. Pass {wanted}, not any matrix."
        )


def _covariance(covariance: ArrayLike) -> Floats:
    """Check a square and symmetric matrix."""
    matrix = check.real("covariance", covariance)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise ValueError(f"covariance must be a square matrix; found shape {matrix.shape}.")
    check.symmetric("covariance", matrix, _ROUNDING)
    return matrix


def _centered(samples: ArrayLike, at_least: int = 2) -> Floats:
    """Points of a bag minus their mean."""
    x = check.real("samples", samples)
    x = x[:, np.newaxis] if x.ndim == 1 else x
    if x.ndim != 2 or len(x) < at_least:
        raise ValueError(f"samples must be a matrix of at least {at_least} rows; found shape {x.shape}.")
    return x - x.mean(axis=0)


def _gram_of(samples: ArrayLike, at_least: int = 2) -> Floats:
    x = _centered(samples, at_least)
    return x @ x.T


def _exactly_one(**arguments: object) -> None:
    if sum(value is not None for value in arguments.values()) != 1:
        raise ValueError(f"Pass exactly one of {', '.join(arguments)}.")
