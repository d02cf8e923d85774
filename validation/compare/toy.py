"""The toy settings: parameters chosen without the truth against the oracle's, and bags of unequal size."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from stbmta import __version__
from stbmta.adaptive import Adaptive
from stbmta.estimators import MTA, STB
from stbmta.estimators_beyond import ConvexAggregation, SpectralShrinkage, WaterFilling
from stbmta.grid import neighbor_paths
from stbmta.truth import squared_error

from ..heldout import ratio_of_means
from ..reproduce.published import CLIPPED, TOY, TOY_BY_SIZE, TOY_METHODS
from ..reproduce.toy_trials import GAMMAS, KERNEL, SETTINGS, ZETAS, Setting, draw
from ..runner import Arrays, Part, Store, generator, run_parts
from .methods import ADAPTIVE
from .outcome import Check, Comparison, Measured

__all__ = ["run", "run_sizes"]

Array = npt.NDArray[np.float64]

KFOLD = "STB weight, K-fold"
ORACLE = "STB weight, oracle"
# What the oracle chooses in setting (c), and what MTA stb gains there with large bags.
_STB_UNEQUAL = (1.5, 0.1)
_LARGE = {size: TOY_BY_SIZE[size][TOY_METHODS.index("MTA stb")] for size in (200, 250, 300)}


def run(
    folder: str | os.PathLike[str],
    *,
    n_trials: int = 40,
    seed: int = 0,
    points: tuple[tuple[str, float], ...] | None = None,
    resume: bool = False,
    jobs: int | None = None,
) -> Comparison:
    """Compare choices without the truth with the oracle's in settings (a), (b) and (d).

    Parameters
    ----------
    folder : path-like
        Where the parts are kept.
    n_trials : int, default=40
        At least 2. The oracle chooses on the same trials.
    seed : int, default=0
        Seed of the random draws.
    points : sequence of (str, float), optional
        Figures and values; by default all that have a reference figure.
    resume : bool, default=False
        Go on with what the folder holds.
    jobs : int, optional
        Number of processes; as many as cores by default. It does not change the result.

    Returns
    -------
    Comparison
        Decreases in percent; two checks a setting, of K-fold and of Adaptive.

    Examples
    --------
    >>> found = run("toy", n_trials=2, points=(("b", 10),), jobs=1)
    >>> [check.name for check in found.checks]
    ['b-10, oracle less K-fold', 'b-10, Adaptive']
    """
    wanted = [key for key in TOY if key[0] != "c"] if points is None else list(points)
    settings = [setting for setting in SETTINGS if (setting.figure, setting.value) in wanted]
    found = _trials(folder, "compare-toy", settings, n_trials, seed, resume, jobs)
    names = [name for name in found[0] if name not in ("seconds", "NE", "surface")]
    table: dict[str, list[Any]] = {"setting": [], **{name: [] for name in (ORACLE, *names)}}
    checks = []
    for k, setting in enumerate(settings):
        mine = found[k * n_trials : (k + 1) * n_trials]
        errors = {name: np.array([part[name].mean() for part in mine]) for name in (*names, "NE")}
        surface = np.array([part["surface"] for part in mine])
        best = int(np.argmin(surface.mean(axis=0).ravel()))
        errors[ORACLE] = surface.reshape(n_trials, -1)[:, best]
        gains = {name: _gain(errors[name], errors["NE"]) for name in (ORACLE, *names)}
        table["setting"].append(setting.name)
        for name, gained in gains.items():
            table[name].append(Measured(*gained))
        lost, lost_error = _gain(errors[ORACLE] - errors[KFOLD], -errors["NE"], less_one=False)
        key = (setting.figure, setting.value)
        # A clipped reference hides part of the decrease: there the oracle of this run takes its place.
        reference = gains[ORACLE][0] if key in CLIPPED else max(gain for gain, _ in TOY[key])
        gain, error = gains[ADAPTIVE]
        checks += [
            Check(
                name=f"{setting.name}, oracle less K-fold", found=lost, standard_error=lost_error, most=2.5
            ),
            Check(name=f"{setting.name}, {ADAPTIVE}", found=gain, standard_error=error, least=reference - 1),
        ]
    return Comparison(
        title=f"Decrease of the squared error in percent, {n_trials} trials",
        table=table,
        checks=tuple(checks),
        seconds=float(sum(part["seconds"] for part in found)),
    )


def run_sizes(
    folder: str | os.PathLike[str],
    *,
    n_trials: int = 100,
    seed: int = 0,
    resume: bool = False,
    jobs: int | None = None,
) -> Comparison:
    """Compare methods in setting (c), bags of unequal size, by size.

    Parameters
    ----------
    folder : path-like
        Where the parts are kept.
    n_trials : int, default=100
        At least 2.
    seed : int, default=0
        Seed of the random draws.
    resume : bool, default=False
        Go on with what the folder holds.
    jobs : int, optional
        Number of processes; as many as cores by default. It does not change the result.

    Returns
    -------
    Comparison
        Decreases in percent; for each size a check of Adaptive, up to 100 points also one against STB.

    Examples
    --------
    >>> found = run_sizes("sizes", n_trials=2, jobs=1)
    >>> found.checks[0].name
    'N = 10, gain'
    """
    (setting,) = (setting for setting in SETTINGS if setting.figure == "c")
    found = _trials(folder, "compare-sizes", [setting], n_trials, seed, resume, jobs)
    names = [name for name in found[0] if name not in ("seconds", "NE", "surface")]
    sizes = np.array(setting.sizes)
    table: dict[str, list[Any]] = {"N": [], **{name: [] for name in names}}
    checks = []
    for size in np.unique(sizes).tolist():
        errors = _of_size(found, sizes == size, (*names, "NE"))
        gains = {name: _gain(errors[name], errors["NE"]) for name in names}
        table["N"].append(size)
        for name, gained in gains.items():
            table[name].append(Measured(*gained))
        gain, error = gains[ADAPTIVE]
        least = _LARGE.get(size, 0.0)
        checks.append(Check(name=f"N = {size}, gain", found=gain, standard_error=error, least=least))
        if size <= 100:
            more, more_error = _gain(errors[ADAPTIVE] - errors[ORACLE], -errors["NE"], less_one=False)
            checks.append(
                Check(name=f"N = {size}, more than STB", found=more, standard_error=more_error, least=0.0)
            )
    return Comparison(
        title=f"Setting (c): decrease of the squared error in percent by bag size, {n_trials} trials",
        table=table,
        checks=tuple(checks),
        seconds=float(sum(part["seconds"] for part in found)),
    )


def _trials(
    folder: str | os.PathLike[str],
    name: str,
    settings: list[Setting],
    n_trials: int,
    seed: int,
    resume: bool,
    jobs: int | None,
) -> list[Arrays]:
    kept = {
        "experiment": name,
        "version": __version__,
        "seed": seed,
        "trials": n_trials,
        "settings": [s.name for s in settings],
    }
    store = Store(folder, kept, resume=resume)
    parts = [
        Part(name=f"{setting.name}-{trial:03d}", work=trial_errors, arguments=(setting, seed, trial))
        for setting in settings
        for trial in range(n_trials)
    ]
    return run_parts(store, parts, what="toy settings", jobs=jobs)


def trial_errors(setting: Setting, seed: int, trial: int) -> Arrays:
    """Return the squared error of each bag by each method, and the average over the grid of STB weight."""
    rng = generator(seed, "compare-toy", setting.name, trial)
    bags, s, truth = draw(setting, rng, False)
    random = int(rng.integers(2**31))
    unequal = setting.figure == "c"
    estimators = {
        "MTA const": MTA(KERNEL),
        KFOLD: STB(KERNEL, random_state=random),
        **({ORACLE: STB(KERNEL, *_STB_UNEQUAL)} if unequal else {}),
        "water-filling": WaterFilling(KERNEL, random_state=random),
        "aggregation": ConvexAggregation(KERNEL),
        "spectral": SpectralShrinkage(KERNEL, random_state=random),
        ADAPTIVE: Adaptive(KERNEL, random_state=random),
    }
    errors = {"NE": squared_error(np.eye(len(s)), s, truth)}
    for name, estimator in estimators.items():
        errors[name] = squared_error(estimator.fit(bags).weights_, s, truth)
    if not unequal:
        errors["surface"] = neighbor_paths(s, truth, ZETAS).weight(GAMMAS).errors
    return errors


def _of_size(
    found: list[Arrays], chosen: npt.NDArray[np.bool_], names: tuple[str, ...]
) -> Mapping[str, Array]:
    return {name: np.array([part[name][chosen].mean() for part in found]) for name in names}


def _gain(error: Array, naive: Array, *, less_one: bool = True) -> tuple[float, float]:
    """Return the decrease in percent and its standard error; of a difference of errors without the 1."""
    ratio, spread = ratio_of_means(error, naive)
    return 100 * ((1 - ratio) if less_one else ratio), 100 * abs(spread)
