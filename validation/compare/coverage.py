"""How often certificates hold: for weights that were fitted to the same data, all bags at once."""

import os
from typing import Any

import numpy as np
from scipy.stats import beta

from stbmta import __version__
from stbmta.adaptive import Adaptive
from stbmta.bags import Bags
from stbmta.certificates import certified_weights, certify
from stbmta.estimators import STB
from stbmta.statistics import bag_statistics
from stbmta.truth import known_means, squared_error

from ..runner import Arrays, Part, Store, generator, run_parts
from .outcome import Check, Comparison

__all__ = ["run", "trial"]

_SIZES = {"equal bags": (1,) * 20, "unequal bags": (1, 2, 4, 8, 16) * 4}
_STEP = 10
WEIGHTS = ("STB", "Adaptive", "certified")


def run(
    folder: str | os.PathLike[str],
    *,
    n_trials: int = 200,
    alpha: float = 0.2,
    dim: int = 500,
    seed: int = 0,
    resume: bool = False,
    jobs: int | None = None,
) -> Comparison:
    """Count the draws in which any squared error exceeds its certificate.

    Parameters
    ----------
    folder : path-like
        Where the parts are kept.
    n_trials : int, default=200
        Draws of the points, for equal and for unequal bags each.
    alpha : float, default=0.2
        At most this share of the draws may have any.
    dim : int, default=500
        Number of columns of the points, d.
    seed : int, default=0
        Seed of the random draws.
    resume : bool, default=False
        Go on with what the folder holds.
    jobs : int, optional
        Number of processes; as many as cores by default. It does not change the result.

    Returns
    -------
    Comparison
        Counts of missed draws; a check fails if the lower 99.9 % limit of their share exceeds alpha.

    Examples
    --------
    >>> found = run("coverage", n_trials=2, dim=100, jobs=1)
    >>> found.passed
    True
    """
    settings = {
        "experiment": "coverage",
        "version": __version__,
        "seed": seed,
        "trials": n_trials,
        "alpha": alpha,
        "dim": dim,
    }
    store = Store(folder, settings, resume=resume)
    starts = range(0, n_trials, _STEP)
    parts = [
        Part(
            name=f"{name}-{first:04d}".replace(" ", "-"),
            work=_trials,
            arguments=(name, alpha, dim, seed, first, min(first + _STEP, n_trials)),
        )
        for name in _SIZES
        for first in starts
    ]
    found = run_parts(store, parts, what="certificates", jobs=jobs)
    table: dict[str, list[Any]] = {
        "bags": [],
        "weights": [],
        "missed": [],
        "draws": [],
        "largest error over bound": [],
        "factor": [],
    }
    checks = []
    for k, name in enumerate(_SIZES):
        mine = found[k * len(starts) : (k + 1) * len(starts)]
        for weights in WEIGHTS:
            ratios = np.concatenate([part[f"{weights} ratio"] for part in mine])
            missed = int((ratios > 1).sum())
            table["bags"].append(name)
            table["weights"].append(weights)
            table["missed"].append(missed)
            table["draws"].append(n_trials)
            table["largest error over bound"].append(float(ratios.max()))
            table["factor"].append(float(np.mean([part[f"{weights} factor"] for part in mine])))
            # The lower end of the exact 99.9 % interval: above alpha, the certificate is refuted.
            low = float(beta.ppf(0.0005, missed, n_trials - missed + 1)) if missed else 0.0
            checks.append(
                Check(
                    name=f"{name}, {weights} weights, lower bound of the miss rate",
                    found=low,
                    standard_error=float("nan"),
                    most=alpha,
                )
            )
    return Comparison(
        title=f"Certificates at alpha = {alpha:g}: draws with any error above its bound, d = {dim}",
        table=table,
        checks=tuple(checks),
        seconds=float(sum(part["seconds"] for part in found)),
    )


def trial(
    sizes: tuple[int, ...], alpha: float, dim: int, rng: np.random.Generator
) -> dict[str, tuple[float, float]]:
    """Return the largest error over its bound, and the average factor, for three kinds of weights.

    All are chosen on the same data: STB with its threshold and shrinkage, Adaptive, and certified weights.

    Returns
    -------
    dict of str to tuple of float
        By the name of the weights; a ratio above 1 is a miss, a factor below 1 a guaranteed gain.

    Examples
    --------
    >>> sorted(trial((1, 2, 3), 0.5, 100, np.random.default_rng(0)))
    ['Adaptive', 'STB', 'certified']
    """
    centers = rng.normal(size=(4, dim))
    means = centers[np.arange(len(sizes)) % 4]
    bags = Bags.from_list([rng.normal(size=(n, dim)) + mean for n, mean in zip(sizes, means, strict=True)])
    s, truth = bag_statistics(bags), known_means(means)
    seed = int(rng.integers(2**31))
    weights = {
        "STB": STB(variance=1.0, random_state=seed).fit(bags).weights_,
        "Adaptive": Adaptive(variance=1.0, random_state=seed).fit(bags).weights_,
        "certified": certified_weights(s, 1.0, alpha),
    }
    found = {}
    for name, W in weights.items():
        certificate = certify(W, s, 1.0, alpha)
        ratio = squared_error(W, s, truth) / certificate.bounds
        found[name] = (float(ratio.max()), float(certificate.factors.mean()))
    return found


def _trials(name: str, alpha: float, dim: int, seed: int, first: int, last: int) -> Arrays:
    found = [
        trial(_SIZES[name], alpha, dim, generator(seed, "coverage", name, k)) for k in range(first, last)
    ]
    return {
        f"{weights} {what}": np.array([one[weights][k] for one in found])
        for weights in WEIGHTS
        for k, what in enumerate(("ratio", "factor"))
    }
