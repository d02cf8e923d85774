"""Covering numbers: the certificates prove what they claim, and noisy ones miss as rarely as promised."""

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist, pdist

from stbmta.theory import covering

from ..check import Check, Finding, Regime, at_most_one, exactly_one, proportion
from ..wishart import compressed_noise

__all__ = ["CHECKS"]

RNG = np.random.Generator

ALPHA = 0.5


def certified(rng: RNG, trials: int, dim: int) -> Finding:
    """Largest violation of a certificate: points out of their ball, packed points too near, lower above upper."""
    ratios: list[float] = []
    for _ in range(trials):
        points = rng.normal(size=(int(rng.integers(2, 40)), dim))
        radius = float(rng.uniform(0.2, 2.5))
        found = covering.covering_number(points, radius)
        reach = cdist(points, points[found.centers]).min(axis=1).max() / radius
        crowding = 2 * radius / pdist(points[found.packing]).min() if found.lower > 1 else 0.0
        ratios += [float(reach), float(crowding), found.lower / found.upper]
    return at_most_one(ratios, trials=trials)


def on_the_line(rng: RNG, trials: int) -> Finding:
    """Upper end over the fewest intervals that a search over all choices finds."""
    ratios = []
    for _ in range(trials):
        points = np.sort(rng.uniform(0, 6, int(rng.integers(1, 9))))
        radius = float(rng.uniform(0.2, 1.5))
        ratios.append(covering.covering_number(points, radius).upper / _fewest_intervals(points, radius))
    return exactly_one(ratios, trials=trials)


def _fewest_intervals(points: npt.NDArray[np.float64], radius: float) -> int:
    """Fewest intervals of length 2 radius over sorted points: the best over all lengths of the first one."""
    if len(points) == 0:
        return 0
    fitting = int((points <= points[0] + 2 * radius).sum())
    return 1 + min(_fewest_intervals(points[k:], radius) for k in range(1, fitting + 1))


def noisy(rng: RNG, trials: int, clusters: int, members: int, dim: int) -> Finding:
    """How often the interval from naive means misses the covering number of the true means.

    Clusters are two radii apart if there are two, which one ball still covers; else they are far apart.
    """
    radius = np.sqrt(0.2 * dim)
    truth = 1 if clusters == 2 else clusters
    apart = 2 * radius if clusters == 2 else 100 * radius
    means = np.repeat(apart * np.arange(clusters), members)
    missed = 0
    for _ in range(trials):
        naive = np.zeros((len(means), dim))  # in R^d, for the function reads the dimension off its argument
        noise = compressed_noise(rng, len(means), dim, spanned=1)
        naive[:, : noise.shape[1]] = noise
        naive[:, 0] += means
        found = covering.covering_number_noisy(naive, radius, float(dim), alpha=ALPHA)
        missed += not found.lower <= truth <= found.upper
    if clusters == 2:  # half of alpha is for each end, and this is the edge of one
        return proportion(missed, trials, at_least=0.35 * ALPHA, at_most=ALPHA)
    return proportion(missed, trials, at_most=ALPHA)


_FAMILY = "Covering numbers"

CHECKS = (
    Check(
        id="covering-certificate",
        family=_FAMILY,
        title="balls cover, packed points are apart, lower end below upper end",
        labels=("beyond",),
        functions=("covering.covering_number",),
        measure=certified,
        regimes=tuple(Regime(name=f"d = {d}", values={"dim": d}, trials=100) for d in (1, 2, 10)),
    ),
    Check(
        id="covering-line",
        family=_FAMILY,
        title="exact in one dimension",
        labels=("beyond",),
        functions=("covering.covering_number",),
        measure=on_the_line,
        regimes=(Regime(name="up to 8 points", trials=200),),
    ),
    Check(
        id="covering-noisy",
        family=_FAMILY,
        title="interval from naive means",
        labels=("beyond",),
        functions=("covering.covering_number_noisy",),
        measure=noisy,
        regimes=tuple(
            Regime(
                name=f"{k} clusters of {m}, d = {d}",
                values={"clusters": k, "members": m, "dim": d},
                trials=trials,
            )
            for k, m, d, trials in ((2, 1, 200, 1500), (3, 4, 500, 100))
        ),
    ),
)
