"""The paper's formulas once more, in 50-digit arithmetic, typed from its text and not from the package."""

from dataclasses import dataclass, field

import mpmath as mp

DIGITS = 50


def root(x):
    return mp.sqrt(x)


@dataclass(frozen=True)
class Formula:
    """A function of the package, its formula, and points to compare them at.

    ``options`` are passed to the function only; ``part`` picks one of several results.
    """

    function: str
    formula: object
    points: list[dict]
    options: dict = field(default_factory=dict)
    part: int | None = None

    @property
    def name(self):
        flags = "-".join(f"{k}={v}" for k, v in self.options.items())
        return f"{self.function}[{flags}]" if flags else self.function


def points(**columns):
    """Points from columns of equal length; numbers are kept as doubles, exactly."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


TAU_V = points(tau=[0.0, 1e-6, 0.137, 1.0, 41.7], others=[3.0, 1e9, 17.0, 0.0, 2.5])
TAU_OTHERS = [{"tau": p["tau"], "n_others": p["others"]} for p in TAU_V]
TAU_NEIGHBORS = [{"tau": p["tau"], "n_neighbors": p["others"] + 1} for p in TAU_V]
# so many neighbors, so near, that next to nothing is left of the naive error
FAR = [[0.0, 0.0, 1e12], [1e-9, 1e-13, 1e15], [1e-6, 0.0, 1e11], [0.0, 1e-16, 1e16]]
GAMMA_OTHERS = [{"gamma": g, **p} for g, p in zip([0.0, 0.31, 0.77, 1.0, 0.05], TAU_OTHERS, strict=True)]
GAMMA_OTHERS += [dict(zip(("gamma", "tau", "n_others"), row, strict=True)) for row in FAR]
GAMMA_NEIGHBORS = [
    {"gamma": g, **p} for g, p in zip([0.0, 0.31, 0.77, 1.0, 0.05], TAU_NEIGHBORS, strict=True)
]
GAMMA_NEIGHBORS += [dict(zip(("gamma", "tau", "n_neighbors"), row, strict=True)) for row in FAR]
AVERAGE = points(
    tau=[0.0, 1e-4, 0.3, 7.1], covering=[1.0, 10.0, 400.0, 3e11], n_bags=[1.0, 11.0, 2000.0, 1e12]
)

SIZES = points(n_bags=[2.0, 37.0, 2000.0, 1e12], dim=[1.0, 130.0, 1e5, 1e9], alpha=[0.9, 0.05, 1e-3, 1e-9])
TAU_SIZES = [{"tau": t, **p} for t, p in zip([150.0, 12.3, 0.71, 0.013], SIZES, strict=True)]
TAU_C = points(tau=[0.2, 3.0, 11.0], C=[1000.0, 1.0, 972.0])

LEVEL_LAW = points(
    t=[0.0, 0.4, 3.7, 200.0],
    dim=[1.0, 7.0, 1e4, 1e9],
    mean_norm=[0.0, 2.3, 1e3, 0.01],
    scale=[1.0, 0.3, 2.0, 5.0],
)
LEVEL_PAIR = points(t=[0.0, 0.9, 11.0, 60.0], tau=[0.0, 0.37, 2.0, 1e-3], dim=[1.0, 12.0, 1e3, 1e9])
SUPREMA = points(
    t=[0.3, 1.0, 9.0, 70.0],
    variance=[0.0, 2.1, 1e-3, 5.0],
    L=[1.0, 0.2, 3.0, 1e-6],
    expectation=[0.7, 0.0, 2.0, 9.0],
)
ONE_LAW = points(
    t=[1.0, 2.7, 15.0, 3.0],
    op_norm=[0.3, 0.01, 1e-6, 0.5],
    trace=[1.0, 0.5, 0.9, 0.5],
    L=[1.0, 1.5, 1.0, 0.7],
    n=[50.0, 1e4, 1e14, 2.0],
)
MEAN_LAW = [{"mean_norm": m, **p} for m, p in zip([0.0, 0.4, 0.8, 0.3], ONE_LAW, strict=True)]
PAIR_LAW = points(
    t=[1.0, 2.7, 15.0, 40.0],
    d_eff=[3.0, 40.0, 1e6, 1e9],
    L=[1.0, 1.5, 1.0, 0.7],
    n=[50.0, 1e4, 1e14, 2.0],
    sigma=[0.14, 0.012, 1e-7, 0.4],
)
U_LAW = [{"distance": a, **p} for a, p in zip([0.0, 0.2, 1e-6, 3.0], PAIR_LAW, strict=True)]
LEVEL_BAGS = points(t=[1.0, 9.3, 70.0, 725.0, 740.0], n_bags=[1.0, 50.0, 1e12, 1e12, 1e12])


def q_sigma(t, op_norm, trace, L, n):
    return 2 * root((2 * op_norm / n + 16 * L * root(trace) / n ** mp.mpf("1.5")) * t) + 2 * L * t / n


def q_pair(t, d_eff, L, n, sigma):
    return 2 * root((4 * sigma**2 / d_eff + 16 * L * root(2 * sigma**2) / n) * t) + 2 * L * t / n


def r(t, d_eff, L, n, sigma, constant=5):
    return constant * (root((1 / d_eff + L / (n * sigma)) * t) + L * t / (n * sigma))


def tau_min_bounded(**a):
    return r(**a) * max(root(2), r(**a))


def delta(n_bags, dim, alpha):
    return (2 * mp.log(n_bags) + mp.log(1 / alpha)) / dim


def positive(x):
    return max(x, mp.mpf(0))


def capped(x):
    return min(x, mp.mpf(1))
