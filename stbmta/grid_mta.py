r"""Squared errors of multi-task averaging over whole grids of parameters, from the B x B statistics.

The counterpart of :mod:`stbmta.grid`. MTA const: the weights are a diagonal and a matrix of rank one. MTA stb:
one eigendecomposition a threshold where the system is symmetric, batches of solves otherwise.
"""

import numpy as np
import numpy.typing as npt

from .grid import GridErrors, average_errors, inner_products, naive_errors, one_dimensional
from .similarity import gaussian_neighbors, neighbors
from .statistics import BagStatistics
from .truth import Truth
from .weights import mta_constant

__all__ = ["mta_constant_grid", "mta_stb_grid"]

Array = npt.NDArray[np.float64]

# How many numbers of weight matrices are held at once.
_BATCH = 2**24
# An eigendecomposition costs as much as a few solves.
_SOLVES = 3


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
        Statistics of the bags.
    truth : Truth
        One true mean a bag.
    gammas : array-like
        At least 0.
    variance : float, optional
        The known variance of each coordinate (linear kernel).
    clip : bool, default=False
        As for :meth:`stbmta.grid.NeighborPaths.weight`.

    Returns
    -------
    GridErrors
        One error for each gamma, in a single row.

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
    gram, cross, norms = inner_products(s, truth)
    error = naive_errors(s, variance)
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
        errors=average_errors(errors, clip)[None, :],
        naive=_naive(gram, cross, norms, clip),
    )


def _constant_weights(s: BagStatistics, error: Array, gammas: Array) -> tuple[Array, Array, Array]:
    """Return k, p and q of W = diag(k) + p q', each (P, B)."""
    B = len(s)
    distances = s.mmd2(unbiased=False)
    distances -= error[:, None] + error
    np.fill_diagonal(distances, 0.0)
    average = float(np.maximum(distances, 0.0).sum() / max(B * (B - 1), 1))
    with np.errstate(over="ignore"):
        strength = gammas * (2 / average) if average else np.where(gammas > 0, np.inf, 0.0)
        infinite = np.isinf(strength * (float(error.max()) or 1.0))
    pull = np.multiply.outer(np.where(infinite, 0.0, strength), error)
    kept = 1 / (1 + pull)
    pulled, common = pull * kept / B, kept / kept.mean(axis=1, keepdims=True)
    if infinite.any():  # the limit of the weights, the same row for every bag
        kept[infinite], pulled[infinite] = 0.0, 1.0
        common[infinite] = mta_constant(s, float(gammas.max()), mse=error)[0]
    return kept, pulled, common


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
        Statistics of the bags.
    truth : Truth
        One true mean a bag.
    zetas, gammas : array-like
        At least 0.
    variance : float, optional
        The known variance of each coordinate (linear kernel): use the tests of eq. deftestsgaus.
    clip : bool, default=False
        As for :meth:`stbmta.grid.NeighborPaths.weight`.

    Returns
    -------
    GridErrors
        One row a threshold, and one column a gamma.

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
    gram, cross, norms = inner_products(s, truth)
    error = naive_errors(s, variance)
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
        errors[k : k + step] = average_errors(quadratic - 2 * linear + norms, clip)
    return errors


def _naive(gram: Array, cross: Array, norms: Array, clip: bool) -> float:
    return float(average_errors(np.diagonal(gram) - 2 * np.diagonal(cross) + norms, clip))


def _at_least_zero(values: npt.ArrayLike, name: str) -> Array:
    array = one_dimensional(values, name)
    if not (np.isfinite(array) & (array >= 0)).all():
        raise ValueError(f"{name} must be numbers of at least 0, found {values!r}.")
    return array
