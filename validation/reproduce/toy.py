"""The toy figures (a) to (d) of section 4.1, beside the figures of the authors' procedure re-run.

Parameters are those with the smallest error averaged over trials of their own, as in the paper. Beside them:
wider grids where the authors' ones end too early, and a choice by K-fold, which knows no truth.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stbmta import __version__
from stbmta.theory._table import format_table

from ..heldout import ratio_of_means
from ..runner import Arrays, Part, Scale, Store, run_parts
from .methods import Choice
from .published import CLIPPED, TOY, TOY_BY_BAG, TOY_BY_SIZE, TOY_METHODS
from .toy_trials import METHODS, PROXY_SIZE, SETTINGS, Setting, choose, final_part, model_part

__all__ = ["FIGURES", "Toy", "run"]

Array = npt.NDArray[np.float64]

TRIALS: dict[Scale, tuple[int, int]] = {"quick": (5, 10), "default": (20, 40), "full": (100, 200)}
"""Trials that choose parameters, and trials that are evaluated; the paper's are those of "full"."""

FIGURES = {
    "a": ("Different Bag Sizes", "bag size N"),
    "b": ("Different Number of Bags", "number of bags B"),
    "c": ("Imbalanced Bags", "bag size"),
    "d": ("Clustered Bags", "radius"),
}
"""Title of each figure, and what varies."""

# How many kernel values make a part: some seconds of work.
_WORK = 2e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Toy:
    """Decrease of the squared error against the naive embeddings, in percent.

    Attributes
    ----------
    settings : tuple of Setting
        The points of the figures.
    choices : mapping of str to Choice
        The chosen parameters, by the name of the setting.
    errors : mapping of str to ndarray of shape (trials, methods, distinct bag sizes)
        By the name of the setting, methods as in :data:`stbmta.validation.reproduce.toy_trials.METHODS`.
    proxy : bool
        Whether errors are against bags of 1000 points, clipped.
    n_trials : tuple of int
        To choose parameters, and to evaluate.
    seconds : float
        Of all processes together.
    """

    settings: tuple[Setting, ...]
    choices: Mapping[str, Choice]
    errors: Mapping[str, Array]
    proxy: bool
    n_trials: tuple[int, int]
    seconds: float

    def decrease(self, setting: Setting, method: str, size: int | None = None) -> tuple[float, float]:
        """Return the decrease in percent and its standard error, over all bags or those of one size.

        Returns
        -------
        decrease, standard_error : float
            In percent of the naive error; negative where the method is worse.
        """
        errors = self.errors[setting.name]
        sizes, counts = np.unique(setting.sizes, return_counts=True)
        share = counts / counts.sum() if size is None else (sizes == size).astype(np.float64)
        pooled = errors @ share
        ratio, spread = ratio_of_means(pooled[:, METHODS.index(method)], pooled[:, 0])
        return 100 * (1 - ratio), 100 * spread

    def score(self, setting: Setting, method: str) -> float:
        """Return the difference to the reference over the standard error of both.

        nan where there is no reference, or where it was clipped and this is not.

        Returns
        -------
        float
            Positive where the decrease is larger than that of the reference.
        """
        key = (setting.figure, setting.value)
        if key not in TOY or method not in TOY_METHODS or (key in CLIPPED and not self.proxy):
            return np.nan
        value, error = self.decrease(setting, method)
        reference, its_error = TOY[key][TOY_METHODS.index(method)]
        return (value - reference) / float(np.hypot(error, its_error))

    def to_frame(self) -> Any:
        """Return a pandas data frame, one row a setting and method; (c) also by bag size.

        Returns
        -------
        pandas.DataFrame
            Decreases in percent, chosen parameters, and the reference where there is one.
        """
        import pandas as pd

        return pd.DataFrame(list(self._rows()))

    def _rows(self) -> Iterator[dict[str, Any]]:
        for setting in self.settings:
            reference = TOY.get((setting.figure, setting.value))
            sizes: list[int | None] = [None]
            if setting.figure == "c":
                sizes += np.unique(setting.sizes).tolist()
            for size in sizes:
                for method in METHODS[1:]:
                    value, error = self.decrease(setting, method, size)
                    zeta, parameter = self.choices[setting.name].get(method, (np.nan, np.nan))
                    row: dict[str, Any] = {
                        "figure": setting.figure,
                        "value": setting.value,
                        "size": size,
                        "method": method,
                        "decrease": value,
                        "standard_error": error,
                        "zeta": zeta,
                        "parameter": parameter,
                    }
                    if size is None and reference is not None and method in TOY_METHODS:
                        row["reference"], row["reference_error"] = reference[TOY_METHODS.index(method)]
                        row["z"] = self.score(setting, method)
                    yield row

    def summary(self, width: int | None = None) -> str:
        """Return all figures as text, beside the reference, in lines of so many characters where given.

        Returns
        -------
        str
            Tables of all figures, then how many differences to the reference are large.
        """
        model, final = self.n_trials
        against = f"{PROXY_SIZE}-point bags, clipped" if self.proxy else "the exact embeddings"
        lines = [
            "Decrease of the squared error of kernel mean embeddings in percent,",
            f"against {against}; +- standard error.",
            f"{model} trials chose the parameters, {final} were evaluated. The paper shows pictures; the",
            "reference is its authors' procedure, re-run. In brackets: the difference to it",
            "over the standard error of both.",
        ]
        for figure, (title, x) in FIGURES.items():
            settings = [setting for setting in self.settings if setting.figure == figure]
            for names in (TOY_METHODS, METHODS[1 + len(TOY_METHODS) :]) if settings else ():
                rows = [row for setting in settings for row in self._cells(setting, names)]
                columns = dict(zip((x, *names), zip(*rows, strict=True), strict=True))
                lines += ["", f"({figure}) {title}", format_table(columns, width)]
            if figure == "c" and settings:
                lines += ["", *self._by_size(settings[0], width)]
        return "\n".join([*lines, "", *self._agreement()])

    def _cells(self, setting: Setting, names: Sequence[str]) -> Iterator[list[str]]:
        """Yield the line of a setting, and that of its reference."""
        yield [_label(setting), *(self._cell(setting, name) for name in names)]
        key = setting.figure, setting.value
        if key in TOY and names == TOY_METHODS:
            name = "reference, clipped" if key in CLIPPED and not self.proxy else "reference"
            yield [name, *(f"{value:.2f}+-{error:.2f}" for value, error in TOY[key])]

    def _cell(self, setting: Setting, method: str) -> str:
        value, error = self.decrease(setting, method)
        score = self.score(setting, method)
        return f"{value:.2f}+-{error:.2f}" + ("" if np.isnan(score) else f" ({score:+.1f})")

    def _by_size(self, setting: Setting, width: int | None) -> list[str]:
        sizes = np.unique(setting.sizes).tolist()
        columns: dict[str, list[str]] = {"bag size": [*map(str, sizes), "mean over bags"]}
        for k, method in enumerate(TOY_METHODS):
            columns[method] = cells = []
            for size in sizes:
                value, error = self.decrease(setting, method, size)
                known = f" ({TOY_BY_SIZE[size][k]:.1f})" if size in TOY_BY_SIZE else ""
                cells.append(f"{value:.1f}+-{error:.1f}{known}")
            average = np.mean([self.decrease(setting, method, size)[0] for size in setting.sizes])
            cells.append(f"{average:.1f} ({TOY_BY_BAG[k]:.1f})")
        return [
            "(c) by bag size; in brackets the reference, whose standard error is about 1",
            "up to 100 points, and 1 to 4.6 above",
            format_table(columns, width),
        ]

    def _agreement(self) -> list[str]:
        found = [self.score(setting, method) for setting in self.settings for method in TOY_METHODS]
        scores = np.abs([score for score in found if not np.isnan(score)])
        if len(scores) == 0:
            return []
        return [
            f"differences to the reference over their standard errors: {len(scores)} compared,",
            f"{(scores > 2).sum()} above 2, {(scores > 3).sum()} above 3, largest {scores.max():.2f}",
        ]


def run(
    folder: str | os.PathLike[str],
    *,
    scale: Scale = "default",
    seed: int = 0,
    proxy: bool = False,
    reference_only: bool | None = None,
    n_trials: tuple[int, int] | None = None,
    settings: Sequence[Setting] | None = None,
    resume: bool = False,
    jobs: int | None = None,
) -> Toy:
    """Run the experiment.

    Parameters
    ----------
    folder : path-like
        Where the parts are kept.
    scale : {"quick", "default", "full"}
        5 and 10, 20 and 40, or the paper's 100 and 200 trials.
    seed : int, default=0
        Seed of the random draws.
    proxy : bool, default=False
        Take bags of 1000 points for the truth and clip negative errors, as the paper does.
    reference_only : bool, optional
        Only the points for which there is a reference figure; by default in "quick".
    n_trials : tuple of two int, optional
        In place of those of the scale, at least 1 and 2.
    settings : sequence of Setting, optional
        Which points of the figures.
    resume : bool, default=False
        Go on with what the folder holds.
    jobs : int, optional
        Number of processes; as many as cores by default. It does not change the result.

    Returns
    -------
    Toy
        Errors of the trials that are evaluated, and the chosen parameters.

    Examples
    --------
    >>> found = run("toy", settings=SETTINGS[:1], n_trials=(2, 4), jobs=1)
    >>> found.decrease(SETTINGS[0], "STB-0")[0] > 50
    True
    """
    model, final = TRIALS[scale] if n_trials is None else n_trials
    few = scale == "quick" if reference_only is None else reference_only
    points = tuple(s for s in SETTINGS if s.known or not few) if settings is None else tuple(settings)
    store = Store(
        folder,
        {
            "experiment": "toy",
            "version": __version__,
            "seed": seed,
            "proxy": proxy,
            "trials": [model, final],
            "settings": [setting.name for setting in points],
        },
        resume=resume,
    )
    first = {s.name: _parts(s, "model", model_part, model, (proxy,), seed) for s in points}
    done = _run(store, first, "toy figures, choosing", jobs)
    choices = {name: choose(_total(parts)) for name, parts in done.items()}
    second = {s.name: _parts(s, "final", final_part, final, (proxy, choices[s.name]), seed) for s in points}
    evaluated = _run(store, second, "toy figures, evaluating", jobs)
    return Toy(
        settings=points,
        choices=choices,
        errors={
            name: np.concatenate([part["errors"] for part in parts]) for name, parts in evaluated.items()
        },
        proxy=proxy,
        n_trials=(model, final),
        seconds=float(sum(p["seconds"] for parts in (*done.values(), *evaluated.values()) for p in parts)),
    )


def _parts(
    setting: Setting, stage: str, work: Any, n_trials: int, arguments: tuple[Any, ...], seed: int
) -> list[Part]:
    points = sum(setting.sizes)
    # A model trial of 300 bags solves 533 systems; of 50 bags with 300 points it is mostly kernel values.
    cost = points**2 + 40 * len(setting.sizes) ** 3 + 2e7
    step = max(1, min(n_trials, int(_WORK / cost)))
    return [
        Part(
            name=f"{setting.name}-{stage}-{k:03d}",
            work=work,
            arguments=(setting, seed, k, min(k + step, n_trials), *arguments),
        )
        for k in range(0, n_trials, step)
    ]


def _run(
    store: Store, parts: Mapping[str, list[Part]], what: str, jobs: int | None
) -> dict[str, list[Arrays]]:
    flat = [part for group in parts.values() for part in group]
    found = iter(run_parts(store, flat, what=what, jobs=jobs))
    return {name: [next(found) for _ in group] for name, group in parts.items()}


def _total(parts: Sequence[Arrays]) -> Arrays:
    """Return the sums of the errors over all parts."""
    return {key: np.sum([part[key] for part in parts], axis=0) for key in parts[0] if key != "seconds"}


def _label(setting: Setting) -> str:
    return "pooled" if setting.figure == "c" else f"{setting.value:g}"
