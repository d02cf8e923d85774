"""The mutations: which function, what is changed, and whether its statement becomes false."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stbmta.theory import concentration, covering, gaussian

__all__ = ["MUTATIONS", "Mutation"]

Function = Callable[..., Any]
Change = Callable[[Function], Function]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """A wrong formula.

    Attributes
    ----------
    id : str
    target : str
        Function of :mod:`stbmta.theory`, or with its full name.
    what : str
        What is changed.
    change : callable
        Takes the right function and gives the wrong one.
    through : tuple of str
        Functions with checks that call the target.
    harmless : bool
        The statement stays true: it cannot be refuted, only deviates from what is printed or used.
    """

    id: str
    target: str
    what: str
    change: Change
    through: tuple[str, ...] = ()
    harmless: bool = False


def _times(factor: float) -> Change:
    return lambda right: lambda *args, **kwargs: factor * right(*args, **kwargs)


def _instead(wrong: Function) -> Change:
    return lambda right: wrong


def _with(**fixed: Any) -> Change:
    return lambda right: lambda *args, **kwargs: right(*args, **{**kwargs, **fixed})


def _array(value: Any) -> Any:
    return np.asarray(value, float)


def _others(n_others: Any) -> Any:
    return _array(n_others) + 1


def _probabilities_without(event: str) -> Change:
    def change(right: Function) -> Function:
        def wrong(*args: Any, **kwargs: Any) -> Any:
            found = right(*args, **kwargs)
            return replace(found, **{event: getattr(found, event) * 1e-3})

        return wrong

    return change


def _zeta(multiple: float) -> Function:
    def wrong(tau: Any, n_bags: Any, dim: Any, alpha: Any, *, printed: bool = False) -> Any:
        root = np.sqrt(2 + _array(tau)) - multiple * np.sqrt(gaussian.delta(n_bags, dim, alpha))
        return np.maximum(root, 0.0) ** 2

    return wrong


def _biased_distance(x: Any, y: Any, xy: Any) -> float:
    return float(np.mean(x) + np.mean(y) - 2 * np.mean(xy))


def _norm_lower(multiple: float) -> Function:
    def wrong(t: Any, dim: Any, mean_norm: Any = 0.0, scale: Any = 1.0, *, sharp: bool = False) -> Any:
        center = np.sqrt(_array(mean_norm) ** 2 + _array(scale) ** 2 * (dim - 1 if sharp else dim))
        return center - multiple * _array(scale) * np.sqrt(2 * _array(t))

    return wrong


def _birge_upper(t: Any, dim: Any, mean_norm: Any = 0.0, scale: Any = 1.0) -> Any:
    right = concentration.gaussian_norm_upper(0.0, dim, mean_norm, scale) ** 2
    return right + 2 * scale * np.sqrt((2 * _array(mean_norm) ** 2 + scale**2 * dim) * _array(t))


def _birge_lower(t: Any, dim: Any, mean_norm: Any = 0.0, scale: Any = 1.0) -> Any:
    right = concentration.gaussian_norm_upper(0.0, dim, mean_norm, scale) ** 2
    return right - 2 * scale * np.sqrt((_array(mean_norm) ** 2 + scale**2 * dim) * _array(t))


def _same_noise(right: Function) -> Function:
    def wrong(s: Any, *args: Any, **kwargs: Any) -> Any:
        parts = right(s, *args, **kwargs)
        return parts._replace(truth=replace(parts.truth, means=2 * s.means - parts.truth.means))

    return wrong


def _bousquet_without_expectation(t: Any, variance: Any, L: Any, expectation: Any) -> Any:
    return np.sqrt(2 * _array(variance) * t) + L * _array(t) / 3


_T = "theorems."
_G = "gaussian."
_C = "concentration."
_TAIL = ("gaussian.exact_zeta", "gaussian.exact_zeta_power")
_Q = (_C + "bounded_norm_upper", "bounded.q_sigma")

_FALSE = (
    # Theorem 1
    ("gamma-counts-itself", _T + "gamma_independent", "|V| in place of |V| - 1",
     lambda f: lambda tau, n: f(tau, _others(n))),
    ("bound-counts-itself", _T + "bound_independent", "tau |V| + 1 in the numerator",
     _instead(lambda tau, n: (tau * _others(n) + 1) / ((1 + tau) * _array(n) + 1))),
    ("bound-tau-denominator", _T + "bound_independent", "tau in place of 1 + tau in the denominator",
     _instead(lambda tau, n: (tau * _array(n) + 1) / (tau * _array(n) + 1))),
    ("bound-99-percent-tau", _T + "bound_independent", "0.99 tau in place of tau",
     lambda f: lambda tau, n: f(0.99 * _array(tau), n)),
    ("bound-half", _T + "bound_independent", "half of it", _times(0.5)),
    ("bound-double", _T + "bound_independent", "twice as much", _times(2.0)),
    ("risk-sign", _T + "risk_independent", "+ 2 e u in place of - 2 e u",
     lambda f: lambda g, tau, n: f(g, tau, n) + 4 * (1 - _array(g)) * _array(n) / _others(n)),
    ("average-no-covering", _T + "average_independent", "covering number dropped",
     _instead(lambda tau, covering, n_bags, *, simplified=True: _array(tau) / (1 + _array(tau)))),
    ("average-half", _T + "average_independent", "half of it", _times(0.5)),
    ("radius-double", _T + "covering_radius", "sqrt(tau') in place of sqrt(tau') / 2", _times(2.0)),
    ("radius-of-tau", _T + "covering_radius", "tau in place of tau'",
     lambda f: lambda near, sigma=1.0: f(3 * _array(near), sigma)),
    ("rough-no-variance", _T + "rough_bound", "1 / (V + 1) dropped",
     lambda f: lambda tau, n, *, sharp=False: f(tau, n, sharp=sharp) - 1 / _others(n)),
    ("error-weights-not-squared", "errors.exact_mse", "w in place of w^2",
     lambda f: lambda w, mu, mse: f(w, mu, 0.0) + (w * _array(mse)).sum(axis=1)),
    ("error-no-bias", "errors.exact_mse", "bias dropped",
     lambda f: lambda w, mu, mse: f(w, np.zeros_like(mu), mse)),
    ("split-for-free", _T + "bound_after_split", "price of splitting dropped",
     lambda f: lambda tau, n, fraction=0.5: f(tau, n, 1.0)),
    ("fission-same-noise", "stbmta.fission.fission", "X'' = X + e / a in place of X - e / a", _same_noise),
    ("waterfill-half-distance", "sharp.waterfill", "half of the distances",
     lambda f: lambda d, s2: f(_array(d) / 2, s2)),
    # Theorem 2 and its sharper version
    ("factor-1.9", _T + "bound_same_data", "1.9 in place of 2", _times(0.95)),
    ("same-data-no-variance", _T + "bound_same_data", "1 / |V| dropped",
     lambda f: lambda tau, n: f(tau, np.inf)),
    ("gamma-same-data-tau", _T + "gamma_same_data", "tau in place of tau / (1 + tau)",
     _instead(lambda tau: np.minimum(_array(tau), 1.0))),
    ("same-data-average-no-covering", _T + "average_same_data", "covering number dropped",
     _instead(lambda tau, covering, n_bags: 2 * (tau + tau / (1 + _array(tau))))),
    ("same-data-average-half", _T + "average_same_data", "half of it", _times(0.5)),
    ("risk-same-data-no-tau", _T + "risk_same_data", "tau dropped",
     lambda f: lambda g, tau, n: f(g, tau, n) - 2 * _array(tau)),
    ("condition-swapped", _T + "compatible", "tau' >= tau",
     _instead(lambda tau, near, *, printed=False: bool(near >= tau))),
    ("sharp-no-cross-term", "sharp.risk", "ell dropped",
     lambda f: lambda g, tau, c, cp, ell, n: f(g, tau, c, cp, 0.0, n)),
    ("sharp-no-inner-products", "sharp.risk", "c dropped",
     lambda f: lambda g, tau, c, cp, ell, n: f(g, tau, 0.0, cp, ell, n)),
    ("cross-term-no-union", "sharp.cross_term", "no union over triples",
     lambda f: lambda tau, n_bags, dim, alpha: f(tau, 2, dim, alpha)),
    # Gaussian proposition as printed
    ("zeta-1.5", _G + "zeta", "1.5 sqrt(delta) in place of 4 sqrt(delta)", _instead(_zeta(1.5))),
    ("C-650", _G + "tau_min", "C = 650 in place of 1000", _with(C=650.0)),
    ("C-600", _G + "tau_min", "C = 600 in place of 1000", _with(C=600.0)),
    ("C-500", _G + "tau_min", "C = 500 in place of 1000", _with(C=500.0)),
    ("delta-no-union", _G + "delta", "no union over pairs",
     lambda f: lambda n_bags, dim, alpha: f(1.0, dim, alpha) + 0 * _array(n_bags)),
    ("test-without-d", _G + "is_neighbor", "zeta / N in place of zeta d / N",
     lambda f: lambda s, zeta, dim, n: f(s, zeta, 1.0, n)),
    ("test-without-N", _G + "is_neighbor", "zeta d in place of zeta d / N",
     lambda f: lambda s, zeta, dim, n: f(s, zeta, dim, 1.0)),
    ("prime-is-tau", _G + "tau_prime", "tau' = tau in place of tau / 3", _instead(lambda tau: _array(tau) / 1.0)),
    ("inner-step-half", _G + "inner_excess", "half of it", _times(0.5)),
    ("norm-step-printed", _G + "norm_excess", "2 tau / C, as printed", _with(printed=True)),
    ("scale-root-d", _G + "covering_scale", "power 1/2 of log B", _with(printed=True)),
    ("stated-tenth", _G + "stated_probabilities", "alpha / 10 in place of alpha",
     lambda f: lambda alpha: f(_array(alpha) / 10)),
    ("level-C-any-threshold", _G + "event_probabilities", "P(C) / 1000", _probabilities_without("C")),
    ("level-B-any-threshold", _G + "event_probabilities", "P(B) / 1000", _probabilities_without("B")),
    # Exact versions
    ("pairs-of-one-task", "exact.number_of_tests", "B - 1 in place of B (B - 1) / 2",
     _instead(lambda n_bags, family="all": _array(n_bags) - 1)),
    ("pairs-squared", "exact.number_of_tests", "B^2 in place of B (B - 1) / 2",
     _instead(lambda n_bags, family="all": _array(n_bags) ** 2)),
    ("noncentrality-double", _G + "exact_zeta", "noncentrality tau d in place of tau d / 2",
     lambda f: lambda tau, *args, **kw: f(2 * _array(tau), *args, **kw)),
    ("exact-zeta-125-percent-alpha", _G + "exact_zeta", "1.25 alpha in place of alpha",
     lambda f: lambda tau, n_bags, dim, alpha, **kw: f(tau, n_bags, dim, 1.25 * _array(alpha), **kw)),
    ("power-at-zero", _G + "exact_zeta_power", "tau' = 0", lambda f: lambda tau, *args, **kw: f(0.0, *args, **kw)),
    ("exact-tau-90-percent", _G + "exact_tau", "0.9 of it", _times(0.9)),
    ("exact-dim-90-percent", _G + "exact_dim", "0.9 of it", _times(0.9)),
    ("inner-one-sign", _G + "exact_inner", "one sign only",
     lambda f: lambda n_bags, dim, alpha: f(n_bags, dim, min(2 * alpha, 0.999))),
    ("norm-fewer-bags", _G + "exact_norm", "B / 2 bags in place of B",
     lambda f: lambda n_bags, dim, alpha: f(_array(n_bags) / 2, dim, alpha)),
    ("upper-tau-no-union", _G + "upper_tau", "no union over pairs",
     lambda f: lambda zeta, n_bags, dim, alpha: f(zeta, 2, dim, alpha)),
    ("lower-tau-no-union", _G + "lower_tau", "no union over pairs",
     lambda f: lambda zeta, n_bags, dim, alpha: f(zeta, 2, dim, alpha)),
    ("probability-A-thousandth", _G + "exact_event_probabilities", "P(A) / 1000", _probabilities_without("A")),
    ("pvalue-half-variance", "pvalues.gaussian_similarity", "half of the variance",
     lambda f: lambda s, dim, v, r2: f(s, dim, v / 2, r2)),
    ("pvalue-other-tail", "pvalues.gaussian_difference", "the other tail",
     lambda f: lambda *args: 1 - f(*args)),
    ("kernel-radius-half-deviation", "pvalues.kernel_similarity", "half of the standard deviation",
     lambda f: lambda u, v, r2: f(u, _array(v) / 4, r2)),
    ("permutation-without-itself", "pvalues.permutation", "# / R in place of (1 + #) / (1 + R)",
     _instead(lambda t, draws: (draws >= _array(t)[..., np.newaxis]).mean(axis=-1))),
    ("kernel-pvalue-variance", "pvalues.kernel_difference", "variance in place of standard deviation",
     lambda f: lambda u, v, degrees=np.inf: f(u, _array(v) ** 2, degrees)),
    # Gaussian concentration
    ("norm-upper-95-percent", _C + "gaussian_norm_upper", "0.95 sqrt(2 t)",
     lambda f: lambda t, *args: f(0.95**2 * _array(t), *args)),
    ("norm-lower-0.95", _C + "gaussian_norm_lower", "0.95 sqrt(2 t) in place of 2 sqrt(2 t)",
     _instead(_norm_lower(0.95))),
    ("inner-upper-90-percent", _C + "gaussian_inner_upper", "0.9 sqrt(2 d t)",
     _instead(lambda t, dim, scale=1.0: scale**2 * (0.9 * np.sqrt(2 * dim * _array(t)) + t))),
    ("inner-upper-half-t", _C + "gaussian_inner_upper", "t / 2 in place of t",
     _instead(lambda t, dim, scale=1.0: scale**2 * (np.sqrt(2 * dim * _array(t)) + _array(t) / 2))),
    ("birge-upper-no-2t", _C + "gaussian_sq_norm_upper", "2 t dropped", _instead(_birge_upper)),
    ("birge-lower-one-mean", _C + "gaussian_sq_norm_lower", "|mu|^2 in place of 2 |mu|^2", _instead(_birge_lower)),
    ("pair-upper-half", _C + "pair_distance_upper", "sqrt(t / d) in place of 2 sqrt(t / d)",
     lambda f: lambda t, *args: f(_array(t) / 4, *args)),
    ("pair-lower-1.8", _C + "pair_distance_lower", "1.8 sqrt(t / d) in place of 4 sqrt(t / d)",
     lambda f: lambda t, *args: f((1.8 / 4) ** 2 * _array(t), *args)),
    # Bounded setting
    ("q-sigma-0.4", "bounded.q_sigma", "0.4 of it", _times(0.4), _Q),
    ("talagrand-0.4", _C + "talagrand_upper", "0.4 of it", _times(0.4)),
    ("bousquet-90-percent", _C + "bousquet_upper", "0.9 of it", _times(0.9)),
    ("talagrand-lower-0.3", _C + "talagrand_lower", "0.3 of it", _times(0.3)),
    ("klein-rio-90-percent", _C + "klein_rio_lower", "0.9 of it", _times(0.9)),
    ("bernstein-90-percent", _C + "linear_term_upper", "0.9 of it", _times(0.9)),
    ("mean-square-printed", _C + "mean_sq_norm_lower", "variance L^2 tr(Sigma), as printed", _with(printed=True)),
    ("expected-norm-90-percent", _C + "expected_norm_bounds", "0.9 of the upper bound",
     lambda f: lambda *args: (f(*args)[0], 0.9 * f(*args)[1])),
    ("expected-norm-lower-125-percent", _C + "expected_norm_bounds", "1.25 of the lower bound",
     lambda f: lambda *args: (1.25 * f(*args)[0], f(*args)[1])),
    ("bounded-norm-lower-double", _C + "bounded_norm_lower", "twice as much", _times(2.0)),
    ("bounded-sq-norm-upper-half", _C + "bounded_sq_norm_upper", "half of it", _times(0.5)),
    ("bounded-sq-norm-lower-double", _C + "bounded_sq_norm_lower", "twice as much", _times(2.0)),
    ("bounded-inner-0.001", _C + "bounded_inner_upper", "0.001 of it", _times(0.001)),
    ("bounded-inner-0.1", _C + "bounded_inner_upper", "0.1 of it", _times(0.1)),
    ("u-upper-half", _C + "u_statistic_upper", "half of it", _times(0.5)),
    ("u-lower-double", _C + "u_statistic_lower", "twice as much", _times(2.0)),
    ("r-4.5", "bounded.r", "4.5 in place of 5", lambda f: lambda *args: 0.9 * f(*args)),
    ("144-to-100", "bounded.smallest_tau", "100 in place of 144", _times(100 / 144)),
    ("kernel-prime-half", "bounded.tau_prime", "tau / 2 in place of tau / 4", _times(2.0)),
    ("kernel-inner-16", "bounded.tau_inner", "tau / 16 in place of tau / 7", _times(7 / 16)),
    ("kernel-norm-60", "bounded.tau_norm", "tau / 60 in place of tau / 48", _times(48 / 60)),
    ("kernel-test-four-times", "bounded.is_neighbor", "2 tau in place of tau / 2",
     lambda f: lambda u, tau, sigma: f(u, 4 * tau, sigma)),
    ("kernel-test-no-square", "bounded.is_neighbor", "sigma-bar in place of sigma-bar^2",
     lambda f: lambda u, tau, sigma: f(u, tau, np.sqrt(sigma))),
    ("miss-2", "bounded.pair_error", "2 exp(-t), as printed", _with(printed=True)),
    ("level-no-union", "bounded.t", "log(14 / alpha)", lambda f: lambda alpha, n_bags: f(alpha, 1.0)),
    # Estimators and Gram matrices
    ("risk-sign-of-weight", "stbmta.tuning.unbiased_risk", "- 2 w_i s^2 in place of + 2 w_i s^2",
     lambda f: lambda W, s, *, mse: f(W, s, mse=mse) - 4 * W.diagonal() * mse),
    ("biased-distance", "dimension.u_statistic", "V-statistic in place of U", _instead(_biased_distance)),
    ("naive-error-N", "dimension.naive_mse", "N in place of N - 1",
     lambda f: lambda gram: f(gram) * (len(gram) - 1) / len(gram)),
    ("trace-squared-plug-in", "dimension.trace_squared", "trace of the squared sample covariance",
     _instead(lambda gram: float((_centered(gram) ** 2).sum() / (len(gram) - 1) ** 2))),
    ("cross-trace-N", "dimension.trace_product", "N in place of N - 1",
     lambda f: lambda k: f(k) * (len(k) - 1) / len(k)),
    ("variance-no-cross", "dimension.u_variance", "cross term dropped",
     lambda f: lambda x, y, xy, *args: f(x, y, 0.0, *args)),
    ("effective-dimension-rank", "dimension.effective_dimension", "rank in place of tr / op",
     _instead(lambda covariance=None: float(len(covariance)))),
    ("frobenius-plain", "dimension.frobenius_dimension", "tr / op in place of tr^2 / tr(Sigma^2)",
     _instead(lambda covariance=None: float(np.trace(covariance) / np.linalg.norm(covariance, 2)))),
    ("covering-double-radius", "covering.covering_number", "twice the radius",
     lambda f: lambda points, radius: f(points, 2 * radius)),
    ("covering-no-noise", "covering.covering_number_noisy", "naive means taken for the truth",
     lambda f: lambda naive, radius, mse, *, alpha=None: covering.covering_number(naive, radius)),
    ("certificate-no-cross", "sharp.cross_term", "products of errors with differences dropped", _times(0.0)),
    ("gram-3.9", "errors.gram_bound", "3.9 in place of 4", _times(3.9 / 4)),
    ("gram-8", "errors.gram_bound", "8 in place of 4", _times(2.0)),
)  # fmt: skip

_TRUE = (
    ("norm-lower-1", _C + "gaussian_norm_lower", "sqrt(2 t) in place of 2 sqrt(2 t)", _instead(_norm_lower(1.0))),
    ("average-double", _T + "average_independent", "twice as much", _times(2.0)),
    ("same-data-average-double", _T + "average_same_data", "twice as much", _times(2.0)),
    ("zeta-2", _G + "zeta", "2 sqrt(delta) in place of 4 sqrt(delta)", _instead(_zeta(2.0))),
    ("C-700", _G + "tau_min", "C = 700 in place of 1000", _with(C=700.0)),
    ("delta-log-B", _G + "delta", "log B in place of 2 log B",
     lambda f: lambda n_bags, dim, alpha: f(np.sqrt(_array(n_bags)), dim, alpha)),
    ("bousquet-no-expectation", _C + "bousquet_upper", "E Z dropped", _instead(_bousquet_without_expectation)),
    ("inner-10", _C + "bounded_inner_upper", "10 in place of 20", _with(constant=10.0)),
    ("kernel-inner-14", "bounded.tau_inner", "tau / 14 in place of tau / 7", _times(0.5)),
    ("144-to-125", "bounded.smallest_tau", "125 in place of 144", _times(125 / 144)),
    ("q-sigma-0.5", "bounded.q_sigma", "half of it", _times(0.5), _Q),
    ("total-7", "bounded.total_error", "7 B^2 in place of 14 B^2", _times(0.5)),
)  # fmt: skip


def _centered(gram: Any) -> Any:
    from stbmta.theory.traces import center_gram

    return center_gram(gram)


def _make(rows: tuple[Any, ...], harmless: bool) -> tuple[Mutation, ...]:
    return tuple(
        Mutation(
            id=row[0],
            target=row[1],
            what=row[2],
            change=row[3],
            through=_through(row),
            harmless=harmless,
        )
        for row in rows
    )


def _through(row: tuple[Any, ...]) -> tuple[str, ...]:
    if len(row) > 4:
        return tuple(row[4])
    return _TAIL if row[1].startswith("exact.") else ()


MUTATIONS: tuple[Mutation, ...] = (*_make(_FALSE, False), *_make(_TRUE, True))
"""First those that make a statement false, then those that leave it true."""
