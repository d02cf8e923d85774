"""Real data with a truth: groups so large that small bags drawn from them can be judged by their means."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from stbmta import datasets
from stbmta.bags import Bags
from stbmta.kernels import RBF, Kernel, Linear

__all__ = ["CASES", "KERNELS", "Case", "load_case", "load_cases"]

KERNELS: dict[str, Kernel] = {"means": Linear(), "kernel mean embeddings": RBF("median")}
"""What is estimated."""


class Case(NamedTuple):
    """Real data, and what to do with them.

    Attributes
    ----------
    load : callable
        Loads the groups; all points of a group together are its truth.
    bag_size : int
        How many points are drawn from each group.
    what : str
        What points and groups are.
    draws : int
        How often small bags are drawn for the table; less often where there are many.
    """

    load: Callable[[], Bags]
    bag_size: int
    what: str
    draws: int = 40


CASES: dict[str, Case] = {
    "fair": Case(
        lambda: datasets.load_fair().drop_small(100), 20, "women by occupation and husband's occupation"
    ),
    "randhie": Case(
        lambda: datasets.load_randhie().drop_small(100), 10, "patients by plan, deductible and health"
    ),
    "digits": Case(datasets.load_digits_blocks, 5, "images of digits, each class cut into eight blocks"),
    "flights by month": Case(
        lambda: datasets.load_flights(["dest", "month"]).drop_small(300),
        10,
        "flights by destination and month",
        draws=12,
    ),
    "flights by destination": Case(
        lambda: datasets.load_flights("dest").drop_small(200), 10, "flights by destination"
    ),
    # Where looking for neighbors cannot help much: one cluster, one dimension, nobody near.
    "flights by aircraft": Case(
        lambda: datasets.load_flights("tailnum", columns=["dep_delay", "arr_delay"]).drop_small(200),
        10,
        "delays of flights by aircraft: one cluster",
        draws=8,
    ),
    "elnino": Case(datasets.load_elnino, 10, "sea temperatures by month: one dimension"),
    "digit classes": Case(
        lambda: datasets.load_digits_blocks(None), 10, "images of digits: ten separate classes"
    ),
}
"""Data sets by name: the first five have similar groups, the last three have none or nothing else."""


@lru_cache(maxsize=2)
def load_case(name: str) -> Bags:
    """Return the groups of a data set; the last ones are kept.

    Parameters
    ----------
    name : str
        Out of `CASES`.

    Examples
    --------
    >>> load_case("elnino")
    Bags(12 bags, 732 points, dim 1, size 61, float64, 5.86 kB)
    """
    return CASES[name].load()


def load_cases(names: Sequence[str] | None = None) -> tuple[dict[str, Bags], str]:
    """Return the groups of data sets by name, and a remark on those whose package is not installed.

    Parameters
    ----------
    names : sequence of str, optional
        Out of `CASES`. All that can be loaded by default; those that are named must be there.

    Returns
    -------
    groups : dict of str to Bags
        All points of each group, by the name of the data set.
    remark : str
        A line for each data set that was left out; empty if none was.

    Examples
    --------
    >>> list(load_cases(["fair", "elnino"])[0])
    ['fair', 'elnino']
    """
    found, missing = {}, []
    for name in CASES if names is None else names:
        if name not in CASES:
            raise ValueError(f"there is no data set {name!r}; choose from {', '.join(CASES)}.")
        try:
            found[name] = load_case(name)
        except ModuleNotFoundError as error:
            missing.append(f"{name} was left out: {error}")
    remark = "\n".join(missing)
    if missing and (names is not None or not found):
        raise ModuleNotFoundError(remark)
    return found, remark
