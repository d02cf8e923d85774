r"""Low-rank structure: shrink the spectrum of the matrix of means.

The best linear estimate is :math:`W = M (M + S)^{-1}` with M the Gram matrix of the true means and S the
diagonal matrix of the naive means' errors. In coordinates that make all errors 1 it changes only the
eigenvalues of the Gram matrix of the naive means, not its eigenvectors' span; the estimators here keep the
eigenvectors found and filter the eigenvalues. Any kernel will do: the means need coordinates only, which the B x B Gram
matrix has.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.linalg

from .similarity import given_errors
from .statistics import BagStatistics

__all__ = [
    "Spectrum",
    "coordinates",
    "denoised_distances",
    "optimal_filter",
    "rank_filter",
    "spectral",
    "spectrum",
]

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64] | slice


@dataclass(frozen=True, slots=True, kw_only=True)
class Spectrum:
    """Eigenvalues and eigenvectors of the Gram matrix of the naive means, each mean over its standard error.

    Attributes
    ----------
    values : ndarray of shape (r,)
        Largest first. Noise alone makes them about 1.
    vectors : ndarray of shape (B, r)
    errors : ndarray of shape (B,)
        The standard errors.
    """

    values: Array
    vectors: Array
    errors: Array

    def weights(self, kept: Array, rows: Rows = slice(None)) -> Array:
        """Return the weights that keep a share of each component, (rows, B).

        Returns
        -------
        ndarray of shape (rows, B)
            Row i holds the weights of the naive means in estimate i.
        """
        used = kept > 0
        left = self.errors[rows][:, None] * self.vectors[rows][:, used]
        return (left * kept[used]) @ (self.vectors[:, used] / self.errors[:, None]).T

    def summary(self) -> str:
        """Return the largest eigenvalues as text.

        Returns
        -------
        str
            How many are above 1, and the first eight.
        """
        shown = ", ".join(f"{value:.4g}" for value in self.values[:8])
        return (
            f"{int((self.values > 1).sum())} of {len(self.values)} eigenvalues above 1; the largest: {shown}"
        )


def coordinates(s: BagStatistics) -> Array:
    """Return vectors with the inner products of the naive means, (B, r), r at most B.

    The means themselves if they are vectors of fewer than B dimensions, turned into B dimensions if they are longer,
    otherwise a pivoted Cholesky factor of the Gram matrix. Smooth kernels in few dimensions have few coordinates:
    products with them are cheaper than with the Gram matrix.

    Parameters
    ----------
    s : BagStatistics
        Statistics of the bags.

    Returns
    -------
    ndarray of shape (B, r)
        One naive mean a row.

    Notes
    -----
    From the Gram matrix, the squared norm of what is left out of a mean is at most about B times the rounding error of
    the largest one. Time O(B r^2), and O(d B^2) to turn vectors.

    Examples
    --------
    >>> from stbmta import RBF, Bags, bag_statistics
    >>> s = bag_statistics(Bags.from_list(np.linspace(0, 1, 200).reshape(50, 4)), RBF(1.0))
    >>> vectors = coordinates(s)
    >>> vectors.shape[1] < 15, bool(np.allclose(vectors @ vectors.T, s.gram, rtol=0, atol=1e-12))
    (True, True)
    """
    if s.means is not None:
        # Never from the Gram matrix: squares of a common offset would swallow the differences of the means.
        return s.means if s.dim < len(s) else np.asarray(np.linalg.qr(s.means.T, mode="r")).T
    factor, pivots, rank, _ = scipy.linalg.lapack.dpstrf(s.gram, lower=1)
    found = np.zeros((len(s), rank))
    found[pivots - 1] = np.tril(factor)[:, :rank]
    return found


def spectrum(s: BagStatistics, *, mse: npt.ArrayLike | None = None) -> Spectrum:
    """Return the spectrum of the naive means.

    Parameters
    ----------
    s : BagStatistics
        Statistics of the bags.
    mse : array-like of shape (B,), optional
        The squared errors of the naive means; their estimates by default.

    Returns
    -------
    Spectrum
        Eigenvalues, largest first, with their eigenvectors and the standard errors.

    Notes
    -----
    Time O(B r^2) with r the number of :func:`coordinates`.

    Examples
    --------
    >>> from stbmta import Bags, bag_statistics
    >>> s = bag_statistics(Bags.from_list([[0.0, 2.0], [1.0, 3.0]]))
    >>> spectrum(s).values.round(6)
    array([5.])
    """
    squared = given_errors(s, mse)
    # Bags without any error are very good bags.
    errors = np.sqrt(np.maximum(squared, 1e-12 * squared.max() if squared.max() > 0 else 1.0))
    # Singular values of vectors, not eigenvalues of their squares: a common offset would swallow all others.
    vectors, roots, _ = np.linalg.svd(coordinates(s) / errors[:, None], full_matrices=False)
    return Spectrum(values=roots**2, vectors=vectors, errors=errors)


def rank_filter(values: Array, rank: int | None = None) -> Array:
    r"""Keep :math:`(1 - 1 / \lambda)_+` of the largest components, and nothing of the others.

    Returns
    -------
    ndarray
        The share kept of each component, below 1.

    Examples
    --------
    >>> rank_filter(np.array([4.0, 2.0, 0.5]), rank=1)
    array([0.75, 0.  , 0.  ])
    """
    kept = 1 - 1 / np.maximum(values, 1.0)
    if rank is not None:
        kept[rank:] = 0.0
    return kept


def optimal_filter(values: Array, n_bags: int, dimension: float) -> Array:
    r"""Keep what is optimal for noise that is spread evenly over many dimensions (Gavish and Donoho 2017).

    With :math:`\beta` the smaller over the larger of B and d, and :math:`y^2 = \lambda d / \max(B, d)` the
    squared singular values in units of the noise, the share kept of a component is

    .. math:: \frac{\eta(y)}{y} = \frac{\sqrt{(y^2 - \beta - 1)^2 - 4 \beta}}{y^2} \quad (y > 1 + \sqrt\beta)

    and 0 below: those directions are noise.

    Parameters
    ----------
    values : ndarray
        Eigenvalues :math:`\lambda`, as in :class:`Spectrum`: noise alone makes them about 1.
    n_bags : int
        Number of bags, B.
    dimension : float
        The (effective) dimension d of the noise.

    Returns
    -------
    ndarray
        The share kept of each component, below 1.

    Examples
    --------
    >>> optimal_filter(np.array([9.0, 3.0]), n_bags=100, dimension=100.0).round(3)
    array([0.745, 0.   ])
    """
    larger = max(n_bags, dimension)
    beta = min(n_bags, dimension) / larger
    y2 = values * (dimension / larger)
    found = np.sqrt(np.maximum((y2 - beta - 1) ** 2 - 4 * beta, 0.0)) / np.maximum(y2, 1e-300)
    return np.where(y2 > (1 + np.sqrt(beta)) ** 2, found, 0.0)


def spectral(
    s: BagStatistics,
    rank: int | None = None,
    *,
    mse: npt.ArrayLike | None = None,
    dimension: float | None = None,
    rows: Rows = slice(None),
) -> Array:
    r"""Return the weights of spectral shrinkage, :math:`W = S^{1/2} U f(\Lambda) U' S^{-1/2}`.

    :math:`S^{-1/2} \hat G S^{-1/2} = U \Lambda U'` is the spectrum of the naive means, S the diagonal matrix of
    their errors.

    Parameters
    ----------
    s : BagStatistics
        Statistics of the bags.
    rank : int, optional
        Keep so many components, by :func:`rank_filter`. None: :func:`optimal_filter`.
    mse : array-like of shape (B,), optional
        The squared errors of the naive means; their estimates by default.
    dimension : float, optional
        The effective dimension of the noise, for the optimal filter; the number of features by default.
    rows : slice or array of int, optional
        Only these rows of the matrix.

    Returns
    -------
    ndarray of shape (rows, B)
        Row i holds the weights of the naive means in estimate i.

    Notes
    -----
    Proven under conditions: for isotropic Gaussian noise of known variance, means of low rank and B, d growing at a
    fixed ratio, no other shrinkage of singular values has a smaller squared error in the limit. For other noise and for
    a rank chosen by held-out points it is a heuristic. Rows need not sum to 1, and weights can be negative.

    Examples
    --------
    >>> from stbmta import bag_statistics, datasets
    >>> sample = datasets.unif(200, 100, active=2, rng=0)
    >>> s = bag_statistics(sample.bags)
    >>> W = spectral(s, mse=np.full(200, 100.0))
    >>> bool(((W @ s.means - sample.means) ** 2).sum() < 0.05 * ((s.means - sample.means) ** 2).sum())
    True
    """
    if rank is not None and rank < 0:
        raise ValueError(f"rank must be at least 0, found {rank}.")
    found = spectrum(s, mse=mse)
    if rank is None:
        kept = optimal_filter(found.values, len(s), s.dim if dimension is None else dimension)
    else:
        kept = rank_filter(found.values, rank)
    return found.weights(kept, rows)


def denoised_distances(s: BagStatistics, W: Array, rows: Rows = slice(None)) -> Array:
    r"""Return the squared distances of the estimates ``W @ naive``, (rows, B).

    Tests and water-filling on them see the geometry without most of the noise; pass them as `squared_distances`.

    Parameters
    ----------
    s : BagStatistics
        Statistics of the bags.
    W : ndarray of shape (B, B)
        The weights, such as those of :func:`spectral`.
    rows : slice or array of int, optional
        Only the distances of these estimates to all.

    Returns
    -------
    ndarray of shape (rows, B)
        At least 0; from an estimate to itself exactly 0.

    Examples
    --------
    >>> from stbmta import Bags, bag_statistics
    >>> s = bag_statistics(Bags.from_list([[0.0, 2.0], [4.0, 6.0]]))
    >>> denoised_distances(s, np.eye(2))
    array([[ 0., 16.],
           [16.,  0.]])
    """
    return vector_distances(moved_means(s, W), rows)


def moved_means(s: BagStatistics, W: Array) -> Array:
    """Return the estimates ``W @ naive`` in :func:`coordinates` around a common center, (B, r)."""
    vectors = coordinates(s)
    # A center changes no distance; without it, means that are far from 0 would lose accuracy.
    center = vectors.mean(axis=0)
    return W @ (vectors - center) + (W.sum(axis=1) - 1)[:, None] * center


def vector_distances(vectors: Array, rows: Rows = slice(None)) -> Array:
    """Return the squared distances of some vectors to all, (rows, B)."""
    chosen = np.arange(len(vectors))[rows]
    norms = np.einsum("ij,ij->i", vectors, vectors)
    found = np.maximum(norms[chosen][:, None] + norms - 2 * vectors[chosen] @ vectors.T, 0.0)
    found[np.arange(len(chosen)), chosen] = 0.0
    return found
