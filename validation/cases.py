"""Real data with a truth: groups so large that small bags drawn from them can be judged by their means."""

from collections.abc import Callable
from typing import NamedTuple

from stbmta import datasets
from stbmta.bags import Bags
from stbmta.kernels import RBF, Kernel, Linear

__all__ = ["CASES", "KERNELS", "Case"]

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
