"""Positive roots of monotone functions."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from ._check import Floats

Indices = NDArray[np.signedinteger]

_MIDDLE = 0.5
# By how much the ends of a bracket move apart, on a logarithmic scale, step by step.
_STEPS = 0.1 * 2.0 ** np.arange(12)


def positive_root(function: Callable[[float], float], guess: float) -> float:
    """Root on (0, inf) of a function that changes sign once.

    Parameters
    ----------
    function : callable
        Monotone, of one positive number.
    guess : float
        Where to start; the bracket grows from there on a logarithmic scale.

    Returns
    -------
    float
        To a relative accuracy of about 1e-14, or nan if no sign change is found within a factor of
        1e+-177 of the guess.

    Examples
    --------
    >>> round(positive_root(lambda x: x**2 - 2, guess=10.0), 12)
    1.414213562373
    """

    def on_log_scale(u: float) -> float:
        return function(float(np.exp(u)))

    low = high = float(np.log(guess))
    at_low = at_high = on_log_scale(low)
    for step in _STEPS:
        if np.sign(at_low) != np.sign(at_high):
            break
        low, high = low - step, high + step
        at_low, at_high = on_log_scale(low), on_log_scale(high)
    if np.sign(at_low) == np.sign(at_high):
        return float("nan")
    return float(np.exp(brentq(on_log_scale, low, high, xtol=1e-15, rtol=8.9e-16)))


def positive_roots(function: Callable[[Indices, Floats], Floats], guess: Floats) -> Floats:
    """Roots on (0, inf) of several functions that change sign once, all at a time.

    Parameters
    ----------
    function : callable
        Takes numbers of functions and one positive argument for each, both of shape (n,), and returns their values.
    guess : ndarray of shape (m,)
        Where to start, one a function.

    Returns
    -------
    ndarray of shape (m,)
        As `positive_root`.

    Notes
    -----
    Chandrupatla's method (1997): inverse quadratic interpolation where it is safe, else bisection.

    Examples
    --------
    >>> wanted = np.array([2.0, 9.0])
    >>> positive_roots(lambda k, x: x**2 - wanted[k], guess=np.array([10.0, 10.0])).round(12)
    array([1.41421356, 3.        ])
    """
    a, b = np.log(guess), np.log(guess)
    at_a = function(np.arange(len(a)), guess)
    at_b = at_a.copy()
    for step in _STEPS:
        if not len(k := np.flatnonzero(np.sign(at_a) == np.sign(at_b))):
            break
        a[k], b[k] = a[k] - step, b[k] + step
        at_a[k], at_b[k] = function(k, np.exp(a[k])), function(k, np.exp(b[k]))
    found = np.full(len(a), np.nan)
    k = np.flatnonzero(np.sign(at_a) != np.sign(at_b))
    a, b, at_a, at_b = a[k], b[k], at_a[k], at_b[k]
    share = np.full(len(k), _MIDDLE)  # of the way from a to b
    while len(k):
        x = a + share * (b - a)
        at_x = function(k, np.exp(x))
        beyond = np.sign(at_x) == np.sign(at_a)
        c, at_c = np.where(beyond, a, b), np.where(beyond, at_a, at_b)
        b, at_b = np.where(beyond, b, a), np.where(beyond, at_b, at_a)
        a, at_a = x, at_x
        found[k] = np.where(np.abs(at_a) < np.abs(at_b), a, b)
        least = 4 * np.spacing(1 + np.abs(b)) / np.abs(b - a)
        on = least < _MIDDLE
        k, a, b, c, at_a, at_b, at_c, least = (v[on] for v in (k, a, b, c, at_a, at_b, at_c, least))
        share = _share(a, b, c, at_a, at_b, at_c).clip(least, 1 - least)
    return np.exp(found)


def _share(a: Floats, b: Floats, c: Floats, at_a: Floats, at_b: Floats, at_c: Floats) -> Floats:
    """How far from a toward b to go next, by three points of which a and b have the root between them."""
    with np.errstate(all="ignore"):
        xi, phi = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
        quadratic = at_a / (at_b - at_a) * at_c / (at_b - at_c)
        quadratic += (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
        safe = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
    return np.where(safe, quadratic, _MIDDLE)
