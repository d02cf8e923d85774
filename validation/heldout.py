"""How much each method helps on data whose means are known well: large groups, small bags drawn from them.

The truth of a bag is the mean (or the mean embedding) of its whole group. Small bags are drawn from the
groups without replacement, every method estimates from them alone, with parameters chosen without looking
at the truth, and the squared errors are compared with that of the naive means.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stbmta.adaptive import Adaptive
from stbmta.bags import RNG, Bags
from stbmta.estimators import MTA, RKMSE, STB, JamesStein, NaiveMean
from stbmta.estimators_beyond import ConvexAggregation, SpectralShrinkage, WaterFilling
from stbmta.kernels import Kernel, Linear, as_kernel
from stbmta.statistics import cross_statistics
from stbmta.truth import Truth, squared_error, squared_norms

__all__ = ["ADAPTIVE", "OVERALL", "HeldOut", "beyond_the_paper", "compare", "methods", "ratio_of_means"]

Array = npt.NDArray[np.float64]


OVERALL = "all averaged"
"""The average of all bags, for each bag: the best one can do where all means are the same."""

ADAPTIVE = "Adaptive"


def methods(
    kernel: Kernel | str, seed: int, *, overall: bool = False, beyond: bool = False
) -> dict[str, Any]:
    """Return an estimator for each method of the paper, none of which knows the truth.

    James-Stein needs vectors, so it is left out for other kernels than the linear one.

    Parameters
    ----------
    kernel : Kernel or str
        The kernel of the embeddings; "linear" for the means of the points themselves.
    seed : int
        Of the folds that choose parameters.
    overall : bool, default=False
        Also average all bags, for comparison.
    beyond : bool, default=False
        Also those that go beyond the paper.

    Returns
    -------
    dict of str to Any
        Estimators that are not fitted yet, by the name of the method.

    Examples
    --------
    >>> list(methods("rbf", 0))
    ['NE', 'R-KMSE', 'MTA const', 'MTA stb', 'STB-0', 'STB theory', 'STB weight']
    """
    kernel = as_kernel(kernel)
    found: dict[str, Any] = {"NE": NaiveMean(kernel), "R-KMSE": RKMSE(kernel)}
    if isinstance(kernel, Linear):
        found["James-Stein"] = JamesStein()
    return found | {
        "MTA const": MTA(kernel),
        "MTA stb": MTA(kernel, similarity="stb", random_state=seed),
        "STB-0": STB(kernel, gamma=0.0, random_state=seed),
        "STB theory": STB(kernel, gamma="theory", c=None, random_state=seed),
        "STB weight": STB(kernel, random_state=seed),
        **({OVERALL: STB(kernel, zeta=np.inf, gamma=0.0)} if overall else {}),
        **(beyond_the_paper(kernel, seed) if beyond else {}),
    }


def beyond_the_paper(kernel: Kernel, seed: int) -> dict[str, Any]:
    """Return an estimator for each method that goes beyond the paper, the combination of all last.

    Returns
    -------
    dict of str to Any
        Estimators that are not fitted yet, by the name of the method.

    Examples
    --------
    >>> list(beyond_the_paper(Linear(), 0))
    ['water-filling', 'aggregation', 'spectral', 'Adaptive']
    """
    return {
        "water-filling": WaterFilling(kernel, random_state=seed),
        "aggregation": ConvexAggregation(kernel),
        "spectral": SpectralShrinkage(kernel, random_state=seed),
        ADAPTIVE: Adaptive(kernel, random_state=seed),
    }


def ratio_of_means(error: Array, naive: Array) -> tuple[float, float]:
    """Return the ratio of the averages over paired trials, and its standard error (delta method).

    Parameters
    ----------
    error, naive : ndarray of shape (trials,)
        At least two trials.

    Returns
    -------
    ratio, standard_error : float
        The ratio is below 1 where the errors are smaller than the naive ones on average.

    Examples
    --------
    >>> ratio_of_means(np.array([1.0, 2.0]), np.array([2.0, 4.0]))
    (0.5, 0.0)
    """
    ratio = error.mean() / naive.mean()
    rest = error - ratio * naive
    return float(ratio), float(rest.std(ddof=1) / np.sqrt(len(rest)) / naive.mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """Squared errors of the methods, averaged over bags, trial by trial.

    Attributes
    ----------
    errors : mapping of str to ndarray of shape (trials,)
    bag_size, n_bags : int
    kernel : Kernel
    """

    errors: Mapping[str, Array]
    bag_size: int
    n_bags: int
    kernel: Kernel

    def ratio(self, method: str) -> tuple[float, float]:
        """Return the error of a method over that of the naive means, and its standard error.

        See :func:`ratio_of_means`.

        Returns
        -------
        ratio, standard_error : float
            The ratio is below 1 where the method is better than the naive means.
        """
        return ratio_of_means(self.errors[method], self.errors["NE"])

    def to_frame(self) -> Any:
        """Return error, ratio and standard error of each method as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            One row a method; the error is the average over trials.
        """
        import pandas as pd

        rows = {
            name: {
                "error": float(values.mean()),
                "ratio": self.ratio(name)[0],
                "standard_error": self.ratio(name)[1],
            }
            for name, values in self.errors.items()
        }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")


def compare(
    groups: Bags,
    bag_size: int,
    kernel: Kernel | str = "linear",
    *,
    n_trials: int = 20,
    overall: bool = False,
    beyond: bool = False,
    rng: RNG = None,
    progress: Callable[[], None] = lambda: None,
) -> HeldOut:
    """Compare all methods on small bags drawn from large groups.

    Parameters
    ----------
    groups : Bags
        The groups, whole; their means are the truth.
    bag_size : int
        Points drawn from each group, fewer than it has.
    kernel : Kernel or str
        A bandwidth that is chosen from data is chosen once, from the whole groups.
    n_trials : int, default=20
        At least 2.
    overall, beyond : bool, default=False
        As for :func:`methods`.
    rng : {None, int, numpy.random.Generator}, optional
        Draws the small bags, and the seeds of the methods.
    progress : callable, optional
        Called after each trial.

    Returns
    -------
    HeldOut
        Errors of all methods on the same small bags.

    Examples
    --------
    >>> from stbmta import datasets
    >>> found = compare(datasets.load_fair().drop_small(100), 20, n_trials=2, rng=0)
    >>> found.ratio("STB weight")[0] < 0.9
    True
    """
    # All points of a group would meet their own mean: no error is left to compare with.
    groups.require_size(bag_size + 1, f"drawing {bag_size} of its points, and others to judge by,")
    kernel = as_kernel(kernel).resolve(groups)
    norms = squared_norms(groups, kernel)
    errors: dict[str, list[float]] = {}
    generator = np.random.default_rng(rng)
    for _ in range(n_trials):
        bags = groups.subsample(bag_size, generator)
        truth = Truth(cross=cross_statistics(bags, groups, kernel), norms=norms)
        seed = int(generator.integers(2**31))
        for name, estimator in methods(kernel, seed, overall=overall, beyond=beyond).items():
            estimator.fit(bags)
            error = squared_error(estimator.weights_, estimator.statistics_, truth).mean()
            errors.setdefault(name, []).append(float(error))
        progress()
    return HeldOut(
        errors={name: np.array(values) for name, values in errors.items()},
        bag_size=bag_size,
        n_bags=len(groups),
        kernel=kernel,
    )
