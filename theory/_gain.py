"""The averaged bounds of the two theorems as an improvement, and solved for tau and for the covering ratio.

The improvement is 1 minus the factor of the error. It is computed as a number of its own: where the factor is
close to one, the difference would have few digits left.
"""

from typing import Literal

import numpy as np

Theorem = Literal["independent", "same_data"]


def gain(tau: float, covering_ratio: float, theorem: Theorem = "independent") -> float:
    """Part of the average error that Theorem 1 or 2 takes away.

    Parameters
    ----------
    tau : float
        Squared radius of the tests, in units of the naive error.
    covering_ratio : float
        Covering number over number of bags, in [0, 1].
    theorem : {"independent", "same_data"}
        Theorem 1 (eq:res-indep-ave) or Theorem 2 (eq:res-onesample-ave).

    Returns
    -------
    float
        ``(1 - ratio) / (1 + tau)``, or ``1 - 2 (tau + (tau + ratio) / (1 + tau))``: 1 minus the bound.

    Examples
    --------
    >>> round(gain(0.25, 0.1), 12), round(gain(0.25, 0.1, "same_data"), 12)
    (0.72, -0.06)
    """
    if theorem == "independent":
        return (1 - covering_ratio) / (1 + tau)
    return 1 - 2 * (tau + (tau + covering_ratio) / (1 + tau))


def largest_tau(gain: float, covering_ratio: float, theorem: Theorem = "independent") -> float:
    """Tau at which `gain` has a given value.

    Parameters
    ----------
    gain : float
        The improvement wanted, below 1.
    covering_ratio : float
        As in `gain`.
    theorem : {"independent", "same_data"}
        As in `gain`.

    Returns
    -------
    float
        Negative if no tau is small enough, infinity if any tau will do (Theorem 1, no gain wanted).

    Examples
    --------
    >>> round(largest_tau(0.72, 0.1), 12), round(largest_tau(-0.06, 0.1, "same_data"), 12)
    (0.25, 0.25)
    """
    if theorem == "independent":
        return (1 - covering_ratio - gain) / gain if gain > 0 else float("inf")
    half = (1 - gain) / 2
    linear, constant = half - 2, half - covering_ratio  # tau^2 - linear tau - constant = 0
    if constant < 0:
        return constant  # a negative root, if any
    root = float(np.sqrt(linear**2 + 4 * constant))
    # Of the two ways to write the root one adds numbers of the same sign.
    return (linear + root) / 2 if linear > 0 else 2 * constant / (root - linear)


def largest_covering_ratio(gain: float, tau: float, theorem: Theorem = "independent") -> float:
    """Covering ratio at which `gain` has a given value.

    Parameters
    ----------
    gain : float
        The improvement wanted, below 1.
    tau : float
        As in `gain`.
    theorem : {"independent", "same_data"}
        As in `gain`.

    Returns
    -------
    float
        Negative if no covering is small enough. For Theorem 2 the last digit of the gain is worth
        ``1e-16 (1 + tau)^2``, for the gain is of order -2 tau.

    Examples
    --------
    >>> ratio = largest_covering_ratio(0.72, 0.25), largest_covering_ratio(-0.06, 0.25, "same_data")
    >>> round(ratio[0], 12), round(ratio[1], 12)
    (0.1, 0.1)
    """
    if theorem == "independent":
        return 1 - gain * (1 + tau)
    return (1 - gain) / 2 * (1 + tau) - tau * (2 + tau)
