"""The paper's table in the Gaussian setting, and beside it what can be had without knowing the truth.

One observation a bag, noise of variance 1. Paper's tuning: the threshold is the one with the smallest error of
STB-0 in each trial; the other parameters are those with the smallest error averaged over trials. Without an
oracle: the threshold and the shrinkage are chosen in each trial by fission (:mod:`stbmta.fission`), and MTA
const needs no choice.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stbmta import __version__, datasets, weights
from stbmta.fission import FissionTuning, choose_stb, fission
from stbmta.grid import neighbor_paths
from stbmta.grid_mta import mta_stb_grid
from stbmta.similarity import known_mse
from stbmta.statistics import BagStatistics, bag_statistics
from stbmta.truth import known_means, squared_error

from ..runner import Arrays, Part, Scale, Store, generator, run_parts
from .published import GAUSSIAN, GAUSSIAN_METHODS

__all__ = ["READINGS", "GaussianTable", "run"]

Array = npt.NDArray[np.float64]

MODELS: dict[str, tuple[str, dict[str, Any]]] = {name: (name.lower(), {}) for name in GAUSSIAN}
READINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "CLUSTER, variance 0.1": ("cluster", {"spread": float(np.sqrt(0.1))}),
    "CLUSTER, 10 centers": ("cluster", {"n_clusters": 10}),
}
"""What the paper's text says about CLUSTER, where its table needs standard deviation 0.1 and 20 centers."""

TRIALS: dict[Scale, int] = {"quick": 2, "default": 20, "full": 100}

# The grids of the authors' scripts: zeta, c of (1 - c) X + c mean, c of (I + c Laplacian)^-1, and gamma (in STB
# theory c * zeta).
ZETAS = np.round(np.arange(2, 4.01, 0.1), 10)
CONSTANTS = np.round(np.arange(0, 1.01, 0.05), 10)
PULLS = np.round(np.arange(0, 0.201, 0.01), 10)
GAMMAS = np.round(np.arange(0, 0.301, 0.015), 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianTable:
    """Decrease of the squared error against the naive means, as a fraction of their expected error.

    Attributes
    ----------
    models : tuple of str
    found, standard_errors : ndarray of shape (models, 6)
        With the paper's tuning, columns of :data:`stbmta.validation.reproduce.published.GAUSSIAN_METHODS`.
    free, free_standard_errors : ndarray of shape (models, 6)
        Without an oracle. PPJS has nothing to choose.
    excess : ndarray of shape (models, 2)
        The average chosen zeta - 2: with the oracle, and without for STB weight.
    n_trials, n_bags : int
    seconds : float
        Of all processes together.
    """

    models: tuple[str, ...]
    found: Array
    standard_errors: Array
    free: Array
    free_standard_errors: Array
    excess: Array
    n_trials: int
    n_bags: int
    seconds: float

    def differences(self) -> Array:
        """Return found less paper, (models, 6).

        Returns
        -------
        ndarray of shape (models, 6)
            Positive where the decrease is larger than the paper's.
        """
        return self.found - np.array([_published(model) for model in self.models])

    def to_frame(self) -> Any:
        """Return a pandas data frame, indexed by model and row, one column a method.

        Returns
        -------
        pandas.DataFrame
            Six rows a model: decreases as fractions, standard errors, and the difference to the paper.
        """
        import pandas as pd

        rows = {}
        for m, model in enumerate(self.models):
            rows[model, "paper"] = _published(model)
            rows[model, "paper's tuning"] = self.found[m]
            rows[model, "standard error"] = self.standard_errors[m]
            rows[model, "difference"] = self.differences()[m]
            rows[model, "no oracle"] = self.free[m]
            rows[model, "its standard error"] = self.free_standard_errors[m]
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=list(GAUSSIAN_METHODS))
        frame.index = pd.MultiIndex.from_tuples(rows, names=["model", "row"])
        return frame

    def summary(self, width: int | None = None) -> str:
        """Return the table as text, in lines of so many characters where given, and the largest difference.

        Returns
        -------
        str
            Decreases are fractions of the naive error.
        """
        short = {"paper's tuning": "its tuning", "standard error": "+-", "its standard error": "+-"}
        frame = self.to_frame().rename(index=short)
        return "\n".join(
            [
                f"Decrease of the error +- standard error, {self.n_bags} bags of one point, {self.n_trials} trials",
                frame.to_string(float_format=lambda x: f"{x:.4f}", line_width=width),
                f"largest difference to the paper: {np.abs(self.differences()).max():.4f}",
            ]
        )


def run(
    folder: str | os.PathLike[str],
    *,
    scale: Scale = "default",
    seed: int = 0,
    readings: bool = False,
    n_trials: int | None = None,
    n_bags: int = 2000,
    resume: bool = False,
    jobs: int | None = None,
) -> GaussianTable:
    """Run the experiment.

    Parameters
    ----------
    folder : path-like
        Where the parts are kept.
    scale : {"quick", "default", "full"}
        2, 20 (the paper's) or 100 trials.
    seed : int, default=0
        Seed of the random draws.
    readings : bool, default=False
        Run other readings of the paper's text instead of the four models.
    n_trials : int, optional
        In place of those of the scale, at least 2.
    n_bags : int, default=2000
        The paper's numbers are for 2000.
    resume : bool, default=False
        Go on with what the folder holds.
    jobs : int, optional
        Number of processes; as many as cores by default. It does not change the result.

    Returns
    -------
    GaussianTable
        Averages over the trials, with the paper's tuning and without an oracle.

    Examples
    --------
    >>> table = run("gauss", n_trials=2, n_bags=50, jobs=1)
    >>> table.found.shape, table.models
    ((4, 6), ('UNIF', 'CLUSTER', 'SPHERE', 'SPARSE'))
    """
    count = TRIALS[scale] if n_trials is None else n_trials
    models = READINGS if readings else MODELS
    store = Store(
        folder,
        {
            "experiment": "gaussian-table",
            "version": __version__,
            "seed": seed,
            "readings": readings,
            "trials": count,
            "bags": n_bags,
        },
        resume=resume,
    )
    parts = [
        Part(name=f"{_slug(model)}-{trial:03d}", work=trial_errors, arguments=(model, n_bags, seed, trial))
        for model in models
        for trial in range(count)
    ]
    found = run_parts(store, parts, what="Gaussian table", jobs=jobs)
    by_model = {
        model: {key: np.array([part[key] for part in found[k * count : (k + 1) * count]]) for key in found[0]}
        for k, model in enumerate(models)
    }
    return _collect(by_model, count, n_bags)


def trial_errors(model: str, n_bags: int, seed: int, trial: int) -> Arrays:
    """Return the errors of one trial over all grids, over the expected error of the naive means."""
    name, arguments = (MODELS | READINGS)[model]
    rng = generator(seed, "gaussian-table", model, trial)
    sample = getattr(datasets, name)(n_bags, rng=rng, **arguments)
    s, truth = bag_statistics(sample.bags), known_means(sample.means)
    strengths = PULLS * n_bags / s.dim
    paths = neighbor_paths(s, truth, np.append(ZETAS, np.inf), variance=1.0)
    zero = paths.weight([0.0]).errors[:-1, 0]
    z = int(np.argmin(zero))
    pulls = mta_stb_grid(s, truth, [ZETAS[z]], strengths, variance=1.0)
    free = _choose_free(s, strengths, rng)
    f0, f1, f2 = (int(np.flatnonzero(chosen.zeta == paths.zetas)[0]) for chosen in free.stb)
    if free.stb[0].zeta == ZETAS[z]:
        pulled = pulls.errors[0, free.strength]
    else:
        pulled = mta_stb_grid(s, truth, [free.stb[0].zeta], strengths[[free.strength]], variance=1.0).errors[
            0, 0
        ]
    constant = weights.mta_constant(s, mse=known_mse(s, 1.0))
    errors = {
        "PPJS": squared_error(weights.james_stein(s, variance=1.0), s, truth).mean(),
        "MTA const": paths.weight(1 - CONSTANTS).errors[-1],  # everybody is a neighbor: (1 - c) X + c mean
        "MTA stb": pulls.errors[0],
        "STB-0": zero,
        "STB theory": paths.theory(GAMMAS / ZETAS[z]).errors[z],
        "STB weight": paths.weight(GAMMAS).errors[z],
        "free": [
            squared_error(constant, s, truth).mean(),
            pulled,
            zero[f0],
            paths.theory([free.stb[1].shrinkage]).errors[f1, 0],
            paths.weight([free.stb[2].shrinkage]).errors[f2, 0],
        ],
    }
    return {key: np.asarray(value) / s.dim for key, value in errors.items()} | {
        "excess": np.array([ZETAS[z] - 2, free.stb[2].zeta - 2])
    }


class _Free(NamedTuple):
    """Parameters chosen without the truth: of STB-0, STB theory and STB weight, and the place of MTA stb's."""

    stb: tuple[FissionTuning, FissionTuning, FissionTuning]
    strength: int


def _choose_free(s: BagStatistics, strengths: Array, rng: np.random.Generator) -> _Free:
    parts = fission(s, 1.0, rng=rng)
    scores = neighbor_paths(parts.statistics, parts.truth, ZETAS, variance=parts.variance)
    zero = choose_stb([scores], gamma=0.0)
    # The pull gamma * error / B stays, while the error has grown.
    pulls = mta_stb_grid(
        parts.statistics, parts.truth, [zero.zeta], strengths / parts.variance, variance=parts.variance
    )
    return _Free(
        (zero, choose_stb([scores], gamma="theory"), choose_stb([scores])), int(np.argmin(pulls.errors[0]))
    )


def _collect(by_model: Mapping[str, Mapping[str, Array]], count: int, n_bags: int) -> GaussianTable:
    found, errors, free, free_errors, excess = [], [], [], [], []
    for arrays in by_model.values():
        # The best of the averaged curve, and the spread of the trials there.
        columns = [arrays[method].reshape(count, -1) for method in GAUSSIAN_METHODS]
        best = [column[:, int(np.argmin(column.mean(axis=0)))] for column in columns]
        found.append([1 - values.mean() for values in best])
        errors.append([_standard_error(values) for values in best])
        chosen = [best[0], *arrays["free"].T]
        free.append([1 - values.mean() for values in chosen])
        free_errors.append([_standard_error(values) for values in chosen])
        excess.append(arrays["excess"].mean(axis=0))
    return GaussianTable(
        models=tuple(by_model),
        found=np.array(found),
        standard_errors=np.array(errors),
        free=np.array(free),
        free_standard_errors=np.array(free_errors),
        excess=np.array(excess),
        n_trials=count,
        n_bags=n_bags,
        seconds=float(sum(arrays["seconds"].sum() for arrays in by_model.values())),
    )


def _published(model: str) -> tuple[float, ...]:
    """Return the paper's row for a model, or for one that reads its text in another way."""
    return GAUSSIAN[model.partition(",")[0]]


def _standard_error(values: Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _slug(model: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in model.lower())
