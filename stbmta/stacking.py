r"""Held-out risk of any methods at once, and the best convex combination of them.

Methods are fitted and scored on views of the bags (:mod:`stbmta.views`). With :math:`\Delta_m` the change that
method m makes to the naive means and r the held-out means less the naive ones, a combination a of methods has
held-out risk

.. math:: a' Q a - 2 a' l, \qquad Q_{mn} = \langle \Delta_m, \Delta_n \rangle, \quad l_m = \langle \Delta_m, r \rangle,

less that of the naive means: a small quadratic program. The scores are noisy where bags are few, so a method is
charged for the standard error of its score: what is not clearly better than the naive means gets little.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.special

from .aggregation import minimize_on_simplex
from .bags import RNG
from .spectral import coordinates
from .statistics import BagStatistics
from .vectors import power_of_two
from .views import View

__all__ = ["Candidates", "Stacking", "score"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

Candidates = Mapping[str, Callable[[Indices], Array]]
"""Names of methods, and functions that return some rows of their weight matrices."""

# Numbers of weights held at once while scoring.
_BLOCK = 2**24
# Standard errors that a method is charged for: those of many bags are well known.
_CAUTION = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Stacking:
    """What the held-out means say about each method, and how they were combined.

    Attributes
    ----------
    names : tuple of str
    weights : ndarray of shape (M,)
        The share of each method, at least 0, summing to 1.
    risk, standard_errors : ndarray of shape (M,)
        Held-out squared error less that of the naive means, averaged over bags, and the standard error over bags.
    combined : float
        The same for the combination; it was chosen to be small, so it is optimistic.
    naive : float
        The estimated squared error of the naive means, for scale.
    n_scored, n_views : int
        How many bags were scored, and in how many views.
    """

    names: tuple[str, ...]
    weights: Array
    risk: Array
    standard_errors: Array
    combined: float
    naive: float
    n_scored: int
    n_views: int

    def to_frame(self) -> Any:
        """Return one row a method, those with the largest shares first, as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            Columns `share`, `risk` and `standard_error`, by name.
        """
        import pandas as pd

        columns = {"share": self.weights, "risk": self.risk, "standard_error": self.standard_errors}
        frame = pd.DataFrame(columns, index=pd.Index(self.names, name="method"))
        return frame.sort_values(["share", "risk"], ascending=[False, True])

    def shares(self) -> dict[str, float]:
        """Return the methods that were used, largest share first; those below half a percent are left out.

        Returns
        -------
        dict of str to float
            Shares by name.
        """
        used = np.argsort(-self.weights, kind="stable")
        return {self.names[m]: float(self.weights[m]) for m in used if self.weights[m] >= 0.005}

    def summary(self) -> str:
        """Return what was used and why.

        Returns
        -------
        str
            The shares, and the held-out risk of the combination and of the best single method.
        """
        shares = ", ".join(f"{share:.0%} {name}" for name, share in self.shares().items())
        best = int(np.argmin(self.risk))
        return (
            f"{shares}\n"
            f"held-out change of the squared error: {self.combined:.4g} together, "
            f"{self.risk[best]:.4g} +- {self.standard_errors[best]:.2g} by {self.names[best]} alone; "
            f"the naive means' error is about {self.naive:.4g} "
            f"({self.n_scored} bags scored, {self.n_views} times)"
        )


def score(
    views: Iterable[View],
    candidates: Callable[[BagStatistics, Array], Candidates],
    *,
    select: bool = False,
    max_scored: int = 512,
    rng: RNG = None,
) -> Stacking:
    r"""Score methods against held-out means, and find the best convex combination of them.

    Parameters
    ----------
    views : iterable of View
        Statistics to fit on and held-out means, such as those of :func:`stbmta.views.fold_views`.
    candidates : callable
        Takes statistics and squared errors, and returns the methods. Only if the naive means are among them is the
        choice safe: nothing else keeps it from methods that are all worse.
    select : bool, default=False
        Use the single best method instead of a combination.
    max_scored : int, default=512
        Score so many bags of a view at most, drawn at random; more would only cost time.
    rng : {None, int, numpy.random.Generator}, optional
        Draws the bags to score.

    Returns
    -------
    Stacking
        The share and the score of each method.

    Notes
    -----
    The combination minimizes :math:`a' Q a - 2 a' l + k \sum_m e_m a_m` with :math:`e_m` the
    standard error of the score of method m, and k of :func:`caution`. Heuristic in that the minimum of noisy scores
    is optimistic; the scores themselves are unbiased for bags smaller by a fold. Time a view that of the methods on
    the scored rows and O(M B r rows) for Q, r the number of :func:`stbmta.spectral.coordinates`.

    Examples
    --------
    >>> from stbmta import Bags, Linear
    >>> from stbmta.views import fold_views
    >>> bags = Bags.from_list([np.random.default_rng(k).normal(size=(10, 50)) for k in range(20)])
    >>> methods = {"naive": lambda rows: np.eye(20)[rows], "all": lambda rows: np.full((len(rows), 20), 0.05)}
    >>> found = score(fold_views(bags, Linear(), n_views=5, rng=0), lambda s, mse: methods)
    >>> found.names[int(found.weights.argmax())]
    'all'
    """
    generator = np.random.default_rng(rng)
    names: tuple[str, ...] = ()
    Q, gain, losses, seen, naive, n_views = 0.0, 0.0, None, None, 0.0, 0
    for view in views:
        methods = candidates(view.statistics, view.mse)
        names = tuple(methods)
        chosen = view.scored
        if len(chosen) > max_scored:
            chosen = np.sort(generator.choice(chosen, max_scored, replace=False))
        if losses is None or seen is None:
            losses, seen = np.zeros((len(names), len(view.mse))), np.zeros(len(view.mse))
        vectors = coordinates(view.statistics)
        step = max(1, _BLOCK // (len(names) * len(view.mse)))
        for k in range(0, len(chosen), step):
            rows = chosen[k : k + step]
            squares, products = _changes(view, vectors, methods, rows)
            Q = Q + squares.sum(axis=0)
            gain = gain + products.sum(axis=0)
            losses[:, rows] += np.diagonal(squares, axis1=1, axis2=2).T - 2 * products.T
        seen[chosen] += 1
        naive += float(view.mse[chosen].mean())
        n_views += 1
    if losses is None or seen is None:
        raise ValueError("there is nothing to score: no bag has points to leave out.")
    total = seen.sum()
    by_bag = losses[:, seen > 0] / seen[seen > 0]
    errors = _standard_errors(by_bag)
    risk = losses.sum(axis=1) / total
    charges = caution(by_bag.shape[1]) * errors
    if select:
        a = np.eye(len(names))[int(np.argmin(risk + charges))]
    else:
        a = _shares(np.asarray(Q) / total, np.asarray(gain) / total, charges, naive / n_views)
    return Stacking(
        names=names,
        weights=a,
        risk=risk,
        standard_errors=errors,
        combined=float(a @ np.asarray(Q) @ a - 2 * a @ np.asarray(gain)) / total,
        naive=naive / n_views,
        n_scored=int((seen > 0).sum()),
        n_views=n_views,
    )


def caution(n_scored: int) -> float:
    """Return how many standard errors a method is charged for: 1.5, and more where few bags were scored.

    Student's quantile in place of the normal one, because a standard error from few bags may be far too small.

    Examples
    --------
    >>> [round(caution(n), 2) for n in (2, 3, 10, 1000)]
    [4.69, 2.45, 1.65, 1.5]
    """
    level = scipy.special.ndtr(_CAUTION)
    return float(scipy.special.stdtrit(max(n_scored - 1, 1), level))


def _standard_errors(by_bag: Array) -> Array:
    # Losses are squares already; those of far methods, or of data in small units, cannot be squared once more.
    unit = power_of_two(np.abs(by_bag).max(axis=1))
    scaled = by_bag / unit[:, None]
    # The scores of a single bag have no spread; be cautious.
    spread = scaled.std(axis=1, ddof=1) if by_bag.shape[1] > 1 else np.abs(scaled[:, 0])
    return unit * (spread / np.sqrt(by_bag.shape[1]))


def _shares(Q: Array, gain: Array, charges: Array, naive: float) -> Array:
    unit = float(power_of_two(naive))
    # As exact as the naive means' error asks for: scores of hopeless methods can be larger by any factor.
    a = minimize_on_simplex(Q / unit, (charges - 2 * gain) / unit, tolerance=1e-9 * naive / unit)
    a[a < 1e-3] = 0.0  # not worth the time of computing them
    return a / a.sum()


def _changes(view: View, vectors: Array, methods: Candidates, rows: Indices) -> tuple[Array, Array]:
    r"""Return :math:`\langle \Delta_m, \Delta_n \rangle` and :math:`\langle \Delta_m, r \rangle` for each row."""
    s = view.statistics
    changes = np.array([weights(rows) for weights in methods.values()])
    changes[:, np.arange(len(rows)), rows] -= 1
    moved = changes @ vectors
    squares = np.matmul(moved.swapaxes(0, 1), moved.transpose(1, 2, 0))
    if s.means is not None:
        assert view.truth.means is not None
        if vectors is not s.means:
            moved = changes @ s.means
        return squares, np.einsum("mid,id->im", moved, view.truth.means[rows] - s.means[rows])
    assert view.truth.cross is not None
    return squares, np.einsum("mij,ij->im", changes, view.truth.cross[:, rows].T - s.gram[rows])
