r"""Methods of the related work that the paper names, in the same API.

Feldman, Gupta and Frigyik's multi-task averaging with its closed-form constant and minimax similarity is
:class:`stbmta.MTA`; here are Martinez-Rego and Pontil's clustered variant, and Muandet et al.'s spectral shrinkage of
one kernel mean by itself.
"""

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse

from .aggregation import noise_dimension
from .bags import Bags
from .estimator_base import BagEstimator, Base
from .inputs import check_folds
from .kernels import Kernel
from .points import point_values
from .similarity import given_errors, known_mse
from .statistics import BagStatistics
from .weights import mta_constant

__all__ = ["ClusteredMTA", "SpectralKMSE", "clustered_mta", "spectral_kmse"]

Array = npt.NDArray[np.float64]

# Of the largest eigenvalue of a bag's second moment.
_PENALTIES = np.r_[0.0, np.geomspace(1e-4, 10.0, 16)]
_MOST_CLUSTERS = 50
# A bag is alone if its similarities to all others together are less.
_ALONE = 1e-3


class ClusteredMTA(BagEstimator):
    r"""Multi-task averaging within clusters of tasks (Martinez-Rego and Pontil 2013).

    Spectral clustering puts tasks into groups; within a group all pairs are equally similar, between groups not at all.

    Parameters
    ----------
    kernel : Kernel or str, default="linear"
        A kernel object, or the name of one: "linear", "rbf", "laplacian" or "polynomial".
    n_clusters : int, optional
        At most. None: where the eigenvalues of the tasks' graph have their largest gap, 50 at most unless more are
        clearly separate.
    variance : float, optional
        The variance of each coordinate, if it is known (linear kernel).
    random_state : int, Generator or None
        For the clustering.
    n_threads : int, optional
        All available cores by default. It does not change the result.

    Attributes
    ----------
    clusters_ : ndarray of int, shape (B,)
    weights_, means_, embedding_, gram_, labels_, statistics_
        As for all estimators.

    Notes
    -----
    Heuristic. The similarity of tasks that the clustering sees is exponential in the estimated squared distance over
    two of its standard deviations for equal means, :math:`2 (s_i^2 + s_j^2) \sqrt{2 / d}` with d the effective
    dimension of the noise; the number of clusters is chosen by the gap of eigenvalues, where the authors tune it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bags = [rng.normal(size=(10, 20)) + 3 * (k % 2) for k in range(12)]
    >>> ClusteredMTA(random_state=0).fit(bags).clusters_.reshape(6, 2).std(axis=0)
    array([0., 0.])
    """

    def __init__(
        self,
        kernel: Kernel | str = "linear",
        n_clusters: int | None = None,
        *,
        variance: float | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_clusters = n_clusters
        self.variance = variance
        self.random_state = random_state
        self.n_threads = n_threads

    def _find_weights(self, bags: Bags, s: BagStatistics) -> Array:
        mse = s.naive_mse if self.variance is None else known_mse(s, self.variance)
        dimension = float(s.dim) if self.variance is not None else noise_dimension(bags, s.kernel)
        self.clusters_ = find_clusters(
            s, self.n_clusters, mse=mse, dimension=dimension, random_state=self.random_state
        )
        return clustered_mta(s, self.clusters_, mse=mse)


def find_clusters(
    s: BagStatistics,
    n_clusters: int | None = None,
    *,
    mse: Array,
    dimension: float,
    random_state: Any = None,
) -> npt.NDArray[np.int64]:
    """Return the cluster of each bag, by normalized spectral clustering (as scikit-learn has it)."""
    from sklearn.cluster import KMeans

    B = len(s)
    if n_clusters is not None and n_clusters < 1:
        raise ValueError(f"n_clusters must be at least 1, found {n_clusters!r}.")
    noise = mse[:, None] + mse
    apart = np.maximum(s.mmd2(unbiased=False) - noise, 0.0)
    np.fill_diagonal(apart, 0.0)
    if not apart.any() or n_clusters == 1:  # no two bags differ
        return np.zeros(B, dtype=np.int64)
    spread = 2 * noise * np.sqrt(2 / dimension)  # two standard deviations of U for equal means
    affinity = np.exp(-apart / np.maximum(spread, 1e-12 * apart.max()))
    if n_clusters is None:
        n_clusters = count_clusters(scipy.linalg.eigvalsh(_normalized(affinity)[0])[::-1])
    if n_clusters >= B:
        return np.arange(B)
    # Bags by themselves have nothing in common with others; a loop makes them clusters of their own.
    np.fill_diagonal(affinity, 0.0)
    np.fill_diagonal(affinity, affinity.sum(axis=1) < _ALONE)
    graph, roots = _normalized(affinity)
    # A dense solver: with clusters that have nothing in common, iterations for the eigenvectors break down.
    _, vectors = scipy.linalg.eigh(graph, subset_by_index=(B - n_clusters, B - 1))
    seed = int(np.random.default_rng(random_state).integers(2**31))
    model = KMeans(n_clusters, n_init=10, random_state=seed)
    with warnings.catch_warnings():
        # At most so many clusters: bags that are the same to the last bit may well leave fewer.
        warnings.filterwarnings("ignore", message="Number of distinct clusters")
        return model.fit_predict(vectors / roots[:, None]).astype(np.int64)


def _normalized(affinity: Array) -> tuple[Array, Array]:
    """Return the normalized graph, and the roots of the sums of affinities that it was divided by."""
    roots = np.sqrt(affinity.sum(axis=1))
    return affinity / np.outer(roots, roots), roots


def count_clusters(values: Array) -> int:
    """Return the number of clusters by the eigenvalues of the graph, largest first: where their largest gap is.

    Of the first 50 gaps, or anywhere if it is above 1/2. If the first 51 eigenvalues are all about 1, those gaps are
    rounding: then as many as there are eigenvalues above 1/2.

    Examples
    --------
    >>> count_clusters(np.array([1.0, 0.9, 0.2, 0.1])), count_clusters(np.array([1.0, 1.0, 0.9]))
    (2, 3)
    """
    # A last 0, so that all separate is among the choices.
    gaps = -np.diff(np.maximum(values, 0.0), append=0.0)
    if gaps.max() <= 0.5 and len(gaps) > _MOST_CLUSTERS:
        if values[_MOST_CLUSTERS] > 0.99:
            return int((values > 0.5).sum())
        gaps = gaps[:_MOST_CLUSTERS]
    return int(np.argmax(gaps)) + 1


def clustered_mta(s: BagStatistics, clusters: npt.ArrayLike, *, mse: npt.ArrayLike | None = None) -> Array:
    """Return the weights of MTA const within each cluster, see :func:`stbmta.weights.mta_constant`.

    Parameters
    ----------
    s : BagStatistics
        Statistics of the bags.
    clusters : array-like of shape (B,)
        The cluster of each bag.
    mse : array-like of shape (B,), optional
        The squared errors of the naive means; their estimates by default.

    Returns
    -------
    ndarray of shape (B, B)
        Each row sums to 1; weights are 0 outside the cluster of the bag.

    Examples
    --------
    >>> from stbmta import Bags, bag_statistics
    >>> s = bag_statistics(Bags.from_list([[0.0, 2.0], [4.0, 6.0], [5.0, 9.0]]))
    >>> clustered_mta(s, [0, 0, 1]).round(4)
    array([[0.9375, 0.0625, 0.    ],
           [0.0625, 0.9375, 0.    ],
           [0.    , 0.    , 1.    ]])
    """
    error = given_errors(s, mse)
    names = np.asarray(clusters)
    if names.shape != (len(s),):
        raise ValueError(f"clusters must name one cluster a bag, {len(s)}; found shape {names.shape}.")
    W = np.zeros((len(s), len(s)))
    for name in np.unique(names):
        members = np.flatnonzero(names == name)
        W[np.ix_(members, members)] = mta_constant(_part(s, members), mse=error[members])
    return W


def _part(s: BagStatistics, members: npt.NDArray[np.int64]) -> BagStatistics:
    return BagStatistics(
        sizes=s.sizes[members],
        centered_gram=s.centered_gram[np.ix_(members, members)],
        scatter=s.scatter[members],
        labels=s.labels[members],
        kernel=s.kernel,
        dim=s.dim,
        means=None if s.means is None else s.means[members],
    )


class SpectralKMSE(BagEstimator):
    r"""S-KMSE: shrink each kernel mean by itself, along the eigenvectors of its bag (Muandet et al. 2016).

    :math:`\tilde\mu_i = \hat C_i (\hat C_i + \lambda_i I)^{-1} \hat\mu_i` with :math:`\hat C_i` the second
    moment of the bag: directions in which its points hardly vary are shrunk most. The estimate is a linear map
    of the bag's points rather than of the means.

    Parameters
    ----------
    kernel : Kernel or str, default="linear"
        A kernel object, or the name of one: "linear", "rbf", "laplacian" or "polynomial".
    penalty : float, optional
        :math:`\lambda_i` over the largest eigenvalue of :math:`\hat C_i`. None: chosen by leaving out points,
        one value for all bags.
    n_folds : int, default=5
        Folds of the K-fold choice.
    random_state : int, Generator or None
        Draws folds.
    n_threads : int, optional
        All available cores by default. It does not change the result.

    Attributes
    ----------
    penalty_ : float
    weights_ : scipy.sparse array of shape (B, n)
        Weights of the points, in the order of the bags.
    means_, embedding_, gram_, labels_, statistics_
        As for all estimators.

    Notes
    -----
    Heuristic here: the authors prove consistency, and smaller risk than the naive mean for small penalties. They choose
    the penalty for each bag by leaving out one point at a time; one choice by folds for all bags is less noisy. Time
    O(sum N_i^3); `gram_` needs the kernel values of all pairs of points.

    Examples
    --------
    >>> from stbmta import RBF
    >>> rng = np.random.default_rng(0)
    >>> est = SpectralKMSE(RBF(1.0), random_state=0).fit([rng.normal(size=(20, 2)) for _ in range(5)])
    >>> est.weights_.shape
    (5, 100)
    """

    def __init__(
        self,
        kernel: Kernel | str = "linear",
        penalty: float | None = None,
        *,
        n_folds: int = 5,
        random_state: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.penalty = penalty
        self.n_folds = n_folds
        self.random_state = random_state
        self.n_threads = n_threads

    def _find_weights(self, bags: Bags, s: BagStatistics) -> Any:
        grams = [point_values(bags, i, i, s.kernel) for i in range(len(bags))]
        if self.penalty is None:
            check_folds(self.n_folds)
            rng = np.random.default_rng(self.random_state)
            self.penalty_ = _choose_penalty(grams, self.n_folds, rng)
        else:
            self.penalty_ = float(self.penalty)
        rows = [spectral_kmse(K, self.penalty_) for K in grams]
        indices = np.arange(len(bags.data))
        # Each point is a bag of its own: the estimate stays a linear map of naive means.
        singles = Bags._make(bags.data, np.arange(len(indices) + 1), indices, bags.columns, bags.rows)
        self._base = Base(singles, None)
        return scipy.sparse.csr_array(
            (np.concatenate(rows), indices, bags.offsets), (len(bags), len(indices))
        )


def spectral_kmse(K: Array, penalty: float) -> Array:
    r"""Return the weights of a bag's points in S-KMSE, :math:`(K + N \lambda I)^{-1} K 1 / N`.

    Parameters
    ----------
    K : ndarray of shape (N, N)
        Kernel values between the points.
    penalty : float
        :math:`\lambda` over the largest eigenvalue of K / N; 0 is the naive mean.

    Returns
    -------
    ndarray of shape (N,)
        One weight a point; they need not sum to 1.

    Examples
    --------
    >>> spectral_kmse(np.array([[1.0, 0.0], [0.0, 1.0]]), 1.0)
    array([0.25, 0.25])
    """
    if not (np.isfinite(penalty) and penalty >= 0):
        raise ValueError(f"penalty must be a number of at least 0, found {penalty!r}.")
    values, vectors = scipy.linalg.eigh(K)
    return vectors @ (_kept(values, penalty) * (vectors.T @ np.full(len(K), 1 / len(K))))


def _kept(values: Array, penalty: float) -> Array:
    # Components without any variation stay as they are: there is nothing to shrink, and 0 / 0 is avoided.
    largest = values[-1]
    if penalty == 0 or not largest > 0:
        return np.ones_like(values)
    values = np.maximum(values, 0.0)
    return values / (values + penalty * largest)


def _choose_penalty(grams: list[Array], n_folds: int, rng: np.random.Generator) -> float:
    risk = np.zeros(len(_PENALTIES))
    for K in grams:
        n = len(K)
        order, cuts = rng.permutation(n), np.linspace(0, n, min(n, n_folds) + 1).astype(int)
        for a, b in pairwise(cuts):
            if b - a == n:
                continue  # a bag of one point has nothing to leave out
            rest, fold = np.r_[order[:a], order[b:]], order[a:b]
            inner = K[np.ix_(rest, rest)]
            values, vectors = scipy.linalg.eigh(inner)
            mean = vectors.T @ np.full(len(rest), 1 / len(rest))
            to_fold = vectors.T @ K[np.ix_(rest, fold)].mean(axis=1)
            for k, penalty in enumerate(_PENALTIES):
                kept = _kept(values, penalty) * mean
                risk[k] += (values @ kept**2 - 2 * kept @ to_fold) * (b - a) / n
    return float(_PENALTIES[int(np.argmin(risk))])
