"""The Gaussian table without an oracle: every method chooses its parameters by itself."""

import os
from typing import Any

import numpy as np

from stbmta import __version__, datasets
from stbmta.truth import known_means, squared_error

from ..heldout import ratio_of_means
from ..runner import Arrays, Part, Store, generator, run_parts
from .methods import ADAPTIVE, known_variance
from .outcome import Check, Comparison, Measured

__all__ = ["TARGETS", "run"]

TARGETS = {"UNIF": 0.975, "CLUSTER": 0.978, "SPHERE": 0.985, "SPARSE": 0.55}
"""What Adaptive must reach; the paper's best, with an oracle: .813, .980, .898, .443."""


def run(
    folder: str | os.PathLike[str],
    *,
    n_trials: int = 20,
    seed: int = 0,
    n_bags: int = 2000,
    resume: bool = False,
    jobs: int | None = None,
) -> Comparison:
    """Run the comparison.

    Parameters
    ----------
    folder : path-like
        Where the parts are kept.
    n_trials : int, default=20
        At least 2.
    seed : int, default=0
        Seed of the random draws.
    n_bags : int, default=2000
        The targets are for 2000.
    resume : bool, default=False
        Go on with what the folder holds.
    jobs : int, optional
        Number of processes; as many as cores by default. It does not change the result.

    Returns
    -------
    Comparison
        Decreases as fractions of the naive error; one check a model.

    Examples
    --------
    >>> found = run("gauss", n_trials=2, n_bags=40, jobs=1)
    >>> len(found.checks)
    4
    """
    settings = {
        "experiment": "compare-gaussian",
        "version": __version__,
        "seed": seed,
        "trials": n_trials,
        "bags": n_bags,
    }
    store = Store(folder, settings, resume=resume)
    parts = [
        Part(name=f"{model.lower()}-{trial:03d}", work=trial_errors, arguments=(model, n_bags, seed, trial))
        for model in TARGETS
        for trial in range(n_trials)
    ]
    found = run_parts(store, parts, what="Gaussian table", jobs=jobs)
    names = [name for name in found[0] if name not in ("seconds", "NE")]
    table: dict[str, list[Any]] = {"method": names}
    checks = []
    for k, (model, target) in enumerate(TARGETS.items()):
        mine = found[k * n_trials : (k + 1) * n_trials]
        ratios = {
            name: ratio_of_means(*(np.array([p[m] for p in mine]) for m in (name, "NE"))) for name in names
        }
        table[model] = [Measured(1 - ratio, error) for ratio, error in ratios.values()]
        ratio, error = ratios[ADAPTIVE]
        checks.append(Check(name=f"{model}, {ADAPTIVE}", found=1 - ratio, standard_error=error, least=target))
    return Comparison(
        title=f"Decrease of the squared error, {n_bags} bags of one point, {n_trials} trials, no oracle",
        table=table,
        digits=4,
        checks=tuple(checks),
        seconds=float(sum(part["seconds"] for part in found)),
    )


def trial_errors(model: str, n_bags: int, seed: int, trial: int) -> Arrays:
    """Return the average squared error of each method in one trial."""
    rng = generator(seed, "compare-gaussian", model, trial)
    sample = getattr(datasets, model.lower())(n_bags, rng=rng)
    truth = known_means(sample.means)
    errors = {}
    for name, estimator in known_variance(1.0, int(rng.integers(2**31))).items():
        estimator.fit(sample.bags)
        errors[name] = squared_error(estimator.weights_, estimator.statistics_, truth).mean()
    return {name: np.asarray(value) for name, value in errors.items()}
