r"""Squared errors over whole grids of parameters, in closed form from the B x B statistics.

Where the truth is known (:mod:`stbmta.truth`), these say what the best parameters of each method would be:
the "oracle" of the paper's experiments. No grid point builds estimates, and nothing loops over bags:

- STB: one pass over the neighbors in order of entry serves all thresholds, and the error is a parabola in
  gamma for each threshold;
- MTA const: the weights are a diagonal and a matrix of rank one;
- MTA stb: one eigendecomposition a threshold where the system is symmetric, batches of solves otherwise.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .jit import paths as jit_paths
from .similarity import gaussian_neighbors, known_mse, neighbors
from .statistics import BagStatistics
from .theory import theorems
from .threads import run
from .truth import Truth
from .weights import mta_constant

__all__ = [
    "Best",
    "GridErrors",
    "NeighborPaths",
    "mta_constant_grid",
    "mta_stb_grid",
    "neighbor_paths",
]

Array = npt.NDArray[np.float64]

# How many numbers of weight matrices are held at once.
_BATCH = 2**24
# An eigendecomposition costs as much as a few solves.
_SOLVES = 3


class Best(NamedTuple):
    """The best point of a grid. `zeta` is None for a method without tests."""

    zeta: float | None
    value: float
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GridErrors:
    """Squared errors over a grid, averaged over bags.

    Attributes
    ----------
    parameter : {"gamma", "c"}
        What `values` are values of.
    zetas : ndarray of shape (Z,) or None
        The thresholds; None for a method without tests.
    values : ndarray of shape (P,)
    errors : ndarray of shape (Z, P)
        One row where there are no thresholds.
    naive : float
        The error of the naive means.
    """

    parameter: str
    zetas: Array | None
    values: Array
    errors: Array
    naive: float

    def best(self) -> Best:
        """Return the point with the smallest error; the first of several."""
        z, p = np.unravel_index(int(np.argmin(self.errors)), self.errors.shape)
        zeta = None if self.zetas is None else float(self.zetas[z])
        return Best(zeta, float(self.values[p]), float(self.errors[z, p]))

    def summary(self) -> str:
        """Return the best point as text."""
        zeta, value, error = self.best()
        place = f"{self.parameter} = {value:g}" + ("" if zeta is None else f", zeta = {zeta:g}")
        return f"smallest squared error {error:.4g} at {place}; naive means {self.naive:.4g}"

    def to_frame(self) -> Any:
        """Return the errors as a pandas data frame, one row a threshold."""
        import pandas as pd

        index = None if self.zetas is None else pd.Index(self.zetas, name="zeta")
        return pd.DataFrame(self.errors, index=index, columns=pd.Index(self.values, name=self.parameter))


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighborPaths:
    r"""What STB does to each bag as the threshold grows.

    With a the naive mean of a bag, b the average of its neighbors' naive means and m its true mean, the
    squared error of :math:`\gamma a + (1 - \gamma) b` is

    .. math:: \gamma^2 |a|^2 + 2 \gamma (1 - \gamma) \langle a, b \rangle + (1 - \gamma)^2 |b|^2
              - 2 \gamma \langle a, m \rangle - 2 (1 - \gamma) \langle b, m \rangle + |m|^2.

    Attributes
    ----------
    zetas : ndarray of shape (Z,)
    counts : ndarray of shape (Z, B)
        Number of neighbors, the bag itself included.
    ab, bb, bm : ndarray of shape (Z, B)
        Inner products.
    aa, am, mm : ndarray of shape (B,)
    """

    zetas: Array
    counts: Array
    ab: Array
    bb: Array
    bm: Array
    aa: Array
    am: Array
    mm: Array

    def errors(self, gamma: npt.ArrayLike) -> Array:
        """Return the squared error of each bag at each threshold, (Z, B), for a gamma of that shape or less."""
        g = np.asarray(gamma, dtype=np.float64)
        quadratic = g**2 * self.aa + 2 * g * (1 - g) * self.ab + (1 - g) ** 2 * self.bb
        return quadratic - 2 * (g * self.am + (1 - g) * self.bm) + self.mm

    def naive(self, clip: bool = False) -> float:
        """Return the squared error of the naive means, averaged over bags."""
        return float(_average(self.aa - 2 * self.am + self.mm, clip))

    def weight(self, gammas: npt.ArrayLike, *, clip: bool = False) -> GridErrors:
        """Return the errors of STB weight; gamma = 0 is STB-0.

        Parameters
        ----------
        gammas : array-like
            Between 0 and 1.
        clip : bool, default=False
            Replace the negative errors of single bags by 0. Against a proxy of the truth errors can be
            negative; the paper's experiments clip them, which hides part of a large improvement.
        """
        values = _one_dimensional(gammas, "gammas")
        if not ((values >= 0) & (values <= 1)).all():
            raise ValueError("gammas must be between 0 and 1.")
        if clip:
            errors = np.stack([_average(self.errors(gamma), True) for gamma in values], axis=1)
        else:
            square, slope, constant = self.parabolas()
            errors = np.multiply.outer(square, values**2) + np.multiply.outer(slope, values)
            errors += constant[:, None]
        return GridErrors(
            parameter="gamma", zetas=self.zetas, values=values, errors=errors, naive=self.naive(clip)
        )

    def theory(self, cs: npt.ArrayLike, *, clip: bool = False) -> GridErrors:
        """Return the errors of STB theory for factors c of the threshold (eq. optgamma).

        Theorem 1 has nothing to say about an infinite threshold; it is left out.

        Parameters
        ----------
        cs : array-like
            At least 0.
        clip : bool, default=False
            As for :meth:`weight`.
        """
        values = _one_dimensional(cs, "cs")
        finite = np.isfinite(self.zetas)
        zetas, others = self.zetas[finite], self.counts[finite] - 1
        errors = np.empty((len(zetas), len(values)))
        gamma = np.ones_like(self.counts)
        for k, c in enumerate(values):
            gamma[finite] = theorems.gamma_independent((c * zetas)[:, None], others)
            errors[:, k] = _average(self.errors(gamma)[finite], clip)
        return GridErrors(parameter="c", zetas=zetas, values=values, errors=errors, naive=self.naive(clip))

    def parabolas(self) -> tuple[Array, Array, Array]:
        """Return the average error at each threshold as a parabola in gamma: square, slope, constant, (Z,)."""
        aa, am, mm = self.aa.mean(), self.am.mean(), self.mm.mean()
        ab, bb, bm = (term.mean(axis=1) for term in (self.ab, self.bb, self.bm))
        return aa - 2 * ab + bb, 2 * (ab - bb + bm - am), bb - 2 * bm + mm


def neighbor_paths(
    s: BagStatistics,
    truth: Truth,
    zetas: npt.ArrayLike,
    *,
    variance: float | None = None,
    n_threads: int | None = None,
) -> NeighborPaths:
    r"""Follow the neighbors of every bag over a grid of thresholds.

    Parameters
    ----------
    s : BagStatistics
    truth : Truth
        One true mean a bag.
    zetas : array-like
        The thresholds; infinity averages all bags.
    variance : float, optional
        The known variance of each coordinate (linear kernel): use the tests of eq. deftestsgaus.
    n_threads : int, optional
        It does not change the result.

    Returns
    -------
    NeighborPaths
        Sorted by threshold.

    Notes
    -----
    Time :math:`O(B^2 + \sum_i |V_i|^2)` with the neighbors of the largest finite threshold, whatever the
    number of thresholds; memory O(B^2).

    Examples
    --------
    >>> from stbmta import bag_statistics, datasets, known_means
    >>> sample = datasets.cluster(60, 50, n_clusters=3, rng=0)
    >>> s, truth = bag_statistics(sample.bags), known_means(sample.means)
    >>> paths = neighbor_paths(s, truth, [2.0, 2.5, 3.0], variance=1.0)
    >>> print(paths.weight([0.0, 0.1]).summary())
    smallest squared error 3.758 at gamma = 0, zeta = 2.5; naive means 48.94
    """
    grid = np.unique(_one_dimensional(zetas, "zetas"))
    if not (grid >= 0).all():
        raise ValueError(f"zetas must be at least 0, found {grid[~(grid >= 0)][0]}.")
    gram, cross, norms = _inner_products(s, truth)
    mse = _naive_errors(s, variance)
    B = len(s)
    found = np.empty((B, len(grid), 4))
    arguments = (gram, gram.sum(axis=1), cross, mse, variance is None, grid)
    step = max(1, B // 256)
    run(
        [
            partial(jit_paths.neighbor_paths, *arguments, i, min(i + step, B), found)
            for i in range(0, B, step)
        ],
        n_threads,
    )
    counts, ab, bb, bm = (np.ascontiguousarray(found[..., k].T) for k in range(4))
    return NeighborPaths(
        zetas=grid,
        counts=counts,
        ab=ab,
        bb=bb,
        bm=bm,
        aa=np.diagonal(gram).copy(),
        am=np.diagonal(cross).copy(),
        mm=norms,
    )


def mta_constant_grid(
    s: BagStatistics,
    truth: Truth,
    gammas: npt.ArrayLike,
    *,
    variance: float | None = None,
    clip: bool = False,
) -> GridErrors:
    """Return the errors of MTA const (:func:`stbmta.weights.mta_constant`) for each gamma.

    Parameters
    ----------
    s : BagStatistics
    truth : Truth
        One true mean a bag.
    gammas : array-like
        At least 0.
    variance : float, optional
        The known variance of each coordinate (linear kernel).
    clip : bool, default=False
        As for :meth:`NeighborPaths.weight`.

    Notes
    -----
    The weights are diag(k) + p q', so all errors come from two products with the B x B statistics:
    O(P B^2) for P values of gamma.

    Examples
    --------
    >>> from stbmta import bag_statistics, datasets, known_means
    >>> sample = datasets.unif(40, 100, rng=0)
    >>> s, truth = bag_statistics(sample.bags), known_means(sample.means)
    >>> print(mta_constant_grid(s, truth, [0.0, 0.5, 1.0, 2.0], variance=1.0).summary())
    smallest squared error 92.24 at gamma = 1; naive means 99.63
    """
    values = _at_least_zero(gammas, "gammas")
    gram, cross, norms = _inner_products(s, truth)
    error = _naive_errors(s, variance)
    kept, pulled, common = _constant_weights(s, error, values)
    # Row i of W is k_i e_i + p_i q.
    with_gram, with_cross = common @ gram, common @ cross.T
    errors = kept**2 * np.diagonal(gram) + 2 * kept * pulled * with_gram
    errors += pulled**2 * np.einsum("pi,pi->p", common, with_gram)[:, None]
    errors += norms - 2 * (kept * np.diagonal(cross) + pulled * with_cross)
    return GridErrors(
        parameter="gamma",
        zetas=None,
        values=values,
        errors=_average(errors, clip)[None, :],
        naive=_naive(gram, cross, norms, clip),
    )


def _constant_weights(s: BagStatistics, error: Array, gammas: Array) -> tuple[Array, Array, Array]:
    """Return k, p and q of W = diag(k) + p q', each (P, B)."""
    B = len(s)
    distances = s.mmd2(unbiased=False) - error[:, None] - error[None, :]
    np.fill_diagonal(distances, 0.0)
    average = np.maximum(distances, 0.0).sum() / max(B * (B - 1), 1)
    if average == 0:
        # The means cannot be told apart: the limit of the weights, the same row for every bag.
        kept = np.repeat((gammas == 0).astype(np.float64)[:, None], B, axis=1)
        return kept, 1 - kept, np.broadcast_to(mta_constant(s, 1.0, mse=error)[0], kept.shape)
    strength = np.multiply.outer(2 * gammas / average, error)
    kept = 1 / (1 + strength)
    pulled = strength * kept / B
    return kept, pulled / (1 - pulled.sum(axis=1, keepdims=True)), kept


def mta_stb_grid(
    s: BagStatistics,
    truth: Truth,
    zetas: npt.ArrayLike,
    gammas: npt.ArrayLike,
    *,
    variance: float | None = None,
    clip: bool = False,
) -> GridErrors:
    r"""Return the errors of MTA stb (:func:`stbmta.weights.mta_stb`) for each threshold and gamma.

    Parameters
    ----------
    s : BagStatistics
    truth : Truth
        One true mean a bag.
    zetas, gammas : array-like
        At least 0.
    variance : float, optional
        The known variance of each coordinate (linear kernel): use the tests of eq. deftestsgaus.
    clip : bool, default=False
        As for :meth:`NeighborPaths.weight`.

    Notes
    -----
    Time :math:`O(Z B^3)` where all bags have the same known error, because then the system
    :math:`I + (\gamma / B) D L(A)` is symmetric and one eigendecomposition serves every gamma;
    :math:`O(Z P B^3)` otherwise.

    Examples
    --------
    >>> from stbmta import bag_statistics, datasets, known_means
    >>> sample = datasets.cluster(60, 50, n_clusters=3, rng=0)
    >>> s, truth = bag_statistics(sample.bags), known_means(sample.means)
    >>> print(mta_stb_grid(s, truth, [2.5, 3.0], [0.0, 0.5, 1.0], variance=1.0).summary())
    smallest squared error 5.454 at gamma = 0.5, zeta = 2.5; naive means 48.94
    """
    thresholds, strengths = _at_least_zero(zetas, "zetas"), _at_least_zero(gammas, "gammas")
    gram, cross, norms = _inner_products(s, truth)
    error = _naive_errors(s, variance)
    errors = np.empty((len(thresholds), len(strengths)))
    for z, zeta in enumerate(thresholds):
        tests = neighbors(s, zeta) if variance is None else gaussian_neighbors(s, zeta, variance)
        A = tests.astype(np.float64)
        system = (np.diag(A.sum(axis=1)) - A) * (error / len(s))[:, None]
        if len(strengths) > _SOLVES and not clip and _is_symmetric(tests, error):
            errors[z] = _symmetric_errors(system, strengths, gram, cross, norms)
        else:
            errors[z] = _solved_errors(system, strengths, gram, cross, norms, clip)
    return GridErrors(
        parameter="gamma",
        zetas=thresholds,
        values=strengths,
        errors=errors,
        naive=_naive(gram, cross, norms, clip),
    )


def _is_symmetric(tests: npt.NDArray[np.bool_], error: Array) -> bool:
    return bool((error == error[0]).all() and (tests == tests.T).all())


def _symmetric_errors(system: Array, gammas: Array, gram: Array, cross: Array, norms: Array) -> Array:
    """Return the average errors of (I + gamma S)^-1 for symmetric S: S = Q diag(l) Q', once for all gammas."""
    values, Q = np.linalg.eigh(system)
    shrunk = 1 / (1 + np.multiply.outer(gammas, np.maximum(values, 0.0)))
    quadratic = np.einsum("ij,ij->j", Q, gram @ Q)
    linear = np.einsum("ij,ij->j", Q, cross @ Q)
    return (shrunk**2 @ quadratic - 2 * shrunk @ linear + norms.sum()) / len(norms)


def _solved_errors(
    system: Array, gammas: Array, gram: Array, cross: Array, norms: Array, clip: bool
) -> Array:
    """Return the average errors of (I + gamma S)^-1 for any S, several gammas at a time."""
    identity = np.eye(len(norms))
    errors = np.empty(len(gammas))
    step = max(1, _BATCH // identity.size)
    for k in range(0, len(gammas), step):
        W = np.linalg.solve(identity + gammas[k : k + step, None, None] * system, identity)
        quadratic = np.einsum("gij,gij->gi", W @ gram, W)
        linear = np.einsum("gij,ij->gi", W, cross)
        errors[k : k + step] = _average(quadratic - 2 * linear + norms, clip)
    return errors


def _inner_products(s: BagStatistics, truth: Truth) -> tuple[Array, Array, Array]:
    """Return the inner products of naive means, those of the true mean i with them as row i, and the norms.

    Vectors are taken less their average: weights sum to 1, so errors stay, and no accuracy is lost.
    """
    if truth.means is None:
        assert truth.cross is not None
        assert truth.norms is not None
        gram, cross, norms = s.gram, np.ascontiguousarray(truth.cross.T), truth.norms
    else:
        if s.means is None:
            raise ValueError("known means are vectors; they need statistics of the linear kernel.")
        center = s.means.mean(axis=0)
        found, true = s.means - center, truth.means - center
        gram, cross, norms = found @ found.T, true @ found.T, np.einsum("ij,ij->i", true, true)
    if len(norms) != len(s):
        raise ValueError(f"there are {len(s)} bags, but {len(norms)} true means; one a bag is needed.")
    return gram, cross, norms


def _naive_errors(s: BagStatistics, variance: float | None) -> Array:
    return s.naive_mse if variance is None else known_mse(s, variance)


def _naive(gram: Array, cross: Array, norms: Array, clip: bool) -> float:
    return float(_average(np.diagonal(gram) - 2 * np.diagonal(cross) + norms, clip))


def _average(errors: Array, clip: bool) -> Any:
    return (np.maximum(errors, 0.0) if clip else errors).mean(axis=-1)


def _one_dimensional(values: npt.ArrayLike, name: str) -> Array:
    array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if array.ndim != 1 or len(array) == 0 or np.isnan(array).any():
        raise ValueError(f"{name} must be a list of numbers, found {values!r}.")
    return array


def _at_least_zero(values: npt.ArrayLike, name: str) -> Array:
    array = _one_dimensional(values, name)
    if not (np.isfinite(array) & (array >= 0)).all():
        raise ValueError(f"{name} must be numbers of at least 0, found {values!r}.")
    return array
