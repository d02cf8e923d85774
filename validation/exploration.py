"""What happens when assumptions are broken: explored, not judged.

The Gaussian tests and Theorem 1 assume independent coordinates with normal noise of one known variance, and bags of one
size. Here each of these is given up in turn, with the exact thresholds for what was assumed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stbmta.theory import errors, events, theorems

from .check import Scale, judge, proportion
from .gaussian_runs import Setting, neighbors, sq_distances
from .models import simplex
from .runner import Arrays, Part, Store, generator, run_parts

__all__ = ["SCENARIOS", "Exploration", "explore", "explored", "try_scenario"]

Array = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int, int], Array]

N_BAGS, DIM, ALPHA, TRIALS = 20, 1000, 0.2, 400
FACTOR: dict[Scale, int] = {"quick": 1, "default": 10, "full": 100}


def _unequal(variances: Array) -> Draw:
    return lambda rng, b, d: np.sqrt(np.resize(variances, b))[:, np.newaxis] * rng.standard_normal((b, d))


def _repeated(rng: np.random.Generator, n_bags: int, dim: int) -> Array:
    """Every coordinate ten times: the effective dimension is a tenth."""
    return np.repeat(rng.standard_normal((n_bags, dim // 10)), 10, axis=1)


def _outliers(rng: np.random.Generator, n_bags: int, dim: int) -> Array:
    large = rng.random((n_bags, dim)) < 0.01
    return np.where(large, 10.0, 1.0) * rng.standard_normal((n_bags, dim)) / np.sqrt(1.99)


# Two variances, and the variances 1 / N of bags of 1 to 9 points, both with average 1.
_VARIANCES = np.array([0.5, 1.5])
_SIZES = 1 / np.arange(1, 10)

SCENARIOS: dict[str, tuple[str, Draw, Array]] = {
    "as assumed": ("normal noise", lambda rng, b, d: rng.standard_normal((b, d)), np.ones(1)),
    "heavy tails": (
        "Student t with 5 degrees of freedom",
        lambda rng, b, d: rng.standard_t(5, (b, d)) * np.sqrt(3 / 5),
        np.ones(1),
    ),
    "Laplace": ("Laplace noise", lambda rng, b, d: rng.laplace(size=(b, d)) / np.sqrt(2), np.ones(1)),
    "signs": ("noise -1 or 1", lambda rng, b, d: rng.choice([-1.0, 1.0], (b, d)), np.ones(1)),
    "outliers": ("one coordinate in a hundred is ten times as noisy", _outliers, np.ones(1)),
    "correlated": ("each coordinate ten times: d_eff = d / 10", _repeated, np.ones(1)),
    "unequal variances": ("noise variances 0.5 and 1.5, taken for 1", _unequal(_VARIANCES), _VARIANCES),
    "unequal sizes": (
        "bags of 1 to 9 points, taken for bags of one size with the same average error",
        _unequal(_SIZES / _SIZES.mean()),
        _SIZES / _SIZES.mean(),
    ),
}
"""By name: what is broken, the noise, and the variances of the bags in turn. The average variance is 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration:
    """What happened in one scenario.

    Attributes
    ----------
    name, what : str
    false_positives, false_negatives : tuple of float
        Rate of A with all pairs at tau, of B with all pairs at tau/3, each with its confidence limits.
    alpha : float
        What both would be at most, were the assumptions true.
    bound_ratio : float
        Largest ratio of a bag's exact conditional error to the bound of Theorem 1, outside A.
    improvement : float
        1 minus the average exact error over that of the naive means, in two clusters of equal means.
    """

    name: str
    what: str
    false_positives: tuple[float, float, float]
    false_negatives: tuple[float, float, float]
    alpha: float
    bound_ratio: float
    improvement: float

    def to_dict(self) -> dict[str, Any]:
        """Give everything as JSON has it.

        Returns
        -------
        dict of str to Any
            The attributes by name.
        """
        return {name: getattr(self, name) for name in self.__slots__}


def explore(store: Store, *, scale: Scale, seed: int, jobs: int | None = None) -> tuple[Exploration, ...]:
    """Run all scenarios.

    Parameters
    ----------
    store : Store
        Where finished scenarios are kept.
    scale : {"quick", "default", "full"}
        400, 4000 or 40000 trials a scenario.
    seed : int
        Seed of the random draws.
    jobs : int, optional
        Number of processes; as many as cores by default. It does not change the result.

    Returns
    -------
    tuple of Exploration
        In the order of `SCENARIOS`.
    """
    parts = [Part(name=_part(name), work=try_scenario, arguments=(name, scale, seed)) for name in SCENARIOS]
    found = run_parts(store, parts, what="exploring", jobs=jobs, timed=False)
    return tuple(_collect(name, arrays) for name, arrays in zip(SCENARIOS, found, strict=True))


def explored(store: Store) -> bool:
    """Tell whether a folder has all scenarios already.

    Returns
    -------
    bool
        True if :func:`explore` would have nothing left to compute.
    """
    return all(_part(name) in store for name in SCENARIOS)


def _part(name: str) -> str:
    return f"exploration--{name.replace(' ', '-')}"


def _collect(name: str, arrays: Arrays) -> Exploration:
    level = 1e-3 / (2 * len(SCENARIOS))

    def rate(count: Any) -> tuple[float, float, float]:
        trials = int(arrays["trials"])
        limits = judge(proportion(int(count), trials, at_most=1.0), level)
        return int(count) / trials, limits.lower, limits.upper

    return Exploration(
        name=name,
        what=SCENARIOS[name][0],
        false_positives=rate(arrays["false_positives"]),
        false_negatives=rate(arrays["false_negatives"]),
        alpha=ALPHA,
        bound_ratio=float(arrays["bound_ratio"]),
        improvement=float(arrays["improvement"]),
    )


def try_scenario(name: str, scale: Scale, seed: int) -> Arrays:
    """Run the tests of one scenario at both edges, and Theorem 1 in two clusters.

    Returns
    -------
    dict of str to ndarray
        Counts of both errors of the tests, the largest ratio to the bound, the improvement, and the trials.

    Examples
    --------
    >>> found = try_scenario("as assumed", "quick", seed=0)
    >>> bool(found["bound_ratio"] <= 1), bool(found["improvement"] > 0.6)
    (True, True)
    """
    rng = generator(seed, "explore", name)
    setting = Setting.make(N_BAGS, DIM, ALPHA, "exact")
    _, draw, variances = SCENARIOS[name]
    trials = TRIALS * FACTOR[scale]
    radii = [tau * setting.sigma**2 for tau in (setting.tau, setting.tau_prime)]
    far, near = (simplex(N_BAGS, radius) for radius in radii)
    apart, close = (np.where(np.eye(N_BAGS, dtype=bool), 0.0, radius) for radius in radii)
    clusters = np.zeros((N_BAGS, 1))
    clusters[N_BAGS // 2 :] = np.sqrt(100.0 * DIM)
    mse = np.resize(variances, N_BAGS) * DIM
    positives = negatives = 0
    ratio, error = 0.0, 0.0
    for _ in range(trials):
        positives += events.false_positive(
            neighbors(setting, _naive(draw, rng, far)), apart, setting.tau, setting.sigma
        )
        found = neighbors(setting, _naive(draw, rng, near))
        negatives += events.false_negative(found, close, setting.tau_prime, setting.sigma)
        found = neighbors(setting, _naive(draw, rng, clusters))
        others = found.sum(axis=1) - 1
        weights = errors.shrinkage_weights(found, theorems.gamma_independent(setting.tau, others))
        exact = errors.exact_mse(weights, clusters, mse)
        error += exact.mean() / mse.mean() / trials
        if not events.false_positive(found, sq_distances(clusters), setting.tau, setting.sigma):
            bound = theorems.bound_independent(setting.tau, others) * setting.sigma**2
            ratio = max(ratio, float((exact / bound).max()))
    return {
        "false_positives": np.array(positives),
        "false_negatives": np.array(negatives),
        "bound_ratio": np.array(ratio),
        "improvement": np.array(1 - error),
        "trials": np.array(trials),
    }


def _naive(draw: Draw, rng: np.random.Generator, means: Array) -> Array:
    noise = draw(rng, N_BAGS, DIM)
    noise[:, : means.shape[1]] += means
    return noise
