r"""The squared error of estimates, where the truth is known or has an independent proxy.

For any weights :math:`|\sum_j w_{ij} \hat\mu_j - \mu_i|^2 = w_i' G w_i - 2 w_i' c_i + |\mu_i|^2` with
:math:`c_{ji} = \langle \hat\mu_j, \mu_i \rangle`. A :class:`Truth` holds c and the norms; one function a
source of them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy  # its parts load when first used

from .bags import Bags
from .inputs import as_matrix
from .kernels import RBF, Kernel, Linear, as_kernel
from .statistics import BagStatistics, bag_statistics, cross_statistics
from .vectors import centered_means

__all__ = [
    "Truth",
    "gaussian_gram",
    "gaussian_truth",
    "known_means",
    "proxy_truth",
    "squared_error",
    "squared_norms",
]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    r"""The true means, as far as errors need to know them.

    Attributes
    ----------
    cross : ndarray of shape (B, m)
        :math:`\langle \hat\mu_j, \mu_i \rangle`, row j, column i.
    norms : ndarray of shape (m,)
        :math:`|\mu_i|^2`.
    means : ndarray of shape (m, d) or None
        The means themselves, for the linear kernel; errors are then computed from them directly.
    noise : ndarray of shape (m,) or None
        The squared errors of `means`, where they are a proxy; they are taken off.
    kernel : Kernel or None
        Of the embeddings, if it is known; statistics of another one are refused.
    """

    cross: Array | None
    norms: Array | None
    means: Array | None = None
    noise: Array | None = None
    kernel: Kernel | None = None

    def __len__(self) -> int:
        """Return the number of true means, m."""
        found = self.norms if self.means is None else self.means
        assert found is not None
        return len(found)

    def check(self, s: BagStatistics) -> None:
        """Refuse statistics of another kernel, other bags or other features."""
        if self.means is not None and s.means is None:
            raise ValueError("known means are vectors; they need statistics of the linear kernel.")
        if self.kernel is not None and self.kernel != s.kernel:
            raise ValueError(f"the truth is for {self.kernel!r}, but the statistics are of {s.kernel!r}.")
        if self.means is not None and self.means.shape[1:] != (s.dim,):
            raise ValueError(f"the true means have shape {self.means.shape}, but the bags {s.dim} columns.")
        if self.cross is not None and len(self.cross) != len(s):
            raise ValueError(f"the truth was made for {len(self.cross)} bags, but there are {len(s)}.")


def squared_error(W: Any, s: BagStatistics, truth: Truth) -> Array:
    r"""Return the squared error of the estimate of each mean, (m,).

    Parameters
    ----------
    W : array or scipy.sparse matrix of shape (m, B)
        The weights of the naive means in each estimate.
    s : BagStatistics
        Of the bags that the estimates are made of.
    truth : Truth
        The true means, one for each row of `W`.

    Returns
    -------
    ndarray of shape (m,)
        One squared error for each row of `W`.

    Notes
    -----
    Against a proxy the error is unbiased, and can therefore be negative.

    Examples
    --------
    >>> from stbmta import bag_statistics
    >>> s = bag_statistics(Bags.from_list([[0.0, 2.0], [1.0, 3.0]]))
    >>> squared_error(np.full((2, 2), 0.5), s, known_means([[1.0], [2.0]]))
    array([0.25, 0.25])
    """
    truth.check(s)
    W = W if scipy.sparse.issparse(W) else np.asarray(W, dtype=np.float64)
    if W.shape != (len(truth), len(s)):
        raise ValueError(
            f"W has shape {W.shape}; one row for each of {len(truth)} true means and one column for each of "
            f"{len(s)} bags are needed."
        )
    if truth.means is not None:
        difference = W @ s.means - truth.means
        squares = np.einsum("ij,ij->i", difference, difference)
        return squares if truth.noise is None else squares - truth.noise
    assert truth.cross is not None
    assert truth.norms is not None
    if scipy.sparse.issparse(W):
        quadratic = np.asarray(W.multiply(W @ s.gram).sum(axis=1)).ravel()
        linear = np.asarray(W.multiply(truth.cross.T).sum(axis=1)).ravel()
    else:
        quadratic = np.einsum("ij,ij->i", W @ s.gram, W)
        linear = np.einsum("ij,ji->i", W, truth.cross)
    return quadratic - 2 * linear + truth.norms


def known_means(means: npt.ArrayLike) -> Truth:
    """Return the truth for the linear kernel when the means are known.

    Parameters
    ----------
    means : array-like of shape (m, d)
        A one-dimensional array is m means with d = 1.

    Returns
    -------
    Truth
        For statistics of the linear kernel.

    Examples
    --------
    >>> known_means([1.0, 2.0]).means
    array([[1.],
           [2.]])
    """
    return Truth(cross=None, norms=None, means=as_matrix(means, "means").astype(np.float64), kernel=Linear())


def proxy_truth(bags: Bags, proxy: Bags, kernel: Kernel | str, *, n_threads: int | None = None) -> Truth:
    r"""Return a proxy of the truth from independent bags of the same distributions.

    The norms leave out k(y, y): errors are unbiased when the diagonal is kept for the estimate and
    dropped for the proxy (the paper's footnote). For the linear kernel that is
    :math:`|\tilde\mu_i - \hat\nu_i|^2` less the squared error of the proxy mean :math:`\hat\nu_i`, and is computed so.

    Parameters
    ----------
    bags : Bags
        The bags that the estimates are made of.
    proxy : Bags
        One bag for each estimate, of at least two points.
    kernel : Kernel or str
        A kernel object, or the name of one: "linear", "rbf", "laplacian" or "polynomial".
    n_threads : int, optional
        All available cores by default. It does not change the result.

    Returns
    -------
    Truth
        One proxy for each bag of `proxy`; errors against it are unbiased, and can be negative.

    Examples
    --------
    >>> from stbmta import bag_statistics
    >>> bags, proxy = Bags.from_list([[0.0, 2.0]]), Bags.from_list([[1.0, 3.0]])
    >>> squared_error(np.eye(1), bag_statistics(bags), proxy_truth(bags, proxy, "linear"))
    array([0.])
    """
    proxy.require_size(2, "an unbiased proxy of the truth")
    kernel = as_kernel(kernel).resolve(bags)
    if isinstance(kernel, Linear):
        center, means, squares = centered_means(proxy, n_threads)
        counts = proxy.sizes.astype(np.float64)
        noise = squares / (counts * (counts - 1))
        return Truth(cross=None, norms=None, means=center + means, noise=noise, kernel=kernel)
    return Truth(
        cross=cross_statistics(bags, proxy, kernel, n_threads=n_threads),
        norms=squared_norms(proxy, kernel, unbiased=True, n_threads=n_threads),
        kernel=kernel,
    )


def squared_norms(
    bags: Bags, kernel: Kernel | str, *, unbiased: bool = False, n_threads: int | None = None
) -> Array:
    r"""Return the squared norm of the naive mean of each bag, (B,).

    Parameters
    ----------
    bags : Bags
        The bags whose means are measured.
    kernel : Kernel or str
        A kernel object, or the name of one: "linear", "rbf", "laplacian" or "polynomial".
    unbiased : bool, default=False
        Estimate :math:`|\mu_i|^2`: leave out k(x, x). Needs two points a bag.
    n_threads : int, optional
        All available cores by default. It does not change the result.

    Returns
    -------
    ndarray of shape (B,)
        Can be negative if `unbiased`.

    Notes
    -----
    Time :math:`O(\sum_i N_i^2)`: bag by bag, without the sums between different bags.

    Examples
    --------
    >>> bags = Bags.from_list([[1.0, 3.0]])
    >>> squared_norms(bags, "linear"), squared_norms(bags, "linear", unbiased=True)
    (array([4.]), array([3.]))
    """
    kernel = as_kernel(kernel).resolve(bags)
    found = np.empty(len(bags))
    for i in range(len(bags)):
        own = bag_statistics(bags.select([i]), kernel, n_threads=n_threads)
        found[i] = own.gram[0, 0] - (own.naive_mse[0] if unbiased else 0.0)
    return found


def gaussian_truth(bags: Bags, means: npt.ArrayLike, covariances: npt.ArrayLike, kernel: RBF) -> Truth:
    r"""Return the exact truth when bag i is drawn from a Gaussian and the kernel is RBF.

    For :math:`P_i = N(m_i, \Sigma_i)` and width s,

    .. math:: \langle \mu_i, \phi(x) \rangle = |I + \Sigma_i / s^2|^{-1/2}
              \exp\bigl(-\tfrac12 (x - m_i)' (\Sigma_i + s^2 I)^{-1} (x - m_i)\bigr), \qquad
              |\mu_i|^2 = |I + 2 \Sigma_i / s^2|^{-1/2}.

    Parameters
    ----------
    bags : Bags
        The bags that the estimates are made of.
    means : array-like of shape (m, d)
        The centers of the Gaussians, one a row.
    covariances : float or array-like of shape (m, d, d) or (d, d)
        A number is the variance of each coordinate, which are then independent.
    kernel : RBF
        With a number as bandwidth.

    Returns
    -------
    Truth
        Inner products of the embeddings with the naive means, and their squared norms.

    Examples
    --------
    >>> from stbmta import RBF
    >>> truth = gaussian_truth(Bags.from_list([[0.0]]), [[0.0]], [[1.0]], RBF(1.0))
    >>> truth.norms.round(4), truth.cross.round(4)
    (array([0.5774]), array([[0.7071]]))
    """
    centers, spreads, width = _gaussians(means, covariances, kernel)
    if centers.shape[1] != bags.dim:
        raise ValueError(f"the means have {centers.shape[1]} columns, but the bags {bags.dim}.")
    points = bags.data.astype(np.float64, copy=False)
    cross = np.empty((len(bags), len(centers)))
    norms = np.empty(len(centers))
    identity = np.eye(bags.dim)
    for i, (center, spread) in enumerate(zip(centers, spreads, strict=True)):
        factor = scipy.linalg.cholesky(identity + spread / width**2, lower=True)
        whitened = scipy.linalg.solve_triangular(factor, (points - center).T / width, lower=True)
        log_volume = np.log(np.diagonal(factor)).sum()  # a product would overflow in many dimensions
        values = np.exp(-0.5 * np.einsum("ij,ij->j", whitened, whitened) - log_volume)
        cross[:, i] = np.add.reduceat(values, bags.offsets[:-1]) / bags.sizes
        norms[i] = np.exp(-0.5 * np.linalg.slogdet(identity + 2 * spread / width**2).logabsdet)
    return Truth(cross=cross, norms=norms, kernel=kernel)


def gaussian_gram(means: npt.ArrayLike, covariances: npt.ArrayLike, kernel: RBF) -> Array:
    r"""Return the inner products of the RBF mean embeddings of Gaussians, (m, m).

    .. math:: \langle \mu_i, \mu_j \rangle = |I + (\Sigma_i + \Sigma_j) / s^2|^{-1/2}
              \exp\bigl(-\tfrac12 (m_i - m_j)' (\Sigma_i + \Sigma_j + s^2 I)^{-1} (m_i - m_j)\bigr)

    Returns
    -------
    ndarray of shape (m, m)
        Symmetric; the squared norms are on the diagonal.

    Examples
    --------
    >>> gaussian_gram([[0.0], [1.0]], [[1.0]], RBF(1.0)).round(4)
    array([[0.5774, 0.4887],
           [0.4887, 0.5774]])
    """
    centers, spreads, width = _gaussians(means, covariances, kernel)
    sums = np.eye(centers.shape[1]) + (spreads[:, None] + spreads[None, :]) / width**2
    differences = (centers[:, None] - centers[None, :]) / width
    solved = np.linalg.solve(sums, differences[..., None])[..., 0]
    log_volume = np.linalg.slogdet(sums).logabsdet
    return np.exp(-0.5 * (np.einsum("ijk,ijk->ij", differences, solved) + log_volume))


def _gaussians(means: npt.ArrayLike, covariances: npt.ArrayLike, kernel: RBF) -> tuple[Array, Array, float]:
    if not isinstance(kernel, RBF) or isinstance(kernel.bandwidth, str):
        raise ValueError("the closed form is for the RBF kernel with a number as bandwidth.")
    centers = as_matrix(means, "means").astype(np.float64)
    m, d = centers.shape
    spreads = np.asarray(covariances, dtype=np.float64)
    if spreads.ndim == 0:
        spreads = spreads * np.eye(d)
    if spreads.shape not in ((d, d), (m, d, d)):
        raise ValueError(
            f"covariances must be a number or have shape {(d, d)} or {(m, d, d)}; found {spreads.shape}."
        )
    uneven = np.abs(spreads - np.swapaxes(spreads, -1, -2)).max()
    if not uneven <= 1e-8 * np.abs(spreads).max() or (np.diagonal(spreads, axis1=-2, axis2=-1) < 0).any():
        raise ValueError("a covariance matrix is symmetric, with variances of at least 0; these are not.")
    return centers, np.broadcast_to(spreads, (m, d, d)), float(kernel.bandwidth)
