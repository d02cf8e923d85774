"""Real data: is the combination within 3 % of the best single method, also where averaging does not help?"""

import os
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from stbmta import __version__
from stbmta.statistics import cross_statistics
from stbmta.truth import Truth, squared_error, squared_norms

from ..cases import CASES, KERNELS, load_case, load_cases
from ..heldout import ratio_of_means
from ..runner import Arrays, Part, Store, generator, run_parts
from .methods import ADAPTIVE, unknown_variance
from .outcome import Check, Comparison, Measured

__all__ = ["run"]


def run(
    folder: str | os.PathLike[str],
    *,
    n_trials: int = 40,
    seed: int = 0,
    datasets: Sequence[str] | None = None,
    resume: bool = False,
    jobs: int | None = None,
) -> Comparison:
    """Run the comparison on every data set that can be loaded.

    Parameters
    ----------
    folder : path-like
        Where the parts are kept.
    n_trials : int, default=40
        Draws of small bags, at least 2.
    seed : int, default=0
        Seed of the random draws.
    datasets : sequence of str, optional
        Out of :data:`stbmta.validation.cases.CASES`; all that can be loaded by default, and the summary says which
        cannot. One that is named must be there.
    resume : bool, default=False
        Go on with what the folder holds.
    jobs : int, optional
        Number of processes; as many as cores by default. It does not change the result.

    Returns
    -------
    Comparison
        Errors in percent of the naive one; one check for each data set and kernel.

    Examples
    --------
    >>> found = run("real", datasets=["elnino"], n_trials=2, jobs=1)
    >>> [check.name for check in found.checks]
    ['elnino, means', 'elnino, kernel mean embeddings']
    """
    groups, notes = load_cases(datasets)
    names = list(groups)
    cells = [(name, what) for name in names for what in KERNELS]
    store = Store(
        folder,
        {
            "experiment": "compare-real",
            "version": __version__,
            "seed": seed,
            "trials": n_trials,
            "datasets": names,
        },
        resume=resume,
    )
    parts = [
        Part(
            name=f"{name}-{what}-{trial:03d}".replace(" ", "-"),
            work=trial_errors,
            arguments=(name, what, seed, trial),
        )
        for name, what in cells
        for trial in range(n_trials)
    ]
    found = run_parts(store, parts, what="real data", jobs=jobs)
    methods = list(dict.fromkeys(name for part in found for name in part if name not in ("seconds", "NE")))
    table: dict[str, list[Any]] = {"data, what": [], **{name: [] for name in methods}}
    checks = []
    for k, (name, what) in enumerate(cells):
        mine = found[k * n_trials : (k + 1) * n_trials]
        errors = {m: np.array([part[m] for part in mine]) for m in (*methods, "NE") if m in mine[0]}
        table["data, what"].append(f"{name}, {what}")
        for method in methods:
            cell = ratio_of_means(errors[method], errors["NE"]) if method in errors else None
            table[method].append(None if cell is None else Measured(100 * cell[0], 100 * cell[1]))
        single = min((m for m in errors if m != ADAPTIVE), key=lambda m: errors[m].mean())
        ratio, error = ratio_of_means(errors[ADAPTIVE], errors[single])
        checks.append(Check(name=f"{name}, {what}", found=ratio, standard_error=error, most=1.03))
    return Comparison(
        title=f"Squared error, naive mean = 100, {n_trials} draws; checks: Adaptive over the best single method",
        table=table,
        checks=tuple(checks),
        notes=notes,
        seconds=float(sum(part["seconds"] for part in found)),
    )


def trial_errors(name: str, what: str, seed: int, trial: int) -> Arrays:
    """Return the average squared error of each method on one draw of small bags."""
    groups = load_case(name)
    kernel = KERNELS[what].resolve(groups)
    rng = generator(seed, "compare-real", name, what, trial)
    bags = groups.subsample(CASES[name].bag_size, rng)
    norms = _norms(name, what)
    errors = {}
    for method, estimator in unknown_variance(kernel, int(rng.integers(2**31))).items():
        embedding = estimator.fit(bags).embedding_
        truth = Truth(cross=cross_statistics(embedding.bags, groups, kernel), norms=norms)
        errors[method] = squared_error(estimator.weights_, embedding.statistics, truth).mean()
    return {method: np.asarray(value) for method, value in errors.items()}


@lru_cache(maxsize=4)
def _norms(name: str, what: str) -> np.ndarray:
    groups = load_case(name)
    return squared_norms(groups, KERNELS[what].resolve(groups))
