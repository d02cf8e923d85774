"""Planning: leave one number out and solve for it, as in statsmodels' ``solve_power``.

A plan is a set of numbers for which the guarantee holds:

1. tau is large enough for the tests: ``tau >= smallest tau(n_bags, dim, n, alpha)`` of the setting;
2. the average error falls by at least ``improvement``: ``improvement <= gain(tau, covering_ratio)``, which is 1 minus
   the averaged bound of Theorem 1 or 2.

The missing number is the extreme one for which both hold: the largest improvement, tau, covering ratio or number of
bags, the smallest dimension, bag size or alpha.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _check as check
from ._gain import Theorem, gain, largest_covering_ratio, largest_tau
from ._settings import ROUNDING, Bounded, GaussianExact, GaussianPrinted, Setting
from ._table import format_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "NoSolutionWarning",
    "PlanTable",
    "gain",
    "largest_covering_ratio",
    "largest_tau",
    "solve",
    "table",
]

SettingName = Literal["gaussian", "bounded"]
Thresholds = Literal["printed", "exact"]

_NAMES = ("n_bags", "dim", "n", "alpha", "tau", "covering_ratio", "improvement")
_THRESHOLD_NAMES = ("n_bags", "dim", "n", "alpha")
_ROUNDING_OF_ONE = 4 * np.finfo(float).eps  # an improvement may come from 1 minus a factor close to one


class NoSolutionWarning(UserWarning):
    """No value of the missing argument makes the guarantee hold; the answer is nan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTable:
    """Plans over a grid.

    Attributes
    ----------
    columns : dict of str to tuple
        The arguments of each plan, the solved one included.
    solved : str
        Name of the solved argument.
    reasons : tuple of str
        Why there is no solution, or an empty string.
    """

    columns: dict[str, tuple[Any, ...]]
    solved: str
    reasons: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.reasons)

    def to_frame(self) -> "pd.DataFrame":
        """One row for each plan.

        Returns
        -------
        pandas.DataFrame
            The columns of the table, then ``reason``, which is empty where there is a solution.
        """
        import pandas as pd

        return pd.DataFrame({**self.columns, "reason": self.reasons})

    def summary(self) -> str:
        """Give a table with one row for each plan.

        Returns
        -------
        str
            Arguments that are None everywhere are left out, and so are the reasons if there are none.
        """
        columns: dict[str, Sequence[Any]] = {
            k: v for k, v in self.columns.items() if any(x is not None for x in v)
        }
        if any(self.reasons):
            columns = {**columns, "reason": self.reasons}
        return format_table(columns)


def solve(
    setting: SettingName = "gaussian",
    *,
    n_bags: float | None = None,
    dim: float | None = None,
    n: float | None = None,
    alpha: float | None = None,
    tau: float | Literal["smallest"] | None = "smallest",
    covering_ratio: float | None = None,
    improvement: float | None = None,
    theorem: Theorem = "independent",
    thresholds: Thresholds = "printed",
    C: float = 1000.0,
    L: float = 1.0,
    trace: float = 1.0,
) -> float:
    """Solve for the one argument that is None.

    Parameters
    ----------
    setting : {"gaussian", "bounded"}
        Isotropic Gaussian bags, or points of norm at most L (bounded kernels).
    n_bags : float, optional
        Number of bags B, at least 2.
    dim : float, optional
        Dimension d, or the effective dimension in the bounded setting.
    n : float, optional
        Bag size N. It does not matter in the Gaussian setting and may be left out there.
    alpha : float, optional
        Error probability: of each event in the Gaussian setting, of all together in the bounded one.
    tau : float or "smallest", optional
        Squared radius of the tests in units of the naive error. "smallest" takes whatever the other numbers allow.
    covering_ratio : float, optional
        N / B at radius sqrt(tau') sigma-bar / 2, in (0, 1].
    improvement : float, optional
        1 minus the factor by which the average error is guaranteed to fall.
    theorem : {"independent", "same_data"}
        Theorem 1 (tests on other data) or Theorem 2 (the same data).
    thresholds : {"printed", "exact"}
        The paper's smallest tau, or the exact one (Gaussian setting only).
    C : float, default 1000
        The paper's constant (Gaussian setting, printed thresholds).
    L, trace : float, default 1
        Bound on the norms and trace of the covariance (bounded setting).

    Returns
    -------
    float
        The missing number, a real one: round dimensions up and numbers of bags down. nan with a `NoSolutionWarning`
        if the guarantee is impossible. alpha = 0 and n_bags = inf mean that any will do, and so does tau = 0, which
        happens for two bags and alpha of one half or more; dim = inf and n = inf, that only the limit will do.

    Notes
    -----
    If both ``covering_ratio`` and ``improvement`` are left out, only the condition on tau is solved: which dimension
    allows tau = 0.1?

    Examples
    --------
    >>> round(solve(n_bags=100, dim=1e6, alpha=0.05, covering_ratio=0.1), 3)
    0.81
    >>> round(solve(n_bags=100, dim=None, alpha=0.05, tau=1.0))
    12206
    >>> round(solve(n_bags=100, dim=None, alpha=0.05, tau=1.0, thresholds="exact"))
    2151
    """
    given = dict(zip(_NAMES, (n_bags, dim, n, alpha, tau, covering_ratio, improvement), strict=True))
    answer, reason, _ = _plan(given, setting, theorem, _rules(setting, thresholds, theorem, C, L, trace))
    if reason:
        warnings.warn(reason, NoSolutionWarning, stacklevel=2)
    return answer


def table(setting: SettingName = "gaussian", **arguments: Any) -> PlanTable:
    """Solve for the missing argument over a grid.

    Parameters
    ----------
    setting : {"gaussian", "bounded"}
        As in `solve`.
    **arguments
        As in `solve`; sequences span the grid.

    Returns
    -------
    PlanTable
        One row for each combination, the last sequence running fastest. Where tau is "smallest", the column has the
        number that this comes to.

    Examples
    --------
    >>> print(table(n_bags=[10, 1000], dim=None, alpha=0.05, tau=[1.0, 0.1], thresholds="exact").summary())
    n_bags  alpha  tau  thresholds        dim
    ------  -----  ---  ----------  ---------
        10   0.05    1  exact         1,107.3
        10   0.05  0.1  exact        71,829.2
     1,000   0.05    1  exact         3,199.3
     1,000   0.05  0.1  exact       207,520.4
    """
    defaults = {k: p.default for k, p in signature(solve).parameters.items()}
    options = {k: defaults[k] for k in ("thresholds", "theorem", "C", "L", "trace")}
    unknown = arguments.keys() - {*_NAMES, *options}
    if unknown:
        raise TypeError(f"table() has no argument {', '.join(sorted(unknown))}.")
    arguments.setdefault("tau", defaults["tau"])
    grids = {k: _as_list(k, v) for k, v in arguments.items()}
    rows = [dict(zip(grids, values, strict=True)) for values in product(*grids.values())]
    solved = _missing(dict.fromkeys(_NAMES) | {k: v[0] for k, v in grids.items() if k in _NAMES}, setting)
    answers, reasons = [], []
    for row in rows:
        choice = options | {k: v for k, v in row.items() if k in options}
        rules = _rules(setting, **choice)
        given = dict.fromkeys(_NAMES) | {k: v for k, v in row.items() if k in _NAMES}
        answer, reason, tau = _plan(given, setting, choice["theorem"], rules)
        row["tau"] = tau if row["tau"] == "smallest" else row["tau"]
        answers.append(answer)
        reasons.append(reason)
    columns = {k: tuple(row[k] for row in rows) for k in grids if k != solved}
    return PlanTable(columns={**columns, solved: tuple(answers)}, solved=solved, reasons=tuple(reasons))


def _as_list(name: str, value: Any) -> list[Any]:
    values = [value] if value is None or isinstance(value, str) or np.ndim(value) == 0 else list(value)
    if not values:
        raise ValueError(f"{name} is empty; pass at least one value.")
    return values


def _missing(given: dict[str, Any], setting: str) -> str:
    """Name of the argument to solve for."""
    unknown = [name for name in _NAMES if given[name] is None]
    if setting == "gaussian" and len(unknown) > 1:
        unknown = [name for name in unknown if name != "n"]  # it does not matter
    if unknown == ["covering_ratio", "improvement"]:
        raise ValueError(
            "Pass covering_ratio to get the improvement, or improvement to get the covering_ratio; found neither."
        )
    if "covering_ratio" in unknown and "improvement" in unknown:
        unknown = [name for name in unknown if name not in ("covering_ratio", "improvement")]
    if len(unknown) != 1:
        found = ", ".join(unknown) or "none"
        raise ValueError(f"Leave exactly one of {', '.join(_NAMES)} None; found {found}.")
    return unknown[0]


def _check_domains(given: dict[str, Any], least_n: int) -> None:
    domains: dict[str, dict[str, Any]] = {
        "n_bags": {"at_least": 2},
        "dim": {"at_least": 1, "finite": False},
        "n": {"at_least": least_n, "finite": False, "hint": "The tests need that many points in a bag."},
        "alpha": {"above": 0, "below": 1},
        "tau": {"at_least": 0},
        "covering_ratio": {
            "above": 0,
            "at_most": 1,
            "hint": "It is a covering number over the number of bags.",
        },
        "improvement": {"below": 1, "hint": "It is 1 minus the factor of the error."},
    }
    for name, value in given.items():
        if np.ndim(value) > 0:
            raise ValueError(f"{name} must be one number; found {value!r}. planning.table takes several.")
        if value is not None and value != "smallest":
            check.real(name, value, **domains[name])


def _rules(setting: str, thresholds: str, theorem: str, C: float, L: float, trace: float) -> Setting:
    if thresholds not in ("printed", "exact"):
        raise ValueError(f"thresholds must be 'printed' or 'exact'; found {thresholds!r}.")
    if theorem not in ("independent", "same_data"):
        raise ValueError(f"theorem must be 'independent' or 'same_data'; found {theorem!r}.")
    if setting == "gaussian":
        return (
            GaussianPrinted(C=C)
            if thresholds == "printed"
            else GaussianExact(same_data=theorem == "same_data")
        )
    if setting != "bounded":
        raise ValueError(f"setting must be 'gaussian' or 'bounded'; found {setting!r}.")
    if thresholds == "exact":
        raise ValueError("thresholds='exact' needs setting='gaussian'; bounded data have no exact law.")
    return Bounded(
        L=float(check.size("L", L, positive=True)), trace=float(check.size("trace", trace, positive=True))
    )


def _plan(given: dict[str, Any], setting: str, theorem: Theorem, rules: Setting) -> tuple[float, str, float]:
    """Value of the missing argument, why there is none, and the tau that it belongs to."""
    missing = _missing(given, setting)
    _check_domains(given, rules.least_n)
    numbers = {k: float(v) for k, v in given.items() if v is not None and v != "smallest"}
    numbers.setdefault("n", float(rules.least_n))
    threshold = {k: numbers[k] for k in _THRESHOLD_NAMES if k in numbers and k != missing}
    if missing in _THRESHOLD_NAMES:
        return _threshold_argument(missing, threshold, numbers, rules, theorem)
    smallest = rules.smallest_tau(**threshold)
    if missing == "tau":
        return _tau(smallest, numbers, theorem)
    tau = numbers.get("tau", smallest)
    if tau < smallest * (1 - ROUNDING):
        return float("nan"), _too_small(tau, smallest), tau
    if missing == "improvement":
        return gain(tau, numbers["covering_ratio"], theorem), "", tau
    value = largest_covering_ratio(numbers["improvement"], tau, theorem)
    if value <= 0:
        return float("nan"), f"At tau = {tau:g} no covering is small enough for that improvement.", tau
    return min(value, 1.0), "", tau


def _threshold_argument(
    missing: str, threshold: dict[str, float], numbers: dict[str, float], rules: Setting, theorem: Theorem
) -> tuple[float, str, float]:
    """Extreme number of bags, dimension, bag size or alpha at which tau is allowed."""
    tau, reason = _tau_wanted(numbers, theorem)
    if reason:
        return float("nan"), reason, tau
    if tau == np.inf:
        anything = {"n_bags": np.inf, "dim": 1.0, "n": float(rules.least_n), "alpha": 0.0}
        return anything[missing], "", tau
    value = float(getattr(rules, missing)(tau=tau, **threshold))
    if 0 < value < np.inf and rules.smallest_tau(**threshold, **{missing: value}) > tau * (1 + ROUNDING):
        value = float("nan")
    reason = f"No {missing} makes tau = {tau:g} large enough for the tests." if np.isnan(value) else ""
    return value, reason, tau


def _tau(smallest: float, numbers: dict[str, float], theorem: Theorem) -> tuple[float, str, float]:
    """Largest tau that gives the improvement wanted, if the tests allow it; the smallest one if none is wanted."""
    if "improvement" not in numbers:
        return smallest, "", smallest
    largest, reason = _tau_wanted(numbers, theorem)
    if reason:
        return float("nan"), reason, largest
    tau = max(largest, smallest)  # where the two agree but for rounding
    if _is_enough(tau, numbers, theorem):
        return tau, "", tau
    return float("nan"), _too_small(largest, smallest), largest


def _tau_wanted(numbers: dict[str, float], theorem: Theorem) -> tuple[float, str]:
    """Largest tau that gives the improvement wanted, or the given one if it does; and why there is none."""
    tau = numbers.get("tau")
    if "improvement" not in numbers:
        if tau is None:
            raise ValueError("tau='smallest' needs covering_ratio and improvement; or pass a number for tau.")
        return tau, ""
    wanted, ratio = numbers["improvement"], numbers["covering_ratio"]
    if tau is None:
        largest = largest_tau(wanted, ratio, theorem)
        if largest > 0:
            return largest, ""
        return float("nan"), f"No tau gives an improvement of {wanted:g} at a covering ratio of {ratio:g}."
    if _is_enough(tau, numbers, theorem):
        return tau, ""
    best = gain(tau, ratio, theorem)
    return float("nan"), f"tau = {tau:g} guarantees an improvement of {best:g} only, not {wanted:g}."


def _is_enough(tau: float, numbers: dict[str, float], theorem: Theorem) -> bool:
    """Whether tau gives the improvement wanted, but for rounding."""
    wanted = numbers["improvement"]
    slack = max(ROUNDING * abs(wanted), _ROUNDING_OF_ONE)
    return gain(tau, numbers["covering_ratio"], theorem) >= wanted - slack


def _too_small(tau: float, smallest: float) -> str:
    return f"tau = {tau:g} is too small for the tests, which need tau >= {smallest:g}."
