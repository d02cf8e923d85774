"""What each setting knows for planning: the smallest tau, and which arguments a given tau allows.

Each class answers for one setting. ``dim``, ``n``, ``alpha`` and ``n_bags`` give the extreme value (smallest,
smallest, smallest, largest) at which ``smallest_tau`` does not exceed tau, or nan.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from . import bounded, exact, gaussian
from ._quadratic import quadratic_root


class Setting(Protocol):
    """Thresholds of one setting, and their inverses."""

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
    """Number of bags; less than two are no plan."""
    with np.errstate(over="ignore"):
        return float(np.exp(log_bags)) if log_bags >= np.log(2) else float("nan")


@dataclass(frozen=True)
class GaussianPrinted:
    """prop:testgauss: tau at least max(C delta, sqrt(C delta)). The bag size does not matter."""

    C: float

    def smallest_tau(self, n_bags: float, dim: float, n: float, alpha: float) -> float:
        return float(gaussian.tau_min(n_bags, dim, alpha, self.C))

    def dim(self, tau: float, n_bags: float, n: float, alpha: float) -> float:
        return max(float(gaussian.delta(n_bags, 1, alpha) / gaussian.delta_max(tau, self.C)), 1.0)

    def n(self, tau: float, n_bags: float, dim: float, alpha: float) -> float:
        return 1.0 if self.smallest_tau(n_bags, dim, 1, alpha) <= tau else float("nan")

    def alpha(self, tau: float, n_bags: float, dim: float, n: float) -> float:
        return _error_probability(2 * np.log(n_bags) - dim * float(gaussian.delta_max(tau, self.C)))

    def n_bags(self, tau: float, dim: float, n: float, alpha: float) -> float:
        return _count((np.log(alpha) + dim * float(gaussian.delta_max(tau, self.C))) / 2)


@dataclass(frozen=True)
class GaussianExact:
    """Exact laws, tau' = tau / 3. C and C' decide only for two bags and alpha above 0.45: no inverse minds them."""

    same_data: bool

    def smallest_tau(self, n_bags: float, dim: float, n: float, alpha: float) -> float:
        return float(exact.exact_tau(n_bags, dim, alpha, same_data=self.same_data))

    def dim(self, tau: float, n_bags: float, n: float, alpha: float) -> float:
        return float(exact.exact_dim(tau, n_bags, alpha))

    def n(self, tau: float, n_bags: float, dim: float, alpha: float) -> float:
        return 1.0 if self.smallest_tau(n_bags, dim, 1, alpha) <= tau else float("nan")

    def alpha(self, tau: float, n_bags: float, dim: float, n: float) -> float:
        tests = float(exact.number_of_tests(n_bags))
        return _error_probability(np.log(tests) + float(exact.exact_log_level(tau, dim)))

    def n_bags(self, tau: float, dim: float, n: float, alpha: float) -> float:
        log_tests = np.log(alpha) - float(exact.exact_log_level(tau, dim))
        if log_tests > 600:  # then B^2 / 2 cannot be told from B (B - 1) / 2
            return _count((log_tests + np.log(2)) / 2)
        return float(1 + np.sqrt(1 + 8 * np.exp(log_tests))) / 2 if log_tests >= 0 else float("nan")


@dataclass(frozen=True)
class Bounded:
    """prop:testkernel: tau at least 144 tau_min(t), t = log(14 B^2 / alpha), sigma-bar^2 = trace / N."""

    L: float
    trace: float

    def smallest_tau(self, n_bags: float, dim: float, n: float, alpha: float) -> float:
        # Only L / (N sigma-bar) matters, and that has a limit for large bags.
        return float(bounded.smallest_tau(bounded.t(alpha, n_bags), dim, self._crowding(n), 1, 1.0))

    def dim(self, tau: float, n_bags: float, n: float, alpha: float) -> float:
        t, crowding = float(bounded.t(alpha, n_bags)), self._crowding(n)
        rest = self._radius(tau) - crowding * t
        inverse = rest**2 / t - crowding
        return 1 / inverse if rest > 0 and inverse > 0 else float("nan")

    def n(self, tau: float, n_bags: float, dim: float, alpha: float) -> float:
        t, radius = float(bounded.t(alpha, n_bags)), self._radius(tau)
        gap = radius**2 - t / dim
        if gap <= 0:
            return float("nan")
        # Smaller root y of t y^2 - (2 radius + 1) y + gap / t = 0, without cancellation; y = L / sqrt(N trace).
        linear = 2 * radius + 1
        crowding = 2 * gap / t / (linear + np.sqrt(linear**2 - 4 * gap))
        return max(self.L**2 / (self.trace * crowding**2), 1.0)

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
