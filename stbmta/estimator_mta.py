"""Multi-task averaging as a scikit-learn estimator."""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from . import weights as _weights
from .bags import Bags
from .estimator_base import BagEstimator
from .fission import fission, tune_stb_fission
from .inputs import require_size
from .kernels import Kernel
from .risk import held_out_risk
from .similarity import gaussian_neighbors, known_mse, neighbors
from .statistics import BagStatistics
from .truth import squared_error
from .tuning import default_draws, tune_stb

__all__ = ["MTA"]

Array = npt.NDArray[np.float64]

# MTA stb is scale dependent: gamma multiplies the squared error. These are multiples of B / average error.
_MTA_STRENGTHS = np.geomspace(0.02, 200.0, 17)
# Naive means with a smaller squared error have nothing to gain, and their inverse is close to overflow.
_NO_ERROR = 1e-290


class MTA(BagEstimator):
    r"""Multi-task averaging (Feldman et al. 2014), with the similarity of tasks estimated (eq. mtaweight).

    Parameters
    ----------
    kernel : Kernel or str, default="linear"
        A kernel object, or the name of one: "linear", "rbf", "laplacian" or "polynomial".
    similarity : {"constant", "minimax", "stb"}, default="constant"
        All pairs alike (MTA const), as similar as the average distance or, for "minimax", the largest distance of the
        naive means suggests; or the outcome of the similarity tests (MTA stb).
    zeta : float, optional
        The threshold of the tests, for "stb". None: the one that K-fold chooses for STB, or fission, as there.
    gamma : float, optional
        How strongly tasks pull on each other. None: 1 for "constant" and "minimax", which need no tuning (Feldman
        et al. 2014); for "stb" chosen by K-fold, or by fission where the variance is known and a bag has one point.
    variance : float, optional
        The variance of each coordinate, if it is known (linear kernel).
    constant : {"inverse", "mean"}, default="inverse"
        What the average distance says about the similarity "constant": 2 over it, as in the authors' code, or the
        distance itself, as the paper prints it. See :func:`stbmta.weights.mta_constant`.
    n_folds : int, default=5
        Folds of the K-fold choice.
    random_state : int, Generator or None
        Draws folds, or noise.
    n_threads : int, optional
        All available cores by default. It does not change the result.
    client : dask.distributed.Client, optional
        Compute kernel values on its cluster; the result has the same bits.

    Attributes
    ----------
    gamma_, zeta_ : float
    neighbors_ : ndarray of bool, shape (B, B)
        For "stb".
    weights_, means_, embedding_, gram_, labels_, statistics_
        As for all estimators.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bags = [rng.normal(size=(5, 100)) for _ in range(30)]
    >>> bool(np.allclose(MTA().fit(bags).weights_.sum(axis=1), 1))
    True
    """

    def __init__(
        self,
        kernel: Kernel | str = "linear",
        similarity: str = "constant",
        zeta: float | None = None,
        gamma: float | None = None,
        *,
        variance: float | None = None,
        constant: str = "inverse",
        n_folds: int = 5,
        random_state: Any = None,
        n_threads: int | None = None,
        client: Any = None,
    ) -> None:
        self.kernel = kernel
        self.similarity = similarity
        self.zeta = zeta
        self.gamma = gamma
        self.variance = variance
        self.constant = constant
        self.n_folds = n_folds
        self.random_state = random_state
        self.n_threads = n_threads
        self.client = client

    def _find_weights(self, bags: Bags, s: BagStatistics) -> Array:
        for name in ("neighbors_", "zeta_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if self.variance is None:
            remedy = "Drop it with bags.drop_small({}), or give the known variance of the coordinates as variance=..."
            require_size(s.sizes, s.labels, 2, "its variance", remedy)
        mse = None if self.variance is None else known_mse(s, self.variance)
        if self.similarity in ("constant", "minimax"):
            self.gamma_ = 1.0 if self.gamma is None else float(self.gamma)
            constant: Any = "minimax" if self.similarity == "minimax" else self.constant
            return _weights.mta_constant(s, self.gamma_, constant=constant, mse=mse)
        if self.similarity != "stb":
            raise ValueError(f"similarity must be 'constant', 'minimax' or 'stb', found {self.similarity!r}.")
        tunes = self.zeta is None or self.gamma is None
        if tunes and self.variance is None and s.sizes.max() == 2:
            raise ValueError(
                "no bag has the 3 rows that choosing parameters by folds needs (n_samples=2); give zeta and gamma, or "
                "the known variance of the coordinates as variance=..."
            )
        rng = np.random.default_rng(self.random_state)
        self.zeta_ = self._choose_zeta(bags, s, rng) if self.zeta is None else float(self.zeta)
        self.neighbors_ = self._tests(s, self.variance)
        error = float((s.naive_mse if mse is None else mse).mean())
        if self.gamma is not None:
            self.gamma_ = float(self.gamma)
        elif error < _NO_ERROR:
            self.gamma_ = 0.0
        else:
            self.gamma_ = self._choose_gamma(bags, s, _MTA_STRENGTHS * len(s) / error, rng)
        return _weights.mta_stb(s, self.neighbors_, self.gamma_, mse=mse)

    def _tests(self, s: BagStatistics, variance: float | None) -> npt.NDArray[np.bool_]:
        return neighbors(s, self.zeta_) if variance is None else gaussian_neighbors(s, self.zeta_, variance)

    def _choose_zeta(self, bags: Bags, s: BagStatistics, rng: np.random.Generator) -> float:
        common: dict[str, Any] = {"gamma": 0.0, "rng": rng, "n_threads": self.n_threads}
        if self.variance is not None and bags.sizes.min() == 1:  # nothing to leave out: split the noise
            return tune_stb_fission(bags, self.variance, statistics=s, **common).zeta
        return tune_stb(
            bags, s.kernel, variance=self.variance, n_folds=self.n_folds, client=self.client, **common
        ).zeta

    def _choose_gamma(self, bags: Bags, s: BagStatistics, gammas: Array, rng: np.random.Generator) -> float:
        def candidates(s: BagStatistics, variance: float | None) -> list[Array]:
            N = self._tests(s, variance)
            mse = None if variance is None else known_mse(s, variance)
            return [_weights.mta_stb(s, N, gamma, mse=mse) for gamma in gammas]

        if self.variance is not None and bags.sizes.min() == 1:
            risk = np.zeros(len(gammas))
            for _ in range(default_draws(len(s))):
                parts = fission(s, self.variance, rng=rng)
                fitted = candidates(parts.statistics, parts.variance)
                risk += [squared_error(W, parts.statistics, parts.truth).mean() for W in fitted]
        else:
            risk = held_out_risk(
                partial(candidates, variance=self.variance),
                bags,
                s.kernel,
                n_folds=self.n_folds,
                least_left=2 if self.variance is None else 1,
                rng=rng,
                n_threads=self.n_threads,
            )
        return float(gammas[int(np.argmin(risk))])
