r"""Estimated kernel mean embeddings as elements of the Hilbert space.

Step 7 of the way of the data. An estimate is :math:`\tilde\mu_i = \sum_j w_{ij} \hat\mu_j`; all that can be
asked of it (values, inner products, distances) follows from kernel values between points.
"""

import json
import os
from functools import cached_property
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt
import scipy  # its parts load when first used

from .bags import Bags
from .files import atomic_write
from .inputs import as_matrix
from .kernels import RBF, Kernel, Laplacian, Linear, Polynomial, Precomputed, as_kernel
from .labels import as_labels, labels_from_arrays, labels_to_arrays
from .statistics import BagStatistics, bag_statistics, cross_statistics

__all__ = ["KernelMeans"]

Array = npt.NDArray[np.float64]

# Kernels that can be written to a file: their parameters are numbers.
_KINDS: dict[str, type[Kernel]] = {kind.__name__: kind for kind in (Linear, RBF, Laplacian, Polynomial)}


class KernelMeans:
    r"""Weighted combinations of the naive mean embeddings of bags.

    Parameters
    ----------
    bags : Bags
        The points that carry the embeddings.
    kernel : Kernel or str
        A kernel object, or the name of one: "linear", "rbf", "laplacian" or "polynomial".
    weights : array or scipy.sparse matrix of shape (m, B), optional
        Row i holds the weights of estimate i; the naive means by default.
    labels : iterable, optional
        The names of the m estimates; those of the bags by default.
    statistics : BagStatistics, optional
        Of the bags, if they are known already; otherwise computed when needed.
    n_threads : int, optional
        All available cores by default. It does not change the result.

    Examples
    --------
    >>> from stbmta import RBF, Bags
    >>> means = KernelMeans(Bags.from_list([[0.0, 1.0], [5.0, 6.0]]), RBF(1.0))
    >>> means.gram.round(3)
    array([[0.803, 0.   ],
           [0.   , 0.803]])
    >>> means.evaluate([[0.5]]).round(3)
    array([[0.882],
           [0.   ]])
    """

    n_threads: int | None = None

    def __init__(
        self,
        bags: Bags,
        kernel: Kernel | str,
        weights: Any = None,
        labels: Any = None,
        *,
        statistics: BagStatistics | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.bags = bags
        self.n_threads = n_threads
        self.kernel = as_kernel(kernel).resolve(bags)
        self.weights = np.eye(len(bags)) if weights is None else _as_weights(weights)
        self.labels = bags.labels if labels is None else as_labels(labels)
        if self.weights.shape != (len(self.labels), len(bags)):
            raise ValueError(
                f"weights have shape {self.weights.shape}; one row for each of {len(self.labels)} labels "
                f"and one column for each of {len(bags)} bags are needed."
            )
        if statistics is not None:
            self.__dict__["statistics"] = statistics

    def __len__(self) -> int:
        """Return the number of estimates."""
        return len(self.labels)

    def __repr__(self) -> str:
        return f"KernelMeans({len(self)} means of {len(self.bags)} bags, {self.kernel!r})"

    @cached_property
    def statistics(self) -> BagStatistics:
        """The statistics of the bags."""
        return bag_statistics(self.bags, self.kernel, n_threads=self.n_threads)

    @cached_property
    def gram(self) -> Array:
        r"""The inter-task Gram matrix :math:`K_{ij} = \langle \tilde\mu_i, \tilde\mu_j \rangle`, (m, m).

        Symmetric to the last bit; use it with learners that take ``kernel="precomputed"``.
        """
        product = self.weights @ (self.weights @ self.statistics.gram).T
        return (product + product.T) / 2

    def evaluate(self, points: npt.ArrayLike, *, n_threads: int | None = None) -> Array:
        r"""Return the value of each estimated embedding at each point, (m, number of points).

        :math:`\tilde\mu_i(z) = \sum_j w_{ij} N_j^{-1} \sum_k k(x^{(j)}_k, z)`.

        Returns
        -------
        ndarray of shape (m, number of points)
            Row i holds the values of estimate i.
        """
        if isinstance(self.kernel, Precomputed) and not callable(self.kernel.values):
            raise TypeError("a precomputed kernel matrix cannot be evaluated at new points; give a function.")
        z = as_matrix(points, "points")
        singles = Bags.from_offsets(z, np.arange(len(z) + 1))
        threads = self.n_threads if n_threads is None else n_threads
        return self.weights @ cross_statistics(self.bags, singles, self.kernel, n_threads=threads)

    def inner(self, other: "KernelMeans") -> Array:
        """Return the inner products with other estimates of the same kernel, (m, m').

        Returns
        -------
        ndarray of shape (m, m')
            Row i, column j: of estimate i with the other estimate j.
        """
        if other is self:
            return self.gram
        if other.kernel != self.kernel:
            raise ValueError(f"the embeddings use different kernels: {self.kernel!r} and {other.kernel!r}.")
        if isinstance(self.kernel, Precomputed) and not callable(self.kernel.values):
            _check_same_rows(self.bags, other.bags)
        cross = cross_statistics(self.bags, other.bags, self.kernel, n_threads=self.n_threads)
        return (other.weights @ (self.weights @ cross).T).T

    def mmd2(self, other: "KernelMeans | None" = None) -> Array:
        r"""Return the squared distances :math:`|\tilde\mu_i - \tilde\mu_j|^2` of estimates, (m, m').

        Parameters
        ----------
        other : KernelMeans, optional
            These estimates themselves by default.

        Returns
        -------
        ndarray of shape (m, m')
            Row i, column j: from estimate i to the other estimate j, at least 0.
        """
        right = self if other is None else other
        if isinstance(self.kernel, Linear) and isinstance(right.kernel, Linear):
            # Vectors: their differences keep the digits that a common offset takes from inner products.
            return scipy.spatial.distance.cdist(self._vectors(), right._vectors(), "sqeuclidean")
        distances = np.diagonal(self.gram)[:, None] + np.diagonal(right.gram)[None, :] - 2 * self.inner(right)
        if other is None:
            np.fill_diagonal(distances, 0.0)
        return np.maximum(distances, 0.0)

    def _vectors(self) -> Array:
        means = self.statistics.means
        assert means is not None
        return np.asarray(self.weights @ means)

    def witness(self, first: int, second: int, points: npt.ArrayLike) -> Array:
        r"""Return :math:`\tilde\mu_i(z) - \tilde\mu_j(z)` at points, which shows where two bags differ.

        Returns
        -------
        ndarray of shape (number of points,)
            Positive where the embedding of `first` is larger, negative where that of `second` is.
        """
        values = self.evaluate(points)
        return values[first] - values[second]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one NPZ file, without pickles; :meth:`load` reads it.

        Examples
        --------
        >>> from stbmta import RBF, Bags
        >>> KernelMeans(Bags.from_list([[0.0, 1.0]]), RBF(1.0)).save("means.npz")
        >>> KernelMeans.load("means.npz").kernel
        RBF(bandwidth=1.0)
        """
        if isinstance(self.kernel, Precomputed):
            raise TypeError("a precomputed kernel cannot be saved; save the values and the weights yourself.")
        W = scipy.sparse.csr_array(self.weights) if scipy.sparse.issparse(self.weights) else None
        arrays = self.bags.to_arrays()
        arrays |= labels_to_arrays(self.labels, "means_labels")
        arrays["kernel"] = np.array(json.dumps({"name": type(self.kernel).__name__, **vars(self.kernel)}))
        if W is None:
            arrays["weights"] = self.weights
        else:
            arrays |= {"weights_data": W.data, "weights_indices": W.indices, "weights_indptr": W.indptr}
        with atomic_write(path) as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "KernelMeans":
        """Read what :meth:`save` wrote."""
        try:
            with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
                arrays = dict(file)
            parameters = json.loads(str(arrays["kernel"]))
            kernel = _KINDS[parameters.pop("name")](**parameters)
            bags = Bags.from_arrays(arrays)
            labels = labels_from_arrays(arrays, "means_labels")
            if "weights" in arrays:
                W: Any = arrays["weights"]
            else:
                parts = (arrays["weights_data"], arrays["weights_indices"], arrays["weights_indptr"])
                W = scipy.sparse.csr_array(parts, shape=(len(labels), len(bags)))  # type: ignore[arg-type]
            return cls(bags, kernel, W, labels)
        except (KeyError, ValueError, TypeError, EOFError, AttributeError, BadZipFile) as error:
            raise ValueError(
                f"{os.fspath(path)!r} is no file that KernelMeans.save wrote ({type(error).__name__}: {error})."
            ) from error


def _as_weights(weights: Any) -> Any:
    """Return weights as a matrix of finite numbers, dense or sparse."""
    W = weights if scipy.sparse.issparse(weights) else np.asarray(weights, dtype=np.float64)
    if not np.isfinite(W.data if scipy.sparse.issparse(W) else W).all():
        raise ValueError("weights must be finite numbers; found NaN or infinity.")
    return W


def _check_same_rows(bags: Bags, other: Bags) -> None:
    """Refuse other bags in which a row of the kernel matrix stands for another point."""
    _, ours, theirs = np.intersect1d(bags.rows, other.rows, return_indices=True)
    if not np.array_equal(bags.data[ours], other.data[theirs]):
        raise ValueError(
            "these points are not rows of the data that were fitted, and a precomputed kernel matrix cannot be "
            "evaluated at new points; give a function, or bags that were cut out of the same data."
        )
