"""What each setting knows for planning: the smallest tau, and which arguments a given tau allows.

Each class answers for one setting. ``dim``, ``n``, ``alpha`` and ``n_bags`` give the extreme value (smallest,
smallest, smallest, largest) at which ``smallest_tau`` does not exceed tau, or nan. Where an argument does not
matter, it is the smallest one, whether tau is allowed or not.
"""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from . import bounded, exact, gaussian, laws
from ._levels import log_number_of_tests
from ._quadratic import quadratic_root
from ._roots import positive_root

ROUNDING = 1e-9  # a number that was solved for may miss its mark by this part


class Setting(Protocol):
    """Thresholds of one setting, and their inverses."""

    least_n: ClassVar[int]
    """Points that a bag needs for the tests."""

    def smallest_tau(self, n_bags: float, dim: float, n: float, alpha: float) -> float:
        """Give the smallest tau for which similar bags can be told from others."""

    def dim(self, tau: float, n_bags: float, n: float, alpha: float) -> float:
        """Give the smallest dimension at which tau is allowed."""

    def n(self, tau: float, n_bags: float, dim: float, alpha: float) -> float:
        """Give the smallest bag size at which tau is allowed."""

    def alpha(self, tau: float, n_bags: float, dim: float, n: float) -> float:
        """Give the smallest error probability at which tau is allowed."""

    def n_bags(self, tau: float, dim: float, n: float, alpha: float) -> float:
        """Give the largest number of bags at which tau is allowed."""


def _error_probability(log_alpha: float) -> float:
    return float(np.exp(log_alpha)) if log_alpha < 0 else float("nan")


def _count(log_bags: float) -> float:
    """Number of bags; less than two, but for rounding, are no plan."""
    with np.errstate(over="ignore"):
        bags = float(np.exp(log_bags))
    return max(bags, 2.0) if bags >= 2 * (1 - ROUNDING) else float("nan")


def _dimension(dim: float) -> float:
    """Dimension, at least one; more than any number can hold are no plan."""
    return max(dim, 1.0) if dim < np.inf else float("nan")


def _limit(tau: float, smallest: float) -> float:
    """Infinity where the smallest tau in the limit is this one, but for rounding; else there is none."""
    return float("inf") if smallest <= tau * (1 + ROUNDING) else float("nan")


@dataclass(frozen=True)
class GaussianPrinted:
    """prop:testgauss: tau at least max(C delta, sqrt(C delta)). The bag size does not matter."""

    C: float
    least_n: ClassVar[int] = 1

    def smallest_tau(self, n_bags: float, dim: float, n: float, alpha: float) -> float:
        return float(gaussian.tau_min(n_bags, dim, alpha, self.C))

    def dim(self, tau: float, n_bags: float, n: float, alpha: float) -> float:
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            return _dimension(float(gaussian.delta(n_bags, 1, alpha) / gaussian.delta_max(tau, self.C)))

    def n(self, tau: float, n_bags: float, dim: float, alpha: float) -> float:
        return float(self.least_n)

    def alpha(self, tau: float, n_bags: float, dim: float, n: float) -> float:
        return _error_probability(2 * np.log(n_bags) - dim * float(gaussian.delta_max(tau, self.C)))

    def n_bags(self, tau: float, dim: float, n: float, alpha: float) -> float:
        return _count((np.log(alpha) + dim * float(gaussian.delta_max(tau, self.C))) / 2)


@dataclass(frozen=True)
class GaussianExact:
    """Exact laws, tau' = tau / 3. On the same data C and C' count too, and decide for two bags and alpha above 0.45."""

    same_data: bool
    least_n: ClassVar[int] = 1

    def smallest_tau(self, n_bags: float, dim: float, n: float, alpha: float) -> float:
        return float(exact.exact_tau(n_bags, dim, alpha, same_data=self.same_data))

    def dim(self, tau: float, n_bags: float, n: float, alpha: float) -> float:
        tests = _dimension(float(exact.exact_dim(tau, n_bags, alpha)))

        def excess(dim: float) -> float:
            return self.smallest_tau(n_bags, max(dim, tests), n, alpha) - tau

        if not self.same_data or np.isnan(tests) or excess(tests) <= ROUNDING * tau:
            return tests
        return positive_root(excess, tests) if tau > 0 else float("nan")

    def n(self, tau: float, n_bags: float, dim: float, alpha: float) -> float:
        return float(self.least_n)

    def alpha(self, tau: float, n_bags: float, dim: float, n: float) -> float:
        inner, norm = self._log_errors(tau, dim)
        log_tests = float(log_number_of_tests(n_bags))
        pairs = log_tests + max(float(exact.exact_log_level(tau, dim)), inner)
        any_norm = -np.expm1(n_bags * np.log1p(-np.exp(norm)))  # errors of different bags are independent
        return max(_error_probability(pairs), float(any_norm))

    def n_bags(self, tau: float, dim: float, n: float, alpha: float) -> float:
        inner, norm = self._log_errors(tau, dim)
        log_tests = np.log(alpha) - max(float(exact.exact_log_level(tau, dim)), inner)
        if log_tests > 600:  # then B^2 / 2 cannot be told from B (B - 1) / 2
            log_bags = (log_tests + np.log(2)) / 2
        else:
            log_bags = np.log((1 + np.sqrt(1 + 8 * np.exp(log_tests))) / 2)
        with np.errstate(divide="ignore"):
            log_any_norm = np.log(-np.log1p(-alpha)) - np.log(-np.log1p(-np.exp(norm)))
        return _count(min(log_bags, log_any_norm))

    def _log_errors(self, tau: float, dim: float) -> tuple[float, float]:
        """Log-probabilities of C(tau) for one pair, either sign, and of C'(tau) for one bag."""
        if not self.same_data:
            return -np.inf, -np.inf
        inner = np.log(2) + laws.inner_product_logsf(tau * dim, dim)
        return float(inner), float(laws.chi_square_logsf((1 + tau) * dim, dim))


@dataclass(frozen=True)
class Bounded:
    """prop:testkernel: tau at least 144 tau_min(t), t = log(14 B^2 / alpha), sigma-bar^2 = trace / N."""

    L: float
    trace: float
    least_n: ClassVar[int] = 2  # U averages over pairs of points of one bag

    def smallest_tau(self, n_bags: float, dim: float, n: float, alpha: float) -> float:
        # Only L / (N sigma-bar) matters, and that has a limit for large bags.
        return float(bounded.smallest_tau(bounded.t(alpha, n_bags), dim, self._crowding(n), 1, 1.0))

    def dim(self, tau: float, n_bags: float, n: float, alpha: float) -> float:
        t, crowding = float(bounded.t(alpha, n_bags)), self._crowding(n)
        rest = max(self._radius(tau) - crowding * t, 0.0)
        inverse = rest**2 / t - crowding
        if inverse <= 0:
            return _limit(tau, self.smallest_tau(n_bags, np.inf, n, alpha))
        return max(1 / inverse, 1.0)

    def n(self, tau: float, n_bags: float, dim: float, alpha: float) -> float:
        t, radius = float(bounded.t(alpha, n_bags)), self._radius(tau)
        gap = radius**2 - t / dim
        if gap <= 0:
            return _limit(tau, self.smallest_tau(n_bags, dim, np.inf, alpha))
        # Smaller root y of t y^2 - (2 radius + 1) y + gap / t = 0, without cancellation; y = L / sqrt(N trace).
        linear = 2 * radius + 1
        crowding = 2 * gap / t / (linear + np.sqrt(linear**2 - 4 * gap))
        return max(self.L**2 / (self.trace * crowding**2), float(self.least_n))

    def alpha(self, tau: float, n_bags: float, dim: float, n: float) -> float:
        return _error_probability(np.log(14) + 2 * np.log(n_bags) - self._level(tau, dim, n))

    def n_bags(self, tau: float, dim: float, n: float, alpha: float) -> float:
        return _count((np.log(alpha) - np.log(14) + self._level(tau, dim, n)) / 2)

    def _crowding(self, n: float) -> float:
        """``L / (N sigma-bar)``."""
        return self.L / float(np.sqrt(n * self.trace))

    def _radius(self, tau: float) -> float:
        """Largest r / 5 with ``144 r max(sqrt(2), r) <= tau``."""
        scaled = tau / 144
        return float(np.minimum(scaled / np.sqrt(2), np.sqrt(scaled))) / 5

    def _level(self, tau: float, dim: float, n: float) -> float:
        """Level t at which ``sqrt((1/d + y) t) + y t`` is the largest radius."""
        crowding = self._crowding(n)
        return float(quadratic_root(self._radius(tau), np.sqrt(1 / dim + crowding), crowding)) ** 2
