"""The deviation inequalities behind the thresholds, in both settings.

Each bound comes as a pair: ``name(t, ...)`` is the threshold that is crossed with probability at most a
multiple of ``exp(-t)``, and ``name_level(value, ...)`` is the level t of a value. `probability` knows the
multiples.
"""

from numpy.typing import ArrayLike

from . import _check as check
from ._bounded_norms import (
    bounded_norm_lower,
    bounded_norm_lower_level,
    bounded_norm_upper,
    bounded_norm_upper_level,
    bounded_sq_norm_lower,
    bounded_sq_norm_lower_level,
    bounded_sq_norm_upper,
    bounded_sq_norm_upper_level,
    expected_norm_bounds,
    linear_term_upper,
    linear_term_upper_level,
)
from ._bounded_pairs import (
    bounded_inner_upper,
    bounded_inner_upper_level,
    mean_sq_norm_lower,
    mean_sq_norm_lower_level,
    u_statistic_lower,
    u_statistic_lower_level,
    u_statistic_upper,
    u_statistic_upper_level,
)
from ._check import Value
from ._gaussian_deviations import (
    gaussian_inner_upper,
    gaussian_inner_upper_level,
    gaussian_norm_lower,
    gaussian_norm_lower_level,
    gaussian_norm_upper,
    gaussian_norm_upper_level,
    gaussian_sq_norm_lower,
    gaussian_sq_norm_lower_level,
    gaussian_sq_norm_upper,
    gaussian_sq_norm_upper_level,
    pair_distance_lower,
    pair_distance_lower_level,
    pair_distance_upper,
    pair_distance_upper_level,
)
from ._levels import union_bound
from ._talagrand import (
    bousquet_upper,
    bousquet_upper_level,
    klein_rio_lower,
    klein_rio_lower_level,
    talagrand_lower,
    talagrand_lower_level,
    talagrand_upper,
    talagrand_upper_level,
)

__all__ = [
    "bounded_inner_upper",
    "bounded_inner_upper_level",
    "bounded_norm_lower",
    "bounded_norm_lower_level",
    "bounded_norm_upper",
    "bounded_norm_upper_level",
    "bounded_sq_norm_lower",
    "bounded_sq_norm_lower_level",
    "bounded_sq_norm_upper",
    "bounded_sq_norm_upper_level",
    "bousquet_upper",
    "bousquet_upper_level",
    "expected_norm_bounds",
    "gaussian_inner_upper",
    "gaussian_inner_upper_level",
    "gaussian_norm_lower",
    "gaussian_norm_lower_level",
    "gaussian_norm_upper",
    "gaussian_norm_upper_level",
    "gaussian_sq_norm_lower",
    "gaussian_sq_norm_lower_level",
    "gaussian_sq_norm_upper",
    "gaussian_sq_norm_upper_level",
    "klein_rio_lower",
    "klein_rio_lower_level",
    "linear_term_upper",
    "linear_term_upper_level",
    "mean_sq_norm_lower",
    "mean_sq_norm_lower_level",
    "pair_distance_lower",
    "pair_distance_lower_level",
    "pair_distance_upper",
    "pair_distance_upper_level",
    "probability",
    "talagrand_lower",
    "talagrand_lower_level",
    "talagrand_upper",
    "talagrand_upper_level",
    "u_statistic_lower",
    "u_statistic_lower_level",
    "u_statistic_upper",
    "u_statistic_upper_level",
]

_MULTIPLES = {
    "gaussian_norm_upper": 1,
    "gaussian_norm_lower": 1,
    "gaussian_sq_norm_upper": 1,
    "gaussian_sq_norm_lower": 1,
    "gaussian_inner_upper": 1,
    "pair_distance_upper": 1,
    "pair_distance_lower": 1,
    "talagrand_upper": 1,
    "talagrand_lower": 1,
    "bousquet_upper": 1,
    "klein_rio_lower": 1,
    "bounded_norm_upper": 1,
    "bounded_norm_lower": 1,
    "linear_term_upper": 1,
    "mean_sq_norm_lower": 1,
    "bounded_sq_norm_upper": 2,
    "bounded_sq_norm_lower": 2,
    "bounded_inner_upper": 6,
    "u_statistic_upper": 8,
    "u_statistic_lower": 8,
}


def probability(bound: str, t: ArrayLike) -> Value:
    """Probability with which a bound of this module may fail at level t.

    Parameters
    ----------
    bound : str
        Name of the function, such as ``"u_statistic_upper"``.
    t : array_like
        Level, at least 0.

    Returns
    -------
    float or ndarray
        ``min(1, k exp(-t))`` with k = 1, 2, 6 or 8 as printed.

    Examples
    --------
    >>> round(float(probability("u_statistic_upper", 5.0)), 4)
    0.0539
    """
    if bound not in _MULTIPLES:
        raise ValueError(f"bound must be one of {', '.join(sorted(_MULTIPLES))}; found {bound!r}.")
    return union_bound(check.level(t), _MULTIPLES[bound])
