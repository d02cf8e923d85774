"""Draws of every quantity that a deviation bound is about, to compare how often the bound fails with what it says.

``python tools/theory_report.py`` prints the whole table; tests/theory/test_monte_carlo.py runs it with fewer draws.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from stbmta.theory import concentration

LEVELS = (1.0, 2.0, 3.0, 5.0)


@dataclass(frozen=True)
class Deviation:
    """A bound, draws of the quantity, and how often the bound may and did fail at each level."""

    bound: str
    law: str
    level: float
    allowed: float
    failures: int
    draws: int

    @property
    def holds(self):
        """False if the rate is above what is allowed with confidence 1 - 1e-6."""
        lowest = stats.beta.ppf(1e-6, self.failures, self.draws - self.failures + 1) if self.failures else 0.0
        return lowest <= self.allowed


def compare(bound, law, values, arguments, **options):
    """How often each level's bound fails."""
    for t in LEVELS:
        limit = getattr(concentration, bound)(t, **arguments, **options)
        failed = values > limit if bound.endswith("upper") else values < limit
        allowed = float(concentration.probability(bound, t))
        yield Deviation(bound, law, t, allowed, int(failed.sum()), len(values))


def gaussian_vectors(rng, draws):
    for dim, mean_norm, scale in ((2, 0.0, 1.0), (30, 4.0, 0.5)):
        law = f"Gaussian, d = {dim}"
        z = scale * rng.normal(size=(draws, dim))
        z[:, 0] += mean_norm
        norms = np.linalg.norm(z, axis=1)
        arguments = {"dim": dim, "mean_norm": mean_norm, "scale": scale}
        yield from compare("gaussian_norm_upper", law, norms, arguments)
        yield from compare("gaussian_norm_lower", law, norms, arguments)
        yield from compare("gaussian_norm_lower", f"{law}, sharp", norms, arguments, sharp=True)
        yield from compare("gaussian_sq_norm_upper", law, norms**2, arguments)
        yield from compare("gaussian_sq_norm_lower", law, norms**2, arguments)
        x, y = scale * rng.normal(size=(2, draws, dim))
        inner = np.einsum("ij,ij->i", x, y)
        yield from compare("gaussian_inner_upper", law, inner, {"dim": dim, "scale": scale})
        tau = 1.5
        gap = np.sqrt(2 / dim) * rng.normal(size=(draws, dim))  # sigma-bar is one
        gap[:, 0] += np.sqrt(tau)
        distance = np.linalg.norm(gap, axis=1)
        yield from compare("pair_distance_upper", law, distance, {"tau": tau, "dim": dim})
        yield from compare("pair_distance_lower", law, distance, {"tau": tau, "dim": dim})


def bounded_means(rng, draws):
    """Means of bounded points: -1 and 1 on the line, and the axes e_J of a space, J uniform."""
    for law, dim, n in (
        ("two points, n = 20", 1, 20),
        ("two points, n = 1e6", 1, 10**6),
        ("axes, n = 1e6", 8, 10**6),
    ):
        if dim == 1:
            mean, trace, op = 0.8, 1 - 0.8**2, 1 - 0.8**2  # -1 with probability 0.1, else 1
            means = (2 * rng.binomial(n, 0.9, size=draws) / n - 1)[:, np.newaxis]
            center = np.array([mean])
        else:  # covariance (I - 11'/d) / d
            mean, trace, op = 1 / np.sqrt(dim), 1 - 1 / dim, 1 / dim
            means = rng.multinomial(n, np.full(dim, 1 / dim), size=draws) / n
            center = np.full(dim, 1 / dim)
        centered = np.linalg.norm(means - center, axis=1)
        expected = centered.mean()
        known = {"op_norm": op, "trace": trace, "L": 1.0, "n": n}
        yield from compare("bounded_norm_upper", law, centered, known)
        yield from compare(
            "bounded_norm_upper", f"{law}, E V_c", centered, {**known, "expected_norm": expected}
        )
        yield from compare("bounded_norm_lower", law, centered, known)
        yield from compare(
            "bounded_norm_lower", f"{law}, E V_c", centered, {**known, "expected_norm": expected}
        )
        squares = (means**2).sum(axis=1)
        with_mean = {"mean_norm": mean, **known}
        for name in ("bounded_sq_norm_upper", "bounded_sq_norm_lower"):
            yield from compare(name, law, squares, with_mean)
            yield from compare(name, f"{law}, E V_c", squares, {**with_mean, "expected_norm": expected})
        linear = (means - center) @ center
        arguments = {"mean_norm": mean, "op_norm": op, "L": 1.0, "n": n}
        yield from compare("linear_term_upper", law, linear, arguments)
        total = n * centered  # supremum of the sum over directions
        supremum = {"variance": n * op, "L": 1.0 + mean, "expectation": n * expected}
        yield from compare("talagrand_upper", law, total - n * expected, supremum)
        yield from compare("bousquet_upper", law, total - n * expected, supremum)
        yield from lower_deviation("talagrand_lower", law, total - n * expected, supremum)
        yield from lower_deviation("klein_rio_lower", law, total - n * expected, supremum)


def lower_deviation(bound, law, values, arguments):
    """These two give how far below its expectation the supremum may fall."""
    for t in LEVELS:
        failed = -values > getattr(concentration, bound)(t, **arguments)
        allowed = float(concentration.probability(bound, t))
        yield Deviation(bound, law, t, allowed, int(failed.sum()), len(values))


def squared_norms(rng, draws, n=1000):
    """Mean of |X|^2, the norm being 1 or 1 - h."""
    h = 0.5
    short = rng.binomial(n, 0.5, size=draws) / n
    values = 1 - short * (1 - (1 - h) ** 2)
    arguments = {"mean_norm": 1 - h / 2, "trace": h**2 / 4, "L": 1.0, "n": n}
    yield from compare("mean_sq_norm_lower", "norms 1 and 1/2", values, arguments)


def pairs_of_bags(rng, draws):
    """Inner products and U-statistics of two bags of points +-e_J (centered, of length L = 1)."""
    for dim, n in ((1, 2), (1, 10**6), (8, 10**6)):
        law = f"signed axes, d = {dim}, n = {n:g}"
        counts = rng.multinomial(n, np.full(2 * dim, 0.5 / dim), size=(2, draws))
        x, y = counts[..., :dim] - counts[..., dim:]  # sums of the points
        common = {"d_eff": float(dim), "L": 1.0, "n": n, "sigma": np.sqrt(1 / n)}
        inner = np.einsum("ij,ij->i", x, y) / float(n) ** 2
        yield from compare("bounded_inner_upper", law, inner, common)
        yield from compare("bounded_inner_upper", f"{law}, 10", inner, common, constant=10.0)
        u = sum(((b**2).sum(axis=1) - n) / (n * (n - 1.0)) for b in (x, y)) - 2 * inner
        arguments = {"distance": 0.0, **common}
        yield from compare("u_statistic_upper", law, u, arguments)
        yield from compare("u_statistic_lower", law, u, arguments)


def deviations(rng, draws):
    """Every bound at every level."""
    for family in (gaussian_vectors, bounded_means, squared_norms, pairs_of_bags):
        yield from family(rng, draws)
