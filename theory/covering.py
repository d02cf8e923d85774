"""Covering numbers of a set of means: how many balls of one radius hold them all.

Both theorems use the covering number at radius `stbmta.theory.theorems.covering_radius`; an upper bound
keeps them valid. Balls are closed. They may be centered anywhere, or only at points of the set, which takes as many
balls or more; the proofs work with either. Where nothing else is said, intervals hold for balls centered anywhere,
and the upper end is a cover with balls around points. The lower bounds are packings: points more than two radii
apart lie in different balls.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _check as check
from . import _cover, exact
from ._check import Floats
from ._table import Tabular
from .covering_exact import (
    exact_covering_number,
    exponent_of,
    fewest_balls,
    fewest_centers,
    pair_squares,
    rescaled,
)
from .covering_sets import ball_covering, cluster_covering, cube_covering, sparse_covering, sphere_covering

__all__ = [
    "CoveringNumber",
    "CoveringProfile",
    "ball_covering",
    "cluster_covering",
    "covering_number",
    "covering_number_gram",
    "covering_number_noisy",
    "covering_profile",
    "cube_covering",
    "exact_covering_number",
    "sparse_covering",
    "sphere_covering",
]

SMALL = 30  # points up to which both ends are sought by integer programming
# Candidates of that search, a second of work; 15 points never have more, nor 30 in three dimensions.
MOST_BALLS = 40_000

_TIES = 1 + 1e-12  # points at exactly the radius are covered, whatever the rounding of squares


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveringNumber(Tabular):
    """Certified interval for a covering number.

    Attributes
    ----------
    radius : float
        Radius of the balls.
    lower, upper : int
        ``lower <= covering number <= upper``.
    n_points : int
        Number of points.
    centers : ndarray of int
        Points whose balls cover all points. There are ``upper`` of them, or more where ``upper`` is the exact number
        of balls centered anywhere: on the line, and where that is asked for.
    packing : ndarray of int
        Points more than two radii apart, ``lower`` of them, or fewer where ``lower`` is the exact number of a small
        set.
    confidence : float
        Probability with which the interval holds: 1 if it is certain, nan if nothing is certified.
    """

    radius: float
    lower: int
    upper: int
    n_points: int
    centers: NDArray[np.int64]
    packing: NDArray[np.int64]
    confidence: float = 1.0

    @property
    def exact(self) -> bool:
        """Whether both ends agree."""
        return self.lower == self.upper

    @property
    def ratio(self) -> float:
        """Upper end over the number of points: the N / B of the theorems."""
        return self.upper / self.n_points

    def _columns(self) -> dict[str, list[Any]]:
        row = [self.radius, self.n_points, self.lower, self.upper, self.ratio, self.confidence]
        names = ["radius", "points", "lower", "upper", "upper / points", "confidence"]
        return {name: [value] for name, value in zip(names, row, strict=True)}


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveringProfile(Tabular):
    """Intervals for the covering numbers at many radii.

    Attributes
    ----------
    radii : ndarray
        The radii.
    lower, upper : ndarray of int
        ``lower <= covering number <= upper`` at each radius.
    n_points : int
        Number of points.
    """

    radii: Floats
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    n_points: int

    def _columns(self) -> dict[str, list[Any]]:
        columns = {"radius": self.radii, "lower": self.lower, "upper": self.upper}
        columns["upper / points"] = self.upper / self.n_points
        return {name: values.tolist() for name, values in columns.items()}


def covering_number(
    points: ArrayLike, radius: float, *, centers: Literal["anywhere", "points"] | None = None
) -> CoveringNumber:
    """Certified interval for the covering number of a set of points.

    Parameters
    ----------
    points : array_like, shape (B, d)
        The means; a one-dimensional array is d = 1.
    radius : float
        Radius of the closed balls, above 0.
    centers : {"anywhere", "points"}, optional
        Where balls may be centered. Without it the interval holds for both.

    Returns
    -------
    CoveringNumber
        ``lower <= balls centered anywhere <= balls around points <= upper``, and the upper end is a cover with balls
        around points. On the line both ends are the number of balls centered anywhere.

        With "anywhere" or "points" the interval is for that number alone. Its ends agree for small sets: for
        "points" up to 30 points, for "anywhere" up to 15 points, up to 30 in at most three dimensions, and in
        both cases on the line.

    Notes
    -----
    Small sets have the exact ends that `exact_covering_number` finds, by integer programming. For others the upper end
    is a greedy set cover, the lower end a greedy packing from the outside in. Time at most O(B^2 d), O(B d) times the
    number of balls for structured sets; memory O(B) beyond one copy of the points. 20,000 points in dimension 100
    take about a second, 12 if no two share a ball; a small set takes a second or two at most.

    Examples
    --------
    >>> c = covering_number([[0.0, 0.0], [0.0, 1.0], [5.0, 5.0]], radius=1.0)
    >>> c.lower, c.upper, c.centers.tolist()
    (2, 2, [0, 2])

    One ball holds this triangle, but none that is centered at a corner:

    >>> triangle = [[0.0, 0.0], [2.0, 0.0], [1.0, 1.7]]
    >>> for where in (None, "anywhere", "points"):
    ...     c = covering_number(triangle, 1.2, centers=where)
    ...     print(c.lower, c.upper)
    1 3
    1 1
    3 3
    """
    if centers not in (None, "anywhere", "points"):
        raise ValueError(f"centers must be 'anywhere', 'points' or None; found {centers!r}.")
    data, size = check.points(points), check.radius(radius)
    if exponent := exponent_of(size):
        data = rescaled("points", data, exponent)
        return replace(covering_number(data, math.ldexp(size, -exponent), centers=centers), radius=size)
    line, small = data.shape[1] == 1, len(data) <= SMALL
    if line:
        number = _on_the_line(data[:, 0], size)
    else:
        number = _interval(data, False, np.zeros(len(data)), size, size**2 * _TIES, 4 * size**2 * _TIES)
        if small:
            number = _sharpened(number, pair_squares(data), data.shape[1], anywhere=centers == "anywhere")
    if centers == "points" and (line or small):
        return replace(number, lower=len(number.centers), upper=len(number.centers))
    return number


def covering_number_gram(
    gram: ArrayLike, radius: float, naive_mse: ArrayLike | None = None
) -> CoveringNumber:
    """Interval for the covering number of points known by their inner products.

    Parameters
    ----------
    gram : array_like, shape (B, B)
        Inner products, such as mean kernel values between bags.
    radius : float
        Radius of the closed balls.
    naive_mse : array_like, shape (B,), optional
        If the Gram matrix is that of *naive* means, their squared errors, diagonal pairs included in the
        Gram matrix. Squared distances are then made unbiased, ``|naive_i - naive_j|^2 - s_i^2 - s_j^2``, and
        nothing is certified: ``confidence`` is nan. See `covering_number_noisy`.

    Returns
    -------
    CoveringNumber
        For both kinds of centers, as in `covering_number`. Distances have an absolute error of about 1e-16
        times the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0, 0.0], [0.0, 1.0], [5.0, 5.0]])
    >>> covering_number_gram(x @ x.T, radius=1.0).upper
    2
    """
    data, size = check.gram(gram), check.radius(radius)
    offsets = np.zeros(len(data)) if naive_mse is None else _noise(naive_mse, len(data))
    if exponent := exponent_of(size):
        data = rescaled("gram", data, 2 * exponent, "squared radius")
        offsets = rescaled("naive_mse", offsets, 2 * exponent, "squared radius")
        errors = None if naive_mse is None else offsets
        return replace(covering_number_gram(data, math.ldexp(size, -exponent), errors), radius=size)
    confidence = 1.0 if naive_mse is None else float("nan")
    number = _interval(data, True, offsets, size, size**2 * _TIES, 4 * size**2 * _TIES, confidence)
    if naive_mse is not None or len(data) > SMALL:
        return number
    norms = np.diagonal(data)
    return _sharpened(number, norms[:, np.newaxis] + norms - 2 * data, len(data))


def covering_number_noisy(
    naive: ArrayLike, radius: float, naive_mse: ArrayLike, *, alpha: float | None = None
) -> CoveringNumber:
    """Interval for the covering number of the *true* means, from naive means.

    Parameters
    ----------
    naive : array_like, shape (B, d)
        Naive means.
    radius : float
        Radius of the closed balls around true means.
    naive_mse : array_like
        Squared errors of the naive means: one number, or one for each bag.
    alpha : float, optional
        Error probability of the interval, in the isotropic Gaussian setting with one common, known
        ``naive_mse``. Without it the unbiased squared distances are used as if they were the truth.

    Returns
    -------
    CoveringNumber
        Without ``alpha`` an estimate: nothing is certified and ``confidence`` is nan. With ``alpha``, the
        interval holds with probability 1 - alpha: two bags share a ball only if the exact upper confidence
        bound of their distance allows it, and are packed only if the lower one does.

    Notes
    -----
    Noise may make distances contradict each other, so that more points are packed than balls cover all of them. The
    packing is then cut to as many points as there are balls.

    Each end has half of ``alpha``, Bonferroni over all pairs. In low dimension the certified upper end is
    often B: the noise does not allow better.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> naive = rng.normal(size=(50, 2000)) / 10  # all true means are zero
    >>> covering_number_noisy(naive, radius=3.0, naive_mse=20.0, alpha=0.05).upper
    1
    """
    data, size = check.points(naive, "naive"), check.radius(radius)
    noise = _noise(naive_mse, len(data))
    if exponent := exponent_of(size):
        data = rescaled("naive", data, exponent)
        noise = rescaled("naive_mse", noise, 2 * exponent, "squared radius")
        number = covering_number_noisy(data, math.ldexp(size, -exponent), noise, alpha=alpha)
        return replace(number, radius=size)
    if alpha is None:
        limits = size**2 * _TIES, 4 * size**2 * _TIES
        return _interval(data, False, noise, size, *limits, float("nan"))
    if np.ptp(noise) > 0 or noise[0] == 0:
        raise ValueError("alpha needs one common naive_mse above 0; leave alpha out for unequal bags.")
    bags, dim = data.shape
    share = float(check.alpha(alpha)) / 2
    unit = noise[0]
    cover = unit * exact.exact_zeta(size**2 / unit, bags, dim, share) if bags > 1 else 0.0
    apart = unit * exact.exact_zeta_power(4 * size**2 / unit, bags, dim, share) if bags > 1 else 0.0
    return _interval(data, False, np.zeros(bags), size, float(cover), float(apart), 1 - float(alpha))


def covering_profile(points: ArrayLike, radii: ArrayLike) -> CoveringProfile:
    """Intervals for the covering numbers at many radii, from one farthest-first traversal.

    Parameters
    ----------
    points : array_like, shape (B, d)
        The means.
    radii : array_like
        Radii above 0: a vector, or one number.

    Returns
    -------
    CoveringProfile
        The traversal takes the farthest point again and again. Those taken at a distance above r cover at
        radius r, those taken at a distance above 2 r are a packing. Looser than `covering_number`, but all
        radii cost as much as the smallest.

    Examples
    --------
    >>> p = covering_profile([[0.0, 0.0], [0.0, 1.0], [5.0, 5.0]], radii=[0.1, 1.0, 10.0])
    >>> p.lower.tolist(), p.upper.tolist()
    ([3, 2, 1], [3, 2, 1])
    """
    data = check.points(points)
    sizes = np.atleast_1d(check.size("radii", radii, positive=True))
    if sizes.ndim > 1 or not sizes.size:
        raise ValueError(f"radii must be a vector with at least one number; found shape {sizes.shape}.")
    if exponent := exponent_of(sizes.min()):
        data, units = rescaled("points", data, exponent), rescaled("radii", sizes, exponent)
        return replace(covering_profile(data, units), radii=sizes)
    distance = _from_mean(data, False)
    with np.errstate(over="ignore"):
        limits = sizes[:, np.newaxis] ** 2 * _TIES
        packing_limits = 4 * limits
        _, gaps = _cover.farthest_first(
            data, False, np.zeros(len(data)), int(np.argmin(distance)), float(limits.min())
        )
    if np.isinf(packing_limits).any():
        raise ValueError(f"radii must be less far apart; found {sizes.min():g} and {sizes.max():g}.")
    return CoveringProfile(
        radii=sizes,
        lower=(gaps > packing_limits).sum(axis=1),
        upper=(gaps > limits).sum(axis=1),
        n_points=len(data),
    )


@np.errstate(over="ignore")  # points whose squared distance is beyond all numbers are far apart
def _interval(
    data: Floats,
    is_gram: bool,
    offsets: Floats,
    radius: float,
    cover_limit: float,
    packing_limit: float,
    confidence: float = 1.0,
) -> CoveringNumber:
    """Cover where scores are within one limit, pack where they exceed the other.

    Scores that are no squared distances may pack more points than there are balls: only as many count.
    """
    outside_in = np.argsort(-_from_mean(data, is_gram), kind="stable")
    packing = _cover.packing(data, is_gram, offsets, packing_limit, outside_in)
    separated = len(packing) == len(data)  # then every cover has as many balls
    centers = np.sort(packing) if separated else _cover.greedy_cover(data, is_gram, offsets, cover_limit)
    packing = packing[: len(centers)]
    return CoveringNumber(
        radius=radius,
        lower=len(packing),
        upper=len(centers),
        n_points=len(data),
        centers=centers,
        packing=packing,
        confidence=confidence,
    )


def _sharpened(number: CoveringNumber, squares: Floats, dim: int, anywhere: bool = False) -> CoveringNumber:
    """Exact ends for a small set: balls centered anywhere below, and around points above, or anywhere too."""
    if number.exact:
        return number
    centers = fewest_centers(squares, number.radius**2 * _TIES)
    if number.lower == len(centers):
        return replace(number, upper=len(centers), centers=centers)
    found = fewest_balls(squares, number.radius, dim, MOST_BALLS)
    if found is None:
        return replace(number, upper=len(centers), centers=centers)
    lower = max(number.lower, found)
    upper = lower if anywhere else len(centers)
    return replace(number, lower=lower, upper=upper, centers=centers)


def _on_the_line(x: Floats, radius: float) -> CoveringNumber:
    """Exact in one dimension: each ball starts at the leftmost point that is not covered yet."""
    order = np.argsort(x, kind="stable")
    line = x[order]
    reach = radius * _TIES

    def starts(length: float) -> list[int]:
        found, k = [], 0
        while k < len(line):
            found.append(k)
            k = int(np.searchsorted(line, line[k] + length, side="right"))
        return found

    centers, k = [], 0
    while k < len(line):
        center = int(np.searchsorted(line, line[k] + reach, side="right")) - 1
        centers.append(center)
        k = int(np.searchsorted(line, line[center] + reach, side="right"))
    packing = order[starts(2 * reach)]
    return CoveringNumber(
        radius=radius,
        lower=len(packing),
        upper=len(packing),
        n_points=len(x),
        centers=order[centers],
        packing=packing,
    )


@np.errstate(over="ignore")
def _from_mean(data: Floats, is_gram: bool) -> Floats:
    """Squared distances from the mean of all points, up to a constant."""
    if is_gram:
        return np.diagonal(data) - 2 * data.mean(axis=1)
    return ((data - data.mean(axis=0)) ** 2).sum(axis=1)


def _noise(naive_mse: ArrayLike, n: int) -> Floats:
    noise = check.size("naive_mse", naive_mse)
    if noise.ndim > 1 or noise.size not in (1, n):
        raise ValueError(f"naive_mse must be one number or {n} of them; found shape {noise.shape}.")
    return np.ascontiguousarray(np.broadcast_to(noise, (n,)))
