"""Levels of single tests that keep a family of them below an error probability."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from . import _check as check
from ._check import Value

__all__ = [
    "Correction",
    "Family",
    "log_number_of_tests",
    "number_of_tests",
    "pair_log_level",
    "sidak_log_level",
    "union_bound",
]

Family = Literal["all", "task"]
Correction = Literal["bonferroni", "sidak"]

_TINY = 1e-100  # below, 1 - exp(-x) is x, which may underflow


def number_of_tests(n_bags: ArrayLike, family: Family = "all") -> Value:
    """How many tests share the error probability: ``B (B - 1) / 2`` pairs, or B - 1 for one task.

    Parameters
    ----------
    n_bags : array_like
        Number of bags B, at least 2.
    family : {"all", "task"}
        Control all pairs at once, or only the pairs of one bag.

    Returns
    -------
    float or ndarray
        The number M of tests; infinite where B^2 is beyond the largest double.

    Examples
    --------
    >>> float(number_of_tests(100)), float(number_of_tests(100, "task"))
    (4950.0, 99.0)
    """
    bags = check.n_bags(n_bags, at_least=2)
    if family not in ("all", "task"):
        raise ValueError(f"family must be 'all' or 'task'; found {family!r}.")
    with np.errstate(over="ignore"):
        return bags * (bags - 1) / 2 if family == "all" else bags - 1


def log_number_of_tests(n_bags: ArrayLike, family: Family = "all") -> Value:
    """Logarithm of `number_of_tests`, also for so many bags that the pairs are beyond all numbers.

    Examples
    --------
    >>> round(float(log_number_of_tests(1e200)), 3)  # B^2 / 2
    920.341
    """
    tests = number_of_tests(n_bags, family)
    return np.where(np.isinf(tests), 2 * np.log(n_bags) - np.log(2), np.log(tests))[()]


def pair_log_level(
    n_bags: ArrayLike, alpha: ArrayLike, *, family: Family = "all", correction: Correction = "bonferroni"
) -> Value:
    """Logarithm of the level of a single test that keeps the family below alpha.

    Parameters
    ----------
    n_bags : array_like
        Number of bags B, at least 2.
    alpha : array_like
        Error probability in (0, 1) of the whole family.
    family : {"all", "task"}
        Control all pairs at once, or only the pairs of one bag.
    correction : {"bonferroni", "sidak"}
        ``alpha / M``, valid under any dependence; or ``1 - (1 - alpha)^(1/M)``, valid for missed
        pairs of equal means by the Gaussian correlation inequality. They hardly differ.

    Returns
    -------
    float or ndarray
        Natural logarithm, so that levels below the smallest double do not vanish.

    Examples
    --------
    >>> round(float(np.exp(pair_log_level(100, 0.05)) * 4950), 12)
    0.05
    """
    alpha, log_tests = check.alpha(alpha), log_number_of_tests(n_bags, family)
    if correction == "bonferroni":
        return np.log(alpha) - log_tests
    if correction == "sidak":
        return sidak_log_level(alpha, log_tests)
    raise ValueError(f"correction must be 'bonferroni' or 'sidak'; found {correction!r}.")


def sidak_log_level(alpha: ArrayLike, log_tests: ArrayLike) -> Value:
    """``log(1 - (1 - alpha)^(1 / tests))``, also where the power cannot be told from 1.

    Examples
    --------
    >>> round(float(np.exp(sidak_log_level(0.19, np.log(2)))), 12)
    0.1
    """
    total = -np.log1p(-check.alpha(alpha))
    each = total * np.exp(-np.asarray(log_tests, float))
    with np.errstate(divide="ignore"):
        return np.where(each > _TINY, np.log(-np.expm1(-each)), np.log(total) - log_tests)[()]


def union_bound(level: ArrayLike, *factors: ArrayLike) -> Value:
    """Product of the factors times ``exp(-level)``, at most 1; in logarithms, where neither is beyond all numbers.

    Examples
    --------
    >>> round(float(union_bound(10.0, 2, 50, 50)), 6), float(union_bound(1.0, 50))
    (0.227, 1.0)
    """
    with np.errstate(divide="ignore"):  # a factor may be 0
        log_count = sum(np.log(factor) for factor in factors)
    return np.exp(np.minimum(log_count - np.asarray(level), 0.0))
