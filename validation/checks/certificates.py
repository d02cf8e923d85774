"""Certificates: no error above its bound in too many draws, for weights that were fitted to the same data."""

import numpy as np
import numpy.typing as npt

from stbmta.adaptive import Adaptive
from stbmta.bags import Bags
from stbmta.certificates import certified_weights, certify
from stbmta.estimators import STB
from stbmta.statistics import BagStatistics, bag_statistics
from stbmta.truth import known_means, squared_error

from ..check import Check, Finding, Regime, Scale, proportion

__all__ = ["CHECKS"]

RNG = np.random.Generator
Array = npt.NDArray[np.float64]

# So large that few trials decide.
ALPHA = 0.3
_TRIALS = 40
_EQUAL = (1,) * 6
_UNEQUAL = (1, 2, 4) * 2


def _weights(name: str, bags: Bags, s: BagStatistics, seed: int) -> Array:
    if name == "naive":
        return np.eye(len(s))
    if name == "a tenth of the next bag":
        return 0.9 * np.eye(len(s)) + 0.1 * np.roll(np.eye(len(s)), 1, axis=1)
    if name == "certified":
        return certified_weights(s, 1.0, ALPHA)
    method = STB if name == "STB" else Adaptive
    found = method(variance=1.0, random_state=seed, n_threads=1).fit(bags).weights_
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found)


def certificate(
    rng: RNG, trials: int, weights: str, sizes: tuple[int, ...], dim: int, apart: float
) -> Finding:
    """Rate of draws in which any squared error is above its bound."""
    missed = 0
    for _ in range(trials):
        means = apart * rng.normal(size=(2, dim))[np.arange(len(sizes)) % 2]
        bags = Bags.from_list(
            [rng.normal(size=(n, dim)) + mean for n, mean in zip(sizes, means, strict=True)]
        )
        s = bag_statistics(bags)
        W = _weights(weights, bags, s, int(rng.integers(2**31)))
        missed += not (squared_error(W, s, known_means(means)) <= certify(W, s, 1.0, ALPHA).bounds).all()
    return proportion(missed, trials, at_most=ALPHA)


def _regime(
    name: str, weights: str, sizes: tuple[int, ...], scale: Scale = "quick", *, apart: float = 1.0
) -> Regime:
    values = {"weights": weights, "sizes": sizes, "dim": 100, "apart": apart}
    return Regime(name=name, values=values, trials=_TRIALS, scale=scale)


CHECKS = (
    Check(
        id="certificate",
        family="Certificates",
        title="errors are below their certificates, all bags at once, for weights chosen on the same data",
        labels=("beyond",),
        functions=("sharp.cross_term", "gaussian.exact_inner", "gaussian.exact_norm", "gaussian.upper_tau"),
        measure=certificate,
        regimes=(
            _regime("naive means", "naive", _UNEQUAL, "default"),
            _regime("far neighbors", "a tenth of the next bag", _EQUAL, apart=1000.0),
            _regime("certified weights, equal bags", "certified", _EQUAL, "default"),
            _regime("certified weights, unequal bags", "certified", _UNEQUAL, "default"),
            _regime("STB, chosen by fission, equal bags", "STB", _EQUAL),
            _regime("STB, chosen by fission, unequal bags", "STB", _UNEQUAL, "default"),
            _regime("Adaptive, equal bags", "Adaptive", _EQUAL, "default"),
            _regime("Adaptive, unequal bags", "Adaptive", _UNEQUAL),
        ),
    ),
)
