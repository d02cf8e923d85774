"""The table of section 4.2: satellite data, 800 bags of 100 pixels, embeddings from 20 pixels each.

In each trial 20 pixels are drawn from every bag and the bags are split into halves. The parameters of each
method are those with the smallest error on one half; the other half is estimated with them.

The authors' code judges by the whole bag, leaves out k(y, y) in its squared norm, and clips negative errors.
Where the drawn pixels are part of the whole bag that is too small an error, for every method alike:
``whole=True`` takes the squared distance to the mean of the whole bag, as the paper's text says.
"""

import hashlib
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stbmta import __version__
from stbmta.bags import Bags
from stbmta.datasets import load_misr1
from stbmta.grid import neighbor_paths
from stbmta.grid_mta import mta_constant_grid, mta_stb_grid
from stbmta.kernels import RBF
from stbmta.statistics import BagStatistics, bag_statistics, cross_statistics
from stbmta.truth import Truth, squared_error, squared_norms
from stbmta.tuning import tune_stb

from ..heldout import ratio_of_means
from ..runner import Arrays, Part, Scale, Store, generator, run_parts
from .methods import FREE, method_weights
from .published import AOD, AOD_METHODS

__all__ = ["AodTable", "run"]

Array = npt.NDArray[np.float64]

KERNEL = RBF(1.0)
BAG_SIZE = 20
TRIALS: dict[Scale, int] = {"quick": 4, "default": 20, "full": 100}
METHODS = ("NE", *AOD_METHODS, FREE)

# The grids of the authors' scripts.
ZETAS = np.linspace(0, 10, 41)
GAMMAS = np.linspace(0, 1, 21)
CS = np.r_[0.1, np.linspace(0.25, 10, 40)]
CONSTANTS = np.linspace(0, 10, 41)
PULLS = np.linspace(0, 10000, 41)
_PLAIN = 3.0  # STB-0 has thresholds up to 3 only


@dataclass(frozen=True, slots=True, kw_only=True)
class AodTable:
    """Decrease of the squared error against the naive embeddings, in percent.

    Attributes
    ----------
    errors : ndarray of shape (trials, methods)
        Averaged over the bags of the second half; methods as in `METHODS` of this module.
    zetas : ndarray of shape (trials, methods)
        The chosen thresholds; nan where there is none.
    whole : bool
        Whether errors are distances to the mean of the whole bag.
    n_bags : int
        Of both halves together.
    seconds : float
        Of all processes together.
    """

    errors: Array
    zetas: Array
    whole: bool
    n_bags: int
    seconds: float

    def decrease(self, method: str) -> tuple[float, float]:
        """Return the decrease of a method in percent, and its standard error.

        Returns
        -------
        decrease, standard_error : float
            In percent of the naive error; negative where the method is worse.
        """
        ratio, spread = ratio_of_means(self.errors[:, METHODS.index(method)], self.errors[:, 0])
        return 100 * (1 - ratio), 100 * spread

    def to_frame(self) -> Any:
        """Return a pandas data frame, one row a method.

        Returns
        -------
        pandas.DataFrame
            Decreases in percent beside the paper's, and the average chosen threshold.
        """
        import pandas as pd

        rows = {}
        for m, method in enumerate(METHODS[1:], start=1):
            value, error = self.decrease(method)
            rows[method] = {
                "decrease": value,
                "standard_error": error,
                "paper": AOD.get(method, np.nan),
                "difference": value - AOD.get(method, np.nan),
                "average_zeta": self.zetas[:, m].mean(),
            }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")

    def summary(self, width: int | None = None) -> str:
        """Return the table as text, in lines of so many characters where given.

        Returns
        -------
        str
            Says first what errors are judged against.
        """
        against = "the whole bag" if self.whole else "the whole bag without k(y, y), clipped"
        return "\n".join(
            [
                f"Decrease of the squared error in percent, {self.n_bags} bags, {len(self.errors)} trials,",
                f"against {against}",
                self.to_frame().to_string(float_format=lambda x: f"{x:.2f}", na_rep="", line_width=width),
            ]
        )


def run(
    folder: str | os.PathLike[str],
    data: str | os.PathLike[str],
    *,
    scale: Scale = "default",
    seed: int = 0,
    whole: bool = False,
    n_trials: int | None = None,
    resume: bool = False,
    jobs: int | None = None,
) -> AodTable:
    """Run the experiment.

    Parameters
    ----------
    folder : path-like
        Where the parts are kept.
    data : path-like
        The file MISR1.mat; see :func:`stbmta.datasets.load_misr1`.
    scale : {"quick", "default", "full"}
        4, 20 or the paper's 100 trials.
    seed : int, default=0
        Seed of the random draws.
    whole : bool, default=False
        Judge by the squared distance to the mean of the whole bag.
    n_trials : int, optional
        In place of those of the scale, at least 2.
    resume : bool, default=False
        Go on with what the folder holds.
    jobs : int, optional
        Number of processes; as many as cores by default. It does not change the result.

    Returns
    -------
    AodTable
        Errors and chosen thresholds of every method in every trial.
    """
    path = os.path.abspath(data)
    bags, _ = _load(path)
    bags.require_size(BAG_SIZE + 1, f"drawing {BAG_SIZE} of its pixels")
    if len(bags) < 4:
        raise ValueError(f"there are {len(bags)} bags; two halves need at least 4.")
    if not whole and bags.sizes.min() <= 2 * BAG_SIZE:
        # The naive error comes out as tr / 20 - 2 tr / N, and a decrease of nothing is undefined.
        raise ValueError(
            f"a bag has {bags.sizes.min()} pixels; without k(y, y) of the whole bag the naive error is 0 or less "
            f"unless there are more than {2 * BAG_SIZE}, and its decrease is undefined. Use --whole."
        )
    count = TRIALS[scale] if n_trials is None else n_trials
    store = Store(
        folder,
        {
            "experiment": "aod",
            "version": __version__,
            "seed": seed,
            "trials": count,
            "whole": whole,
            "bags": len(bags),
            "data": hashlib.sha256(Path(path).read_bytes()).hexdigest(),
        },
        resume=resume,
    )
    parts = [
        Part(name=f"trial-{trial:03d}", work=trial_errors, arguments=(path, seed, trial, whole))
        for trial in range(count)
    ]
    found = run_parts(store, parts, what="AOD-MISR1", jobs=jobs)
    return AodTable(
        errors=np.array([part["errors"] for part in found]),
        zetas=np.array([part["zetas"] for part in found]),
        whole=whole,
        n_bags=len(bags),
        seconds=float(sum(part["seconds"] for part in found)),
    )


def trial_errors(path: str, seed: int, trial: int, whole: bool) -> Arrays:
    """Choose on one half of the bags, and return the errors on the other half."""
    bags, norms = _load(path)
    rng = generator(seed, "aod", trial)
    drawn = bags.subsample(BAG_SIZE, rng)
    order = rng.permutation(len(bags))
    halves = np.sort(order[: len(bags) // 2]), np.sort(order[len(bags) // 2 :])
    column = 0 if whole else 1
    first, second = (
        (
            drawn.select(half),
            bag_statistics(drawn.select(half), KERNEL),
            Truth(
                cross=cross_statistics(drawn.select(half), bags.select(half), KERNEL),
                norms=norms[half, column],
            ),
        )
        for half in halves
    )
    choice = _choose(first[1], first[2], clip=not whole)
    test, s, truth = second
    free = tune_stb(test, KERNEL, rng=rng)
    choice[FREE] = free.zeta, free.shrinkage
    errors = np.array([squared_error(method_weights(name, s, choice), s, truth) for name in METHODS])
    if not whole:
        errors = np.maximum(errors, 0.0)
    return {
        "errors": errors.mean(axis=1),
        "zetas": np.array([choice.get(name, (np.nan, np.nan))[0] for name in METHODS]),
    }


def _choose(s: BagStatistics, truth: Truth, clip: bool) -> dict[str, tuple[float, float]]:
    """Return threshold and parameter of each method with the smallest error."""
    paths = neighbor_paths(s, truth, ZETAS)
    weight = paths.weight(GAMMAS, clip=clip)
    plain = int(np.argmin(weight.errors[ZETAS <= _PLAIN, 0]))
    found = {"STB-0": (float(ZETAS[plain]), 0.0)}
    for name, grid in (
        ("STB weight", weight),
        ("STB theory", paths.theory(CS, clip=clip)),
        ("MTA const", mta_constant_grid(s, truth, CONSTANTS, clip=clip)),
        ("MTA stb", mta_stb_grid(s, truth, ZETAS, PULLS, clip=clip)),
    ):
        best = grid.best()
        found[name] = (np.nan if best.zeta is None else best.zeta, best.value)
    return found


@lru_cache(maxsize=1)
def _load(path: str) -> tuple[Bags, Array]:
    """Return the bags, and the squared norms of their embeddings with and without k(y, y), (B, 2)."""
    bags = load_misr1(path, varying_only=True)
    return bags, np.column_stack(
        [squared_norms(bags, KERNEL, unbiased=unbiased) for unbiased in (False, True)]
    )
