r"""Kernels as inner products of finitely many features: for more points than all pairs allow.

With features :math:`\varphi(x)` such that :math:`\langle \varphi(x), \varphi(y) \rangle \approx k(x, y)`, the mean
embedding of a bag is a vector, the mean of its features, and one pass over the points is enough.
"""

from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy  # its parts load when first used

from ..container import RNG
from ..jit.vector import WIDTH, aligned_zeros
from ..kernels import RBF, Kernel, Laplacian

__all__ = ["FeatureMap", "Nystroem", "RandomFourier", "one_blas_thread"]

Array = npt.NDArray[np.float64]

# Frequencies come in multiples of this, the same on every machine.
_PANEL = 32


class FeatureMap(Protocol):
    """A finite-dimensional approximation of a kernel."""

    @property
    def kernel(self) -> Kernel:
        """The kernel that is approximated."""

    @property
    def n_features(self) -> int:
        """Number of features, D."""

    @property
    def dim(self) -> int:
        """Number of columns of the points, d."""

    def __call__(self, X: Array) -> Array:
        """Return the features of points, (n, D)."""


@dataclass(frozen=True, eq=False)
class RandomFourier:
    r"""Random Fourier features of a shift-invariant kernel (Rahimi and Recht 2007).

    .. math:: \varphi(x) = m^{-1/2} \bigl( \cos 2\pi\langle w_1, x - c \rangle, \dots, \sin 2\pi\langle w_m, x - c
              \rangle \bigr)

    with frequencies drawn from the kernel's spectral law: :math:`2 \pi w \sim N(0, I / s^2)` for RBF, independent
    Cauchy coordinates for Laplacian. Inner products are unbiased; their standard error is at most
    :math:`(2 m)^{-1/2}`. Cosines come with their sines, which halves the variance of the variant with random
    offsets. Make one with :meth:`draw`.

    Attributes
    ----------
    kernel : RBF or Laplacian
    frequencies : ndarray of shape (d, m)
        In cycles a unit.
    center : ndarray of shape (d,)
        Subtracted from the points: it turns all features alike and changes no inner product, but large offsets
        would cost accuracy.
    """

    kernel: Kernel
    frequencies: Array
    center: Array

    @classmethod
    def draw(
        cls,
        kernel: RBF | Laplacian,
        dim: int,
        n_features: int = 1024,
        *,
        orthogonal: bool | None = None,
        center: npt.ArrayLike | None = None,
        rng: RNG = None,
    ) -> "RandomFourier":
        r"""Draw the frequencies.

        Parameters
        ----------
        kernel : RBF or Laplacian
            With a number as bandwidth.
        dim : int
            Columns of the points.
        n_features : int, default=1024
            Rounded up to a multiple of 64.
        orthogonal : bool, optional
            Draw frequencies in orthogonal blocks of d (Yu et al. 2016), which lowers the variance of RBF features;
            the default for RBF. Not for Laplacian.
        center : array-like of shape (d,), optional
            Subtracted from the points, for accuracy where they are far from zero. Zero by default.
        rng : {None, int, numpy.random.Generator}, optional
            Draws the frequencies.

        Examples
        --------
        >>> features = RandomFourier.draw(RBF(1.0), dim=2, n_features=4096, rng=0)
        >>> x = np.array([[0.0, 0.0], [1.0, 0.5]])
        >>> bool(np.abs(features(x) @ features(x).T - RBF(1.0)(x, x)).max() < 0.03)
        True
        """
        if not isinstance(kernel, (RBF, Laplacian)) or isinstance(kernel.bandwidth, str):
            raise ValueError(
                f"random Fourier features need RBF or Laplacian with a number, found {kernel!r}."
            )
        if n_features < 1:
            raise ValueError(f"n_features must be at least 1, found {n_features}.")
        generator = np.random.default_rng(rng)
        count = -(-n_features // (2 * _PANEL)) * _PANEL
        if isinstance(kernel, Laplacian):
            if orthogonal:
                raise ValueError("orthogonal frequencies are for the RBF kernel.")
            angular = generator.standard_cauchy((dim, count))
        elif orthogonal is False:
            angular = generator.standard_normal((dim, count))
        else:
            angular = _orthogonal(dim, count, generator)
        middle = np.zeros(dim) if center is None else np.asarray(center, dtype=np.float64)
        return cls(kernel, angular / (2 * np.pi * float(kernel.bandwidth)), middle)

    @property
    def n_features(self) -> int:
        """Number of features, D = 2 m."""
        return 2 * self.frequencies.shape[1]

    @property
    def dim(self) -> int:
        """Number of columns of the points, d."""
        return len(self.frequencies)

    def __call__(self, X: Array) -> Array:
        angles = 2 * np.pi * ((np.asarray(X, dtype=np.float64) - self.center) @ self.frequencies)
        return np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(self.frequencies.shape[1])

    def panels(self) -> Array:
        """Return the frequencies as the compiled code reads them: panels of WIDTH, dimension by dimension.

        Returns
        -------
        ndarray of shape (d * m,)
            Aligned in memory: for each panel d rows of WIDTH frequencies.
        """
        dim, count = self.frequencies.shape
        packed = aligned_zeros(dim * count)
        packed[:] = self.frequencies.reshape(dim, count // WIDTH, WIDTH).swapaxes(0, 1).ravel()
        return packed


def _orthogonal(dim: int, count: int, generator: np.random.Generator) -> Array:
    """Draw frequencies whose directions are orthogonal in blocks of d, with the lengths of normal vectors."""
    blocks = []
    for _ in range(-(-count // dim)):
        directions, upper = np.linalg.qr(generator.standard_normal((dim, dim)))
        directions *= np.sign(np.diagonal(upper))  # uniform over all rotations
        blocks.append(directions * np.sqrt(generator.chisquare(dim, dim)))
    return np.hstack(blocks)[:, :count]


@dataclass(frozen=True, eq=False)
class Nystroem:
    r"""Features from landmarks: :math:`\varphi(x) = K_{zz}^{-1/2} k(z, x)` (Williams and Seeger 2001).

    Exact on the span of the landmarks; never more than k(x, x) in norm. Better than random features where the
    kernel matrix has few large eigenvalues, and for any kernel. Make one with :meth:`draw`.

    Attributes
    ----------
    kernel : Kernel
    landmarks : ndarray of shape (m, d)
    normalization : ndarray of shape (m, D)
        :math:`K_{zz}^{-1/2}` on the eigenvectors that rounding leaves.
    """

    kernel: Kernel
    landmarks: Array
    normalization: Array

    @classmethod
    def draw(
        cls, kernel: Kernel, points: npt.ArrayLike, n_features: int = 512, *, rng: RNG = None
    ) -> "Nystroem":
        """Choose landmarks among points at random.

        Parameters
        ----------
        kernel : Kernel
            With every parameter a number.
        points : array-like of shape (n, d)
            A sample of the data.
        n_features : int, default=512
            At most the number of points.
        rng : {None, int, numpy.random.Generator}, optional
            Draws the landmarks.

        Examples
        --------
        >>> x = np.random.default_rng(0).normal(size=(50, 2))
        >>> features = Nystroem.draw(RBF(2.0), x, n_features=30, rng=0)
        >>> bool(np.abs(features(x) @ features(x).T - RBF(2.0)(x, x)).max() < 1e-3)
        True
        """
        X = np.asarray(points, dtype=np.float64)
        if n_features < 1:
            raise ValueError(f"n_features must be at least 1, found {n_features}.")
        chosen = np.random.default_rng(rng).choice(len(X), min(n_features, len(X)), replace=False)
        landmarks = X[np.sort(chosen)]
        values, vectors = scipy.linalg.eigh(kernel(landmarks, landmarks))
        kept = values > len(values) * np.finfo(float).eps * values[-1]
        return cls(kernel, landmarks, vectors[:, kept] / np.sqrt(values[kept]))

    @property
    def n_features(self) -> int:
        """Number of features, D."""
        return self.normalization.shape[1]

    @property
    def dim(self) -> int:
        """Number of columns of the points, d."""
        return self.landmarks.shape[1]

    def __call__(self, X: Array) -> Array:
        values: Any = self.kernel(np.asarray(X, dtype=np.float64), self.landmarks)
        return values @ self.normalization


class _OneBlasThread:
    """Matrix products on one thread as long as anybody asks for it: with more of them, BLAS rounds in another way.

    A worker of a cluster has one thread for BLAS, the caller has many; their features must have the same bits.
    """

    def __init__(self) -> None:
        self._lock, self._users = Lock(), 0
        self._limits: Any = None

    def __enter__(self) -> None:
        from threadpoolctl import threadpool_limits

        with self._lock:
            if self._users == 0:
                self._limits = threadpool_limits(1)
            self._users += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limits.restore_original_limits()


one_blas_thread = _OneBlasThread()
