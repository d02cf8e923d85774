"""The paper's mathematics as plain functions.

Which threshold, which guaranteed improvement, how many points or dimensions? Each formula of the
paper is one function, named after what it computes:

==================  ==============================================================================
`theorems`          the bounds on the error of shrunken means
`errors`            the exact errors behind them
`sharp`             a sharper one-sample theorem, and the best weights for unequal bags
`events`            the events A, B, C, C' that the theorems exclude
`gaussian`          thresholds and probabilities in the isotropic Gaussian setting, printed and exact
`bounded`           the same in the bounded (kernel) setting
`concentration`     the deviation inequalities behind both
`laws`              exact tails of the Gaussian statistics, in logarithms
`covering`          covering numbers of a set of means
`dimension`         effective dimensions and traces of the covariance
`pvalues`           p-values of pairs of bags
`planning`          solve for the missing number
`tables`            printed against exact thresholds
==================  ==============================================================================

`statements` lists every statement of the paper with its function and its status; docs/errata.md tells where the
paper is off. Bounds are factors of the naive error; arrays broadcast; scalars give scalars.

Examples
--------
>>> from stbmta import theory
>>> round(float(theory.gaussian.exact_tau(n_bags=100, dim=10_000, alpha=0.05)), 3)
0.407
>>> round(float(theory.theorems.bound_independent(tau=0.407, n_others=50)), 3)
0.299
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import (
        bounded,
        concentration,
        covering,
        dimension,
        errors,
        events,
        gaussian,
        laws,
        planning,
        pvalues,
        sharp,
        tables,
        theorems,
    )
    from .registry import statements

__all__ = [
    "bounded",
    "concentration",
    "covering",
    "dimension",
    "errors",
    "events",
    "gaussian",
    "laws",
    "planning",
    "pvalues",
    "sharp",
    "statements",
    "tables",
    "theorems",
]


def __getattr__(name: str) -> Any:
    """Load a module when it is first used: importing the package stays cheap."""
    if name == "statements":
        return import_module(".registry", __name__).statements
    if name in __all__:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
