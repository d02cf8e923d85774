"""Neighbors by p-values: one for each pair of bags, corrected for testing many.

An alternative to a common threshold (:mod:`stbmta.similarity`). Two questions may be asked of a pair:

- Are the means *equal*? Pairs for which this is not rejected are neighbors. Corrections then bound how often bags
  with equal means are missed (the event B of the paper at distance 0).
- Are they *at least a radius apart*? Pairs for which this is rejected are neighbors. Corrections then bound how often
  bags that far apart are declared similar (the event A).
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigvalsh

from .bags import Bags
from .kernels import Kernel, Linear, Precomputed, as_kernel
from .labels import labels_index
from .progress import progress_bar
from .similarity import Neighbors, known_mse
from .statistics import BagStatistics, bag_statistics
from .theory import dimension, pvalues, traces
from .vectors import power_of_two

__all__ = ["PairPValues", "pair_pvalues"]

Array = npt.NDArray[np.float64]
Method = Literal["chi-square", "normal", "permutation", "gaussian"]
Correction = Literal["holm", "bonferroni", "sidak", "fdr_bh", "fdr_by"]

# Kernel values that cancel leave this much of them behind; smaller deviations are rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class PairPValues:
    """P-values of all pairs of bags.

    Attributes
    ----------
    pvalues : ndarray of shape (B, B)
        Symmetric. The diagonal is nan: a bag is not tested against itself.
    distances : ndarray of shape (B, B)
        The squared distances that were tested: unbiased, or those of the naive means for "gaussian".
    labels : ndarray of shape (B,)
    method : str
        How they were computed.
    tau : float or None
        None: small p-values mean that the means differ. A number: small p-values mean that they are closer than
        ``tau`` times the largest naive error.
    """

    pvalues: Array
    distances: Array
    labels: npt.NDArray[Any]
    method: Method
    tau: float | None

    def corrected(self, correction: Correction = "holm") -> Array:
        """Return p-values that are corrected for the number of pairs.

        Parameters
        ----------
        correction : {"holm", "bonferroni", "sidak", "fdr_bh", "fdr_by"}, default="holm"
            The first three bound the probability of any false rejection ("sidak" for independent pairs), the last
            two the expected share of false ones, for positively dependent and for any pairs.

        Returns
        -------
        ndarray of shape (B, B)
            At most alpha where the hypothesis is rejected at level alpha.

        Notes
        -----
        By ``statsmodels.stats.multitest.multipletests``, over the B (B - 1) / 2 pairs.
        """
        from statsmodels.stats.multitest import multipletests

        if correction not in get_args(Correction):
            raise ValueError(
                f"correction must be one of {', '.join(get_args(Correction))}; found {correction!r}."
            )
        above = np.triu_indices(len(self.labels), 1)
        result = np.full_like(self.pvalues, np.nan)
        if len(above[0]):
            with np.errstate(divide="ignore"):  # Sidak's takes the logarithm of 1 - p
                result[above] = multipletests(self.pvalues[above], method=correction)[1]
            result.T[above] = result[above]
        return result

    def neighbors(self, alpha: float = 0.05, correction: Correction = "holm") -> Neighbors:
        """Return which bags are neighbors, for example for :func:`stbmta.weights.stb`.

        Parameters
        ----------
        alpha : float, default=0.05
            Level of the corrected tests.
        correction : str, default="holm"
            As in :meth:`corrected`.

        Returns
        -------
        ndarray of bool, shape (B, B)
            Symmetric, the diagonal True. Without a radius, the pairs whose means are not found to differ; with one,
            those that are found to be closer.
        """
        if not 0 < alpha < 1:
            raise ValueError(f"alpha must be above 0 and below 1, found {alpha!r}.")
        rejected = self.corrected(correction) <= alpha
        found = rejected if self.tau is not None else ~rejected
        np.fill_diagonal(found, True)
        return found

    def to_frame(self) -> Any:
        """Return one row for each pair: labels, squared distance, p-value and Holm's corrected p-value.

        Returns
        -------
        pandas.DataFrame
            Columns `bag`, `other`, `distance`, `pvalue` and `holm`.
        """
        import pandas as pd

        first, second = np.triu_indices(len(self.labels), 1)
        index = labels_index(self.labels)
        return pd.DataFrame(
            {
                "bag": index[first],
                "other": index[second],
                "distance": self.distances[first, second],
                "pvalue": self.pvalues[first, second],
                "holm": self.corrected("holm")[first, second],
            }
        )

    def summary(self) -> str:
        """Return the number of neighbors at level 0.05 by each correction, as text.

        Returns
        -------
        str
            The hypothesis, and one line for each correction.
        """
        n_bags = len(self.labels)
        question = "equal means" if self.tau is None else f"means at least {self.tau:g} naive errors apart"
        lines = [f"{n_bags} bags, {n_bags * (n_bags - 1) // 2} pairs, hypothesis: {question} ({self.method})"]
        for correction in get_args(Correction):
            pairs = (int(self.neighbors(correction=correction).sum()) - n_bags) // 2
            lines.append(f"  {correction:<11}{pairs:>9} pairs of neighbors at level 0.05")
        return "\n".join(lines)


def pair_pvalues(
    bags: Bags,
    kernel: Kernel | str = "linear",
    *,
    method: Method = "chi-square",
    tau: float | None = None,
    variance: float = 1.0,
    n_permutations: int = 999,
    rng: np.random.Generator | int | None = None,
    n_threads: int | None = None,
) -> PairPValues:
    r"""Compute a p-value for each pair of bags.

    Parameters
    ----------
    bags : Bags
        The bags to compare; they may differ in size.
    kernel : Kernel or str, default="linear"
        A kernel object, or the name of one: "linear", "rbf", "laplacian" or "polynomial".
    method : {"chi-square", "normal", "permutation", "gaussian"}, default="chi-square"
        "chi-square" and "normal" compare the unbiased squared distance U with its standard deviation, estimated from
        traces of the covariances; the chi-square has the skewness of U too and is right farther out in the tail.
        "permutation" shuffles the points of the two bags: exact for equal distributions, slow, and never below
        1 / (1 + `n_permutations`). "gaussian" is exact for isotropic Gaussian points with known variance (linear
        kernel), bags of one point included.
    tau : float, optional
        None: test whether the means are equal. A number: test whether they are at least
        :math:`\sqrt{\tau} \bar\sigma` apart, :math:`\bar\sigma^2` being the largest naive error ("normal" and
        "gaussian" only).
    variance : float, default=1.0
        Of each coordinate, for "gaussian".
    n_permutations : int, default=999
        For "permutation". To reject anything among M pairs at level alpha by a family-wise correction it takes more
        than M / alpha.
    rng : Generator, int or None
        For "permutation".
    n_threads : int, optional
        All available cores by default. It does not change the result.

    Returns
    -------
    PairPValues
        P-values that are not yet corrected for the number of pairs.

    Notes
    -----
    With n points in all: "chi-square" and "normal" take time O(n^2 d) and memory for the kernel values of one bag with
    all others; "permutation" O(B n^2 (d + `n_permutations`)); "gaussian" O(n d + B^2 d), and some 50
    microseconds for each pair. Bags need four points for the
    traces, and the chi-square at least one bag of six; permutations need two.

    The traces are the unbiased ones of :mod:`stbmta.theory.traces`; where one is negative by chance it counts as 0. The
    degrees of freedom are pooled over all bags, the traces of each in units of its own tr(S): bags may differ in scale.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bags = Bags.from_list([rng.normal(size=(20, 30)) + (i >= 3) for i in range(6)])
    >>> p = pair_pvalues(bags)
    >>> p.neighbors().astype(int)
    array([[1, 1, 1, 0, 0, 0],
           [1, 1, 1, 0, 0, 0],
           [1, 1, 1, 0, 0, 0],
           [0, 0, 0, 1, 1, 1],
           [0, 0, 0, 1, 1, 1],
           [0, 0, 0, 1, 1, 1]])
    """
    if method not in get_args(Method):
        raise ValueError(f"method must be one of {', '.join(get_args(Method))}; found {method!r}.")
    if tau is not None and method not in ("normal", "gaussian"):
        raise ValueError(f"tau needs method='normal' or 'gaussian'; found {method!r}.")
    if tau is not None and not (np.isfinite(tau) and tau > 0):
        raise ValueError(f"tau must be a positive number, found {tau!r}.")
    kernel = as_kernel(kernel).resolve(bags)
    s = bag_statistics(bags, kernel, n_threads=n_threads)
    if method == "gaussian":
        found, distances = _gaussian(s, tau, variance), s.mmd2(unbiased=False)
    elif method == "permutation":
        bags.require_size(2, "its variance")
        found, distances = _permuted(bags, kernel, n_permutations, rng), s.mmd2()
    else:
        found, distances = _calibrated(bags, kernel, s, tau, method), s.mmd2()
    np.fill_diagonal(found, np.nan)
    return PairPValues(pvalues=found, distances=distances, labels=bags.labels, method=method, tau=tau)


def _gaussian(s: BagStatistics, tau: float | None, variance: float) -> Array:
    """Exact p-values from the noncentral chi-square law; bags may differ in size."""
    errors = known_mse(s, variance)
    above = np.triu_indices(len(errors), 1)
    each = (
        errors[above[0]] + errors[above[1]]
    ) / s.dim  # variance of a coordinate of the difference of two means
    squares = s.mmd2(unbiased=False)[above]
    found = np.ones_like(s.gram)
    if tau is None:
        found[above] = pvalues.gaussian_difference(squares, s.dim, each)
    else:
        found[above] = pvalues.gaussian_similarity(squares, s.dim, each, tau * errors.max())
    found.T[above] = found[above]
    return found


def _calibrated(bags: Bags, kernel: Kernel, s: BagStatistics, tau: float | None, method: str) -> Array:
    """P-values of U from its estimated variance."""
    bags.require_size(4, "the trace of its squared covariance")
    sizes = bags.sizes.astype(np.float64)
    # Traces are up to sixth powers of the data, which could overflow, or vanish: distances in a unit of their own.
    unit = float(power_of_two((s.naive_mse * sizes).mean()))
    square, cube, largest, products = _traces(bags, kernel, unit)
    u, error = s.mmd2() / unit, s.naive_mse / unit
    variance = dimension.u_variance(square[:, None], square, products, sizes[:, None], sizes)
    share = _noise(bags, s) / unit
    noise = share[:, None] + share
    constant = variance <= noise**2
    safe = np.where(constant, 1.0, variance)
    if tau is not None:
        radius2 = tau * float(error.max())
        along = largest / sizes
        safe = safe + 4 * radius2 * (along[:, None] + along)
        return np.where(
            constant, np.where(u < radius2, 0.0, 1.0), pvalues.kernel_similarity(u, safe, radius2)
        )
    degrees = _degrees(square, cube, error * sizes, sizes, share) if method == "chi-square" else np.inf
    # Bags without any spread: their means are equal up to rounding, or certainly not.
    return np.where(constant, np.where(u <= noise, 1.0, 0.0), pvalues.kernel_difference(u, safe, degrees))


def _degrees(square: Array, cube: Array, trace: Array, sizes: Array, noise: Array) -> float:
    """Degrees of freedom pooled over bags, each in units of its own trace, so that no bag decides by its scale."""
    large = sizes >= 6
    if not large.any():
        raise ValueError(
            "method='chi-square' needs a bag of at least 6 points for the skewness; use method='normal'."
        )
    large &= trace > noise
    if not large.any():
        return np.inf
    weights = sizes[large] - 1
    shares = (v[large] / trace[large] ** power for v, power in ((square, 2), (cube, 3)))
    pooled = (float(np.average(share, weights=weights)) for share in shares)
    return max(float(pvalues.chi_square_degrees(*pooled)), 1.0)  # no covariance has less


def _noise(bags: Bags, s: BagStatistics) -> Array:
    """How far from 0 rounding may move a squared distance: the share of each bag."""
    norms = np.diagonal(s.centered_gram)
    if not isinstance(s.kernel, Linear):
        return _ROUNDING * (norms + s.scatter)
    # A common offset is taken away, but not the digits that it costs. A far mean costs digits without spread only.
    offset = bags.dim * (4 * float(np.spacing(np.abs(bags.data).max()))) ** 2
    return offset + _ROUNDING * (s.scatter + np.where(s.scatter > offset, 0.0, norms))


def _traces(bags: Bags, kernel: Kernel, unit: float) -> tuple[Array, Array, Array, Array]:
    """Return tr(S^2), tr(S^3) and the largest eigenvalue of each bag's covariance S, and tr(S S') of each pair.

    Of kernel values in the unit. tr(S^3) is nan for bags of less than six points.
    """
    n_bags = len(bags)
    square, cube, largest = np.empty(n_bags), np.full(n_bags, np.nan), np.empty(n_bags)
    products = np.zeros((n_bags, n_bags))
    with progress_bar("traces", n_bags) as advance:
        for i in range(n_bags):
            data = _near_bag(bags, kernel, i)
            starts = bags.offsets[i:-1] - bags.offsets[i]
            values = _kernel_values(bags, kernel, data, i)
            values /= unit
            n = int(bags.sizes[i])
            gram = values[:, :n]
            square[i] = max(traces.trace_squared(gram), 0.0)
            if n >= 6:
                cube[i] = traces.trace_cubed(gram)
            top = eigvalsh(traces.center_gram(gram), subset_by_index=[n - 1, n - 1])
            largest[i] = max(float(top[0]), 0.0) / (n - 1)
            # The values of bag i with all later bags, centered within both bags.
            values -= values.mean(axis=0)
            means = np.add.reduceat(values, starts, axis=1) / bags.sizes[i:]
            values -= np.repeat(means, bags.sizes[i:], axis=1)
            sums = np.add.reduceat((values**2).sum(axis=0), starts)
            products[i, i:] = sums / ((n - 1.0) * (bags.sizes[i:] - 1.0))
            advance()
    return square, cube, largest, products + np.triu(products, 1).T


def _permuted(
    bags: Bags, kernel: Kernel, n_permutations: int, rng: np.random.Generator | int | None
) -> Array:
    """P-values of U among its values when the points of both bags are shuffled."""
    if not (isinstance(n_permutations, (int, np.integer)) and n_permutations >= 1):
        raise ValueError(f"n_permutations must be an integer of at least 1, found {n_permutations!r}.")
    generator = np.random.default_rng(rng)
    n_bags = len(bags)
    found = np.ones((n_bags, n_bags))
    with progress_bar("permutations", n_bags) as advance:
        for i in range(n_bags):
            data = _near_bag(bags, kernel, i)
            values = _kernel_values(bags, kernel, data, i)
            n = int(bags.sizes[i])
            for j in range(i + 1, n_bags):
                m = int(bags.sizes[j])
                a = int(bags.offsets[j] - bags.offsets[i])
                between = values[:, a : a + m]
                own = _kernel_values(bags, kernel, data, j, only=True)
                gram = np.block([[values[:, :n], between], [between.T, own]])
                found[i, j] = found[j, i] = _permutation_pvalue(gram, n, n_permutations, generator)
            advance()
    return found


def _permutation_pvalue(gram: Array, n: int, n_permutations: int, generator: np.random.Generator) -> float:
    """P-value of one pair from the kernel values of both bags together; the first n points are the first bag."""
    total = len(gram)
    m = total - n
    np.fill_diagonal(gram, 0.0)
    first = np.zeros((n_permutations + 1, total))
    first[:, :n] = 1.0
    first[1:] = generator.permuted(first[1:], axis=1)  # row 0 is what was observed
    within = np.einsum("ri,ri->r", first @ gram, first)
    across = first @ gram.sum(axis=1) - within
    rest = gram.sum() - within - 2 * across
    u = within / (n * (n - 1.0)) + rest / (m * (m - 1.0)) - 2 * across / (n * float(m))
    return float(pvalues.permutation(u[0], u[1:], scale=np.abs(gram).max()))


def _near_bag(bags: Bags, kernel: Kernel, i: int) -> Array:
    """Return the points, for the linear kernel less the mean of a bag: no distance changes, and fewer digits cancel."""
    data = bags.data.astype(np.float64, copy=False)
    own = data[bags.offsets[i] : bags.offsets[i + 1]]
    return data - own.mean(axis=0) if isinstance(kernel, Linear) else data


def _kernel_values(bags: Bags, kernel: Kernel, data: Array, i: int, only: bool = False) -> Array:
    """Return the kernel values of the points of bag i with those of itself and all later bags, or only itself."""
    start, stop = int(bags.offsets[i]), int(bags.offsets[i + 1])
    end = stop if only else len(data)
    if isinstance(kernel, Precomputed) and not callable(kernel.values):
        rows = bags.rows
        return kernel.values[np.ix_(rows[start:stop], rows[start:end])].astype(np.float64)
    return np.array(kernel(data[start:stop], data[start:end]), dtype=np.float64)
