"""One trial of the toy experiments (section 4.1): Gaussians in the plane, RBF kernel of width 2.25.

The truth is exact, in closed form; or, as in the paper, a bag of 1000 more points with negative errors clipped.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stbmta import datasets
from stbmta.bags import Bags
from stbmta.grid import neighbor_paths
from stbmta.grid_mta import mta_constant_grid, mta_stb_grid
from stbmta.kernels import RBF
from stbmta.statistics import BagStatistics, bag_statistics
from stbmta.truth import Truth, gaussian_truth, proxy_truth, squared_error
from stbmta.tuning import tune_stb

from ..runner import Arrays, generator
from .methods import FREE, Choice, method_weights
from .published import TOY, TOY_METHODS

__all__ = ["METHODS", "SETTINGS", "WIDER", "Setting", "choose", "final_part", "model_part"]

Array = npt.NDArray[np.float64]

KERNEL = RBF(2.25)
PROXY_SIZE = 1000

# The authors' grids, and where their best values lie at an edge, some way beyond: zeta up to 5, c down to 0.
ZETAS = np.round(np.arange(0, 5.01, 0.1), 10)
GAMMAS = np.round(np.arange(0, 1.01, 0.05), 10)
CS = np.r_[0.0, 0.005, 0.01, np.round(np.arange(0.02, 0.501, 0.02), 10)]
CONSTANTS = np.round(np.arange(0, 5.01, 0.125), 10)
MTA_ZETAS = np.round(np.arange(0, 3.01, 0.25), 10)
MTA_GAMMAS = np.arange(0, 10001, 250.0)
_AUTHORS_ZETA, _AUTHORS_C = 3.0, 0.02  # the largest and the smallest of theirs

WIDER = tuple(f"{name}, wider grid" for name in ("STB-0", "STB weight", "STB theory"))
METHODS = ("NE", *TOY_METHODS, *WIDER, FREE)
"""What is evaluated: the paper's methods with its grids, three with wider ones, one without knowing the truth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A point of a figure.

    Attributes
    ----------
    figure : {"a", "b", "c", "d"}
    value : float
        What varies: bag size, number of bags, nothing (0), radius.
    sizes : tuple of int
        Of the bags.
    radius : float
        Of the circle of clusters.
    """

    figure: str
    value: float
    sizes: tuple[int, ...]
    radius: float = 0.0

    @property
    def name(self) -> str:
        """Figure and value, for files and tables."""
        return f"{self.figure}-{self.value:g}"

    @property
    def known(self) -> bool:
        """Whether there is a reference figure."""
        return (self.figure, self.value) in TOY


_COUNTS = (*range(10, 101, 10), *range(120, 201, 20), 250, 300)
_IMBALANCED = (*np.repeat(range(10, 101, 10), 4).tolist(), *np.repeat([125, 150, 200, 250, 300], 2).tolist())

SETTINGS: tuple[Setting, ...] = (
    *(Setting(figure="a", value=size, sizes=(size,) * 50) for size in _COUNTS),
    *(Setting(figure="b", value=count, sizes=(50,) * count) for count in _COUNTS),
    Setting(figure="c", value=0, sizes=_IMBALANCED),
    *(
        Setting(figure="d", value=float(radius), sizes=(50,) * 50, radius=float(radius))
        for radius in np.linspace(0, 5, 21)
    ),
)
"""Every point of the paper's figures (a) to (d)."""


def draw(setting: Setting, rng: np.random.Generator, proxy: bool) -> tuple[Bags, BagStatistics, Truth]:
    """Draw the bags of one trial, and find their statistics and the truth."""
    sample = datasets.rotated_gaussians(len(setting.sizes), setting.sizes, radius=setting.radius, rng=rng)
    s = bag_statistics(sample.bags, KERNEL)
    if proxy:
        return sample.bags, s, proxy_truth(sample.bags, sample.draw(PROXY_SIZE, rng), KERNEL)
    return sample.bags, s, gaussian_truth(sample.bags, sample.means, sample.covariances, KERNEL)


def model_part(setting: Setting, seed: int, first: int, last: int, proxy: bool) -> Arrays:
    """Return the errors over all grids, summed over the trials that choose parameters.

    Returns
    -------
    dict of str to ndarray
        By method; an array has one row a threshold and one column a parameter.
    """
    total: Arrays = {}
    for trial in range(first, last):
        _, s, truth = draw(setting, generator(seed, "toy", setting.name, "model", trial), proxy)
        paths = neighbor_paths(s, truth, ZETAS)
        errors = {
            "STB weight": paths.weight(GAMMAS, clip=proxy).errors,
            "STB theory": paths.theory(CS, clip=proxy).errors,
            "MTA const": mta_constant_grid(s, truth, CONSTANTS, clip=proxy).errors,
            "MTA stb": mta_stb_grid(s, truth, MTA_ZETAS, MTA_GAMMAS, clip=proxy).errors,
        }
        total = {name: total.get(name, 0.0) + values for name, values in errors.items()}
    return total


def choose(errors: Mapping[str, Array]) -> Choice:
    """Return the best parameters of each method over its grid: that of the authors, and the wider one.

    Parameters
    ----------
    errors : mapping
        What :func:`model_part` returns, summed over all trials.

    Returns
    -------
    mapping of str to tuple of float
        Threshold and parameter of each method that has any; the threshold of MTA const is nan.
    """
    found = {
        "MTA const": (np.nan, float(CONSTANTS[np.argmin(errors["MTA const"])])),
        "MTA stb": _best(errors["MTA stb"], MTA_ZETAS, MTA_GAMMAS),
    }
    authors = ZETAS <= _AUTHORS_ZETA
    for ending, zetas, cs in (
        ("", authors, CS >= _AUTHORS_C),
        (", wider grid", ZETAS >= 0, CS >= 0),
    ):
        weight, theory = errors["STB weight"][zetas], errors["STB theory"][np.ix_(zetas, cs)]
        found["STB-0" + ending] = _best(weight[:, :1], ZETAS[zetas], GAMMAS[:1])
        found["STB weight" + ending] = _best(weight, ZETAS[zetas], GAMMAS)
        found["STB theory" + ending] = _best(theory, ZETAS[zetas], CS[cs])
    return found


def _best(errors: Array, zetas: Array, values: Array) -> tuple[float, float]:
    z, p = np.unravel_index(int(np.argmin(errors)), errors.shape)
    return float(zetas[z]), float(values[p])


def final_part(setting: Setting, seed: int, first: int, last: int, proxy: bool, choice: Choice) -> Arrays:
    """Return the errors of all methods at the chosen parameters, (trials, methods, distinct bag sizes).

    Returns
    -------
    dict of str to ndarray
        The only entry is "errors": averages over the bags of one size.
    """
    sizes = np.unique(setting.sizes)
    found = np.empty((last - first, len(METHODS), len(sizes)))
    for k, trial in enumerate(range(first, last)):
        rng = generator(seed, "toy", setting.name, "final", trial)
        bags, s, truth = draw(setting, rng, proxy)
        chosen = tune_stb(bags, KERNEL, rng=rng)
        for m, name in enumerate(METHODS):
            W = method_weights(name, s, {**choice, FREE: (chosen.zeta, chosen.shrinkage)})
            errors = squared_error(W, s, truth)
            if proxy:
                errors = np.maximum(errors, 0.0)
            found[k, m] = [errors[s.sizes == size].mean() for size in sizes]
    return {"errors": found}
