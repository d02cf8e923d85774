"""The weights of the paper's methods by name, at given parameters."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from stbmta import weights
from stbmta.similarity import neighbors
from stbmta.statistics import BagStatistics

__all__ = ["FREE", "Choice", "method_weights"]

Choice = Mapping[str, tuple[float, float]]
"""Threshold and parameter (gamma or c) of each method; the threshold of MTA const is nan."""

FREE = "STB weight, no oracle"
"""STB weight with parameters chosen by K-fold."""


def method_weights(name: str, s: BagStatistics, choice: Choice) -> npt.NDArray[np.float64]:
    """Return the weights of a method.

    Parameters
    ----------
    name : str
        As in the paper; what follows a comma says how the parameters were chosen.
    s : BagStatistics
        Of the bags that the estimates are made of.
    choice : Choice
        NE and R-KMSE need none.

    Returns
    -------
    ndarray of shape (B, B)
        Row i holds the weights of estimate i.

    Examples
    --------
    >>> from stbmta import Bags, bag_statistics
    >>> s = bag_statistics(Bags.from_list([[0.0, 2.0], [1.0, 3.0]]))
    >>> method_weights("STB weight", s, {"STB weight": (1.0, 0.5)})
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    if name == "NE":
        return weights.naive(s)
    if name == "R-KMSE":
        return weights.rkmse(s)
    zeta, value = choice[name]
    kind = name.partition(",")[0]
    if kind == "MTA const":
        return weights.mta_constant(s, value)
    tests = neighbors(s, zeta)
    if kind == "MTA stb":
        return weights.mta_stb(s, tests, value)
    if kind == "STB theory":
        return weights.stb_theory(tests, zeta, value)
    return weights.stb(tests, value)  # STB-0 has value 0
