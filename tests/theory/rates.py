"""False positives and negatives at the exact threshold: pairs that all lie exactly on the boundary."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from stbmta.theory import events, gaussian


@dataclass(frozen=True)
class Rate:
    """How often an error happened, and how often it should."""

    what: str
    n_bags: int
    dim: int
    nominal: float
    hits: int
    trials: int

    @property
    def interval(self):
        """Binomial confidence interval (Clopper-Pearson) at level 0.999."""
        a, k, n = 5e-4, self.hits, self.trials
        low = stats.beta.ppf(a, k, n - k + 1) if k else 0.0
        high = stats.beta.isf(a, k + 1, n - k) if k < n else 1.0
        return float(low), float(high)

    @property
    def tight(self):
        """Whether the nominal level is inside the interval: neither too many errors nor too few."""
        low, high = self.interval
        return low <= self.nominal <= high


def simplex(n_bags, dim, tau):
    """Means with all squared distances equal to tau d (bags of one point, so sigma-bar^2 is d)."""
    means = np.zeros((n_bags, dim))
    means[np.arange(n_bags), np.arange(n_bags)] = np.sqrt(tau * dim / 2)
    return means


def errors_of_all_pairs(rng, means, trials, is_error):
    """Number of wrong pairs in each trial; ``is_error`` tells it from squared distances over sigma-bar^2."""
    n_bags, dim = means.shape
    above = np.triu_indices(n_bags, 1)
    counts = np.empty(trials, int)
    for k in range(trials):
        naive = means + rng.normal(size=means.shape)
        norms = (naive**2).sum(axis=1)
        squares = norms[:, None] + norms - 2 * naive @ naive.T
        counts[k] = is_error(squares[above] / dim).sum()
    return counts


def rates(rng, trials, alpha=0.1, cases=((2, 30), (12, 200))):
    """Rates of A at tau and of B at tau / 3, of C and of C', each at its exact threshold.

    Over all pairs Bonferroni is slightly cautious, as pairs share bags; the *mean number* of errors is alpha
    exactly, so both are counted.
    """
    for n_bags, dim in cases:
        tau = float(gaussian.exact_tau(n_bags, dim, alpha))
        zeta = float(gaussian.exact_zeta(tau, n_bags, dim, alpha))
        pairs = n_bags * (n_bags - 1) // 2
        for what, distance, wrong in (
            ("A", tau, lambda x, z=zeta: x <= z),
            ("B", tau / 3, lambda x, z=zeta: x > z),
        ):
            counts = errors_of_all_pairs(rng, simplex(n_bags, dim, distance), trials, wrong)
            yield Rate(f"{what}, any pair", n_bags, dim, alpha, int((counts > 0).sum()), trials)
            yield Rate(f"{what}, one pair", n_bags, dim, alpha / pairs, int(counts.sum()), trials * pairs)
        c, c_prime = gaussian.exact_inner(n_bags, dim, alpha), gaussian.exact_norm(n_bags, dim, alpha)
        inner = norm = 0
        for _ in range(trials):
            e = rng.normal(size=(n_bags, dim)) / np.sqrt(dim)
            inner += events.large_inner_product(e, c)
            norm += events.large_norm(e, c_prime)
        yield Rate("C, any pair", n_bags, dim, alpha, inner, trials)
        yield Rate("C', any bag", n_bags, dim, alpha, norm, trials)
