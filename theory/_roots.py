"""Positive roots of monotone functions."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq


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
        1e+-130 of the guess.

    Examples
    --------
    >>> round(positive_root(lambda x: x**2 - 2, guess=10.0), 12)
    1.414213562373
    """

    def on_log_scale(u: float) -> float:
        return function(float(np.exp(u)))

    low = high = float(np.log(guess))
    at_low = at_high = on_log_scale(low)
    reach = 0.1
    while np.sign(at_low) == np.sign(at_high):
        if reach > 300:
            return float("nan")
        low, high = low - reach, high + reach
        at_low, at_high = on_log_scale(low), on_log_scale(high)
        reach *= 2
    return float(np.exp(brentq(on_log_scale, low, high, xtol=1e-15, rtol=8.9e-16)))
