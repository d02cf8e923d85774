"""Every method on real data, none of which knows the truth: where neighbors help, and where they do not."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stbmta import __version__
from stbmta.theory._table import format_table

from ..cases import CASES, KERNELS, load_case, load_cases
from ..heldout import compare, ratio_of_means
from ..runner import Arrays, Part, Scale, Store, generator, run_parts

__all__ = ["RealData", "run"]

Array = npt.NDArray[np.float64]

_STEP = 4  # trials in a part
_FULL = 5  # times the draws of a case


@dataclass(frozen=True, slots=True, kw_only=True)
class RealData:
    """Squared errors on real data.

    Attributes
    ----------
    errors : mapping of (data set, what) to mapping of method to ndarray of shape (trials,)
        What is "means" or "kernel mean embeddings".
    shapes : mapping of str to tuple of int
        Of each data set: number of bags, points in a bag, dimension.
    notes : str
        Which data sets could not be loaded, and why.
    seconds : float
        Of all processes together.
    """

    errors: Mapping[tuple[str, str], Mapping[str, Array]]
    shapes: Mapping[str, tuple[int, int, int]]
    notes: str
    seconds: float

    def ratio(self, dataset: str, what: str, method: str) -> tuple[float, float]:
        """Return the error of a method over that of the naive means, and its standard error.

        Returns
        -------
        ratio, standard_error : float
            The ratio is below 1 where the method is better than the naive means.
        """
        errors = self.errors[dataset, what]
        return ratio_of_means(errors[method], errors["NE"])

    def to_frame(self) -> Any:
        """Return ratios and standard errors as a pandas data frame, one row a data set, kernel and method.

        Returns
        -------
        pandas.DataFrame
            With the shape of the data and the number of draws.
        """
        import pandas as pd

        rows = []
        for (dataset, what), errors in self.errors.items():
            for method in errors:
                ratio, error = self.ratio(dataset, what, method)
                bags, size, dim = self.shapes[dataset]
                rows.append(
                    {
                        "dataset": dataset,
                        "what": what,
                        "bags": bags,
                        "bag_size": size,
                        "dim": dim,
                        "draws": len(errors[method]),
                        "method": method,
                        "ratio": ratio,
                        "standard_error": error,
                    }
                )
        return pd.DataFrame(rows)

    def summary(self, width: int | None = None) -> str:
        """Return a table for the means and one for the embeddings, in lines of so many characters where given.

        Returns
        -------
        str
            Errors are in percent of that of the naive means.
        """
        lines = [
            "Squared error, naive mean = 100, +- standard error over draws of small bags.",
            "The truth is the mean of each whole group; parameters were chosen without it.",
        ]
        for what in KERNELS:
            names = [dataset for dataset, kind in self.errors if kind == what]
            if not names:
                continue
            columns: dict[str, list[Any]] = {
                "data": names,
                "bags x size, dim": ["{} x {}, {}".format(*self.shapes[name]) for name in names],
                "draws": [str(len(self.errors[name, what]["NE"])) for name in names],
            }
            for method in list(self.errors[names[0], what])[1:]:
                cells = [self.ratio(name, what, method) for name in names]
                columns[method] = [f"{100 * ratio:.1f}+-{100 * error:.1f}" for ratio, error in cells]
            lines += ["", what, format_table(columns, width)]
        return "\n".join([*lines, *([self.notes] if self.notes else [])])


def run(
    folder: str | os.PathLike[str],
    *,
    scale: Scale = "default",
    seed: int = 0,
    n_trials: int | None = None,
    datasets: Sequence[str] | None = None,
    resume: bool = False,
    jobs: int | None = None,
) -> RealData:
    """Compare all methods on real data.

    Parameters
    ----------
    folder : path-like
        Where the parts are kept.
    scale : {"quick", "default", "full"}
        4 draws of small bags, as many as the case has, or five times as many.
    seed : int, default=0
        Seed of the random draws.
    n_trials : int, optional
        In place of those of the scale, at least 2.
    datasets : sequence of str, optional
        Out of :data:`stbmta.validation.cases.CASES`; all that can be loaded by default, and the summary says which
        cannot. One that is named must be there.
    resume : bool, default=False
        Go on with what the folder holds.
    jobs : int, optional
        Number of processes; as many as cores by default. It does not change the result.

    Returns
    -------
    RealData
        Errors of every method in every draw.

    Examples
    --------
    >>> found = run("real", datasets=["elnino"], n_trials=2, jobs=1)
    >>> found.shapes
    {'elnino': (12, 10, 1)}
    """
    groups, notes = load_cases(datasets)
    counts = {name: _draws(name, scale) if n_trials is None else n_trials for name in groups}
    store = Store(
        folder,
        {
            "experiment": "real",
            "version": __version__,
            "seed": seed,
            "datasets": sorted(counts),
            "trials": counts,
        },
        resume=resume,
    )
    cells = [(name, what) for name in groups for what in KERNELS]
    parts = [
        Part(
            name=f"{name}-{what}-{first:03d}".replace(" ", "-"),
            work=trials_part,
            arguments=(name, what, seed, first, min(first + _STEP, counts[name])),
        )
        for name, what in cells
        for first in range(0, counts[name], _STEP)
    ]
    found = run_parts(store, parts, what="real data", jobs=jobs)
    errors = {}
    for cell in cells:
        mine = [arrays for part, arrays in zip(parts, found, strict=True) if part.arguments[:2] == cell]
        errors[cell] = {
            key: np.concatenate([part[key] for part in mine]) for key in mine[0] if key != "seconds"
        }
    return RealData(
        errors=errors,
        shapes={name: (len(bags), CASES[name].bag_size, bags.dim) for name, bags in groups.items()},
        notes=notes,
        seconds=float(sum(part["seconds"] for part in found)),
    )


def trials_part(name: str, what: str, seed: int, first: int, last: int) -> Arrays:
    """Return the errors of every method in some trials."""
    rng = generator(seed, "real", name, what, first)
    found = compare(
        load_case(name),
        CASES[name].bag_size,
        KERNELS[what],
        n_trials=last - first,
        overall=True,
        beyond=True,
        rng=rng,
    )
    return dict(found.errors)


def _draws(name: str, scale: Scale) -> int:
    return 4 if scale == "quick" else CASES[name].draws * (_FULL if scale == "full" else 1)
