"""Gaussian noise in any dimension at the cost of a few hundred: only inner products matter.

The Gram matrix of B noise vectors in R^d is a Wishart matrix, and its Cholesky factor is known (Bartlett): normal
below the diagonal, roots of chi-squares on it. So the rows of that factor *are* noise vectors, turned into the first
B coordinates. The few coordinates that the means span are drawn as they are.
"""

import numpy as np
import numpy.typing as npt

__all__ = ["compressed_noise"]


def compressed_noise(
    rng: np.random.Generator, n_bags: int, dim: int, spanned: int = 0
) -> npt.NDArray[np.float64]:
    """Draw standard normal vectors of R^d, with all coordinates beyond the first few turned into at most B.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws the noise.
    n_bags : int
        B, the number of vectors.
    dim : int
        Dimension d, up to 1e15.
    spanned : int, default=0
        Coordinates that are kept as they are, because the means lie in them; at most d.

    Returns
    -------
    ndarray of shape (B, spanned + min(B, d - spanned))
        All inner products among its rows, and with vectors of the first coordinates, have jointly the law they
        have in R^d. Memory O(B^2), whatever d.

    Examples
    --------
    >>> e = compressed_noise(np.random.default_rng(0), n_bags=3, dim=10**8)
    >>> e.shape, bool(np.allclose(e @ e.T / 10**8, np.eye(3), atol=1e-3))
    ((3, 3), True)
    """
    if spanned > dim:
        raise ValueError(f"spanned must be at most dim; found {spanned} > {dim}.")
    rest = min(n_bags, dim - spanned)
    factor = np.tril(rng.standard_normal((n_bags, rest)), -1)
    places = np.arange(rest)
    factor[places, places] = np.sqrt(rng.chisquare(dim - spanned - places))
    return np.hstack([rng.standard_normal((n_bags, spanned)), factor])
