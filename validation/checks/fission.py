"""Theorem 1 from one data set: noise splits single points into a part for the tests and a part for the means."""

import numpy as np
from scipy.stats import ncx2

from stbmta import Bags, bag_statistics, fission
from stbmta.theory import errors, theorems

from ..check import Check, Finding, Regime, proportion
from ..gaussian_runs import Setting, neighbors
from ..models import simplex

__all__ = ["CHECKS"]

RNG = np.random.Generator


def conditional_law(rng: RNG, trials: int, n_bags: int, dim: int) -> Finding:
    """How often the error of a bag exceeds the median of its law given the tests: half of the time.

    Theorem 1 is about that law. It is known if tests and means are independent, and is not the law of the error if they
    are not. Pairs stand halfway between the radii, so that the tests are left to chance.
    """
    setting = Setting.make(n_bags, dim, 0.2, "exact")
    means = np.zeros((n_bags, dim))
    means[:, :n_bags] = simplex(n_bags, (setting.tau + setting.tau_prime) / 2 * setting.sigma**2)
    double = np.sqrt(2)  # both parts have twice the variance
    error, spread, bias = np.empty((3, trials))
    for k in range(trials):
        naive = double * means + rng.standard_normal((n_bags, dim))
        s = bag_statistics(Bags.from_list([point[np.newaxis] for point in naive]))
        parts = fission.fission(s, variance=1.0, amount=1.0, rng=rng)
        found = neighbors(setting, np.asarray(parts.statistics.means) / double)
        gamma = theorems.gamma_independent(setting.tau, found.sum(axis=1) - 1)
        weights = errors.shrinkage_weights(found, gamma)
        error[k] = errors.squared_error(weights, np.asarray(parts.truth.means) / double, means)[0]
        spread[k] = (weights[0] ** 2).sum()
        bias[k] = ((weights[0] @ means - means[0]) ** 2).sum()
    below = ncx2.cdf(error / spread, dim, bias / spread) <= 0.5
    return proportion(trials - int(below.sum()), trials, at_least=0.4, at_most=0.6)


CHECKS = (
    Check(
        id="theorem-1-fission",
        family="Theorem 1: tests on other data",
        title="after fission the error has the law given the tests that Theorem 1 is about",
        labels=("th:indep",),
        functions=("stbmta.fission.fission",),
        measure=conditional_law,
        regimes=(Regime(name="20 bags, d = 1000", values={"n_bags": 20, "dim": 1000}, trials=2000),),
    ),
)
