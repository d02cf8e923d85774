"""All methods that choose their parameters themselves, by name."""

from typing import Any

from stbmta.adaptive import Adaptive
from stbmta.comparators import ClusteredMTA, SpectralKMSE
from stbmta.estimators import MTA, STB, JamesStein, NaiveMean
from stbmta.estimators_beyond import ConvexAggregation, SpectralShrinkage, WaterFilling
from stbmta.kernels import Kernel

from ..heldout import ADAPTIVE, beyond_the_paper, methods

__all__ = ["ADAPTIVE", "known_variance", "unknown_variance"]


def unknown_variance(kernel: Kernel, seed: int) -> dict[str, Any]:
    """Return an estimator for each method: those of the paper, of its related work, and beyond.

    Returns
    -------
    dict of str to Any
        Estimators that are not fitted yet, by the name of the method.

    Examples
    --------
    >>> from stbmta import Linear
    >>> list(unknown_variance(Linear(), 0))[-5:]
    ['S-KMSE', 'water-filling', 'aggregation', 'spectral', 'Adaptive']
    """
    return methods(kernel, seed) | {
        "MTA minimax": MTA(kernel, similarity="minimax"),
        "MTA clusters": ClusteredMTA(kernel, random_state=seed),
        "S-KMSE": SpectralKMSE(kernel, random_state=seed),
        **beyond_the_paper(kernel, seed),
    }


def known_variance(variance: float, seed: int) -> dict[str, Any]:
    """Return the methods for Gaussian points of known variance, also for bags of one point.

    Returns
    -------
    dict of str to Any
        Estimators that are not fitted yet, by the name of the method.

    Examples
    --------
    >>> list(known_variance(1.0, 0))[:3]
    ['NE', 'James-Stein', 'MTA const']
    """
    return {
        "NE": NaiveMean(),
        "James-Stein": JamesStein(variance=variance),
        "MTA const": MTA(variance=variance),
        "MTA minimax": MTA(similarity="minimax", variance=variance),
        "MTA clusters": ClusteredMTA(variance=variance, random_state=seed),
        "STB-0": STB(gamma=0.0, variance=variance, random_state=seed),
        "STB theory": STB(gamma="theory", c=None, variance=variance, random_state=seed),
        "STB weight": STB(variance=variance, random_state=seed),
        "water-filling": WaterFilling(variance=variance, random_state=seed),
        "aggregation": ConvexAggregation(variance=variance),
        "spectral": SpectralShrinkage(variance=variance),
        ADAPTIVE: Adaptive(variance=variance, random_state=seed),
    }
