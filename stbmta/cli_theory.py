"""The commands about theory: ``stbmta threshold``, ``stbmta bound`` and ``stbmta plan``."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from .cli_output import print_json

__all__ = ["register"]

_PAPER = 1000.0  # C of prop:testgauss
_UNIT = 1.0  # L and trace, unless others are given
# What the numbers of a plan are called there, and on the command line.
_NUMBERS = {
    "n_bags": "--bags",
    "dim": "--dim",
    "n": "--size",
    "alpha": "--alpha",
    "tau": "--tau",
    "covering_ratio": "--covering-ratio",
    "improvement": "--improvement",
}
_HIDDEN = ("neighbors", "covering", "bags")  # in a table of bounds, which has them in words


class _Setting(StrEnum):
    gaussian = "gaussian"
    bounded = "bounded"


class _Theorem(StrEnum):
    independent = "independent"
    same_data = "same_data"


class _Thresholds(StrEnum):
    printed = "printed"
    exact = "exact"


_Bags = Annotated[list[float] | None, typer.Option("--bags", "-B", help="Number of bags; may be repeated.")]
_Dim = Annotated[
    list[float] | None,
    typer.Option("--dim", "-d", help="Dimension, or effective dimension; may be repeated."),
]
_Size = Annotated[
    list[float] | None,
    typer.Option("--size", "-n", help="Points in a bag (bounded setting); may be repeated."),
]
_Alpha = Annotated[float, typer.Option(help="Error probability.")]
_SettingOption = Annotated[_Setting, typer.Option(help="Gaussian bags, or points of bounded norm (kernels).")]
_Norm = Annotated[
    float | None,
    typer.Option(
        "--bound", help="Bound L on the norm of a point (bounded setting); 1 by default.", show_default=False
    ),
]
_Trace = Annotated[
    float | None,
    typer.Option(help="Trace of the covariance (bounded setting); 1 by default.", show_default=False),
]
_Constant = Annotated[
    float | None,
    typer.Option(
        "--constant",
        "--C",
        help="The paper's constant C (Gaussian bags, printed thresholds); 1000 by default.",
        show_default=False,
    ),
]
_Json = Annotated[
    bool,
    typer.Option(
        "--json", help="Print JSON instead of a table: null where there is no number, 'inf' for infinity."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the three commands to an app.

    Parameters
    ----------
    app : typer.Typer
        The app of the command line.

    Examples
    --------
    >>> import typer
    >>> app = typer.Typer()
    >>> register(app)
    >>> [command.callback.__name__ for command in app.registered_commands]
    ['threshold', 'bound', 'plan']
    """
    app.command()(threshold)
    app.command()(bound)
    app.command()(plan)


def threshold(
    bags: _Bags = None,
    dim: _Dim = None,
    alpha: _Alpha = 0.05,
    tau: Annotated[float | None, typer.Option(help="Give the thresholds zeta for this tau.")] = None,
    setting: _SettingOption = _Setting.gaussian,
    size: _Size = None,
    norm: _Norm = None,
    trace: _Trace = None,
    constant: _Constant = None,
    as_json: _Json = False,
) -> None:
    """Show which threshold the similarity tests need: as printed in the paper, and exact.

    Exact thresholds find all pairs within tau / 3, as the printed ones do; under "equal means" only pairs of equal
    means, under "one task" only the pairs of a single bag. The gain is printed over exact.

    Without --dim: the smallest dimension in which tau is below 1 and below 0.1.

    Example: stbmta threshold --bags 100 --dim 1000 --dim 100000
    """
    from stbmta.theory import tables

    n_bags = _needed("bags", bags)
    columns: Mapping[str, Sequence[Any]]
    given = {"alpha": alpha}
    if setting is _Setting.bounded:
        if tau is not None:
            raise ValueError("--tau is for Gaussian bags; bounded ones are similar if U < tau sigma^2 / 2.")
        _refuse_constant(constant)
        norm, trace = _or(norm, _UNIT), _or(trace, _UNIT)
        columns = _bounded_thresholds(n_bags, _needed("dim", dim), _needed("size", size), alpha, norm, trace)
        given |= {"L": norm, "trace": trace}
        title = f"Smallest tau, L = {norm:g}, trace = {trace:g}"
    else:
        if size is not None:
            raise ValueError(
                "--size is for --setting bounded; the bag size does not matter for Gaussian bags."
            )
        _refuse_bounds(norm, trace)
        C = _or(constant, _PAPER)
        if dim is None:
            columns = tables.dimensions(n_bags, (1.0, 0.1) if tau is None else (tau,), alpha, C).columns
            given["C"] = C
            title = "Smallest dimension that allows tau"
        elif tau is None:
            columns = tables.thresholds(n_bags, dim, alpha, C).columns
            given["C"] = C
            title = "Smallest tau"
        else:
            columns = _zetas(n_bags, dim, alpha, tau)
            title = "Thresholds zeta of the tests, and error probabilities of the exact one"
        if given.get("C", _PAPER) != _PAPER:
            title += f", C = {C:g}"
    _show(columns, as_json, f"{title}, alpha = {alpha:g}", given)


def bound(
    tau: Annotated[
        list[float] | None, typer.Option(help="Squared radius of the tests; may be repeated.")
    ] = None,
    neighbors: Annotated[
        list[float] | None, typer.Option(help="Neighbors of a bag, itself included; may be repeated.")
    ] = None,
    covering: Annotated[float | None, typer.Option(help="Covering number of the means.")] = None,
    bags: Annotated[
        float | None, typer.Option("--bags", "-B", help="Number of bags, for the average.")
    ] = None,
    as_json: _Json = False,
) -> None:
    """Show by which factor the error is guaranteed to fall: for one bag, and on average.

    Example: stbmta bound --tau 0.1 --neighbors 20 --covering 10 --bags 200
    """
    taus = _needed("tau", tau)
    if neighbors is None and covering is None:
        raise ValueError(
            "Pass --neighbors for the error of one bag, or --covering and --bags for the average."
        )
    if (covering is None) != (bags is None):
        raise ValueError("The bound on the average needs both --covering and --bags.")
    columns = _bounds(taus, neighbors, covering, bags)
    if not as_json:
        columns = {k: v for k, v in columns.items() if k not in _HIDDEN}
    _show(columns, as_json)


def plan(
    bags: _Bags = None,
    dim: _Dim = None,
    size: _Size = None,
    alpha: Annotated[list[float] | None, typer.Option(help="Error probability; may be repeated.")] = None,
    tau: Annotated[
        list[str] | None, typer.Option(help="Squared radius of the tests, 'smallest' (default) or 'solve'.")
    ] = None,
    covering_ratio: Annotated[
        list[float] | None, typer.Option(help="Covering number over number of bags.")
    ] = None,
    improvement: Annotated[
        list[float] | None, typer.Option(help="1 minus the factor of the average error.")
    ] = None,
    setting: _SettingOption = _Setting.gaussian,
    theorem: Annotated[
        _Theorem, typer.Option(help="Tests on other data, or on the same.")
    ] = _Theorem.independent,
    thresholds: Annotated[
        _Thresholds, typer.Option(help="The paper's thresholds, or exact.")
    ] = _Thresholds.printed,
    norm: _Norm = None,
    trace: _Trace = None,
    constant: _Constant = None,
    as_json: _Json = False,
) -> None:
    """Solve for the one number that is left out.

    Examples: stbmta plan --bags 100 --alpha 0.05 --tau 1 --thresholds exact (which dimension?);
    stbmta plan --bags 100 --dim 1e6 --alpha 0.05 --covering-ratio 0.1 (which improvement?)
    """
    from stbmta.theory import planning

    if setting is _Setting.gaussian:
        _refuse_bounds(norm, trace)
    else:
        _refuse_constant(constant)
    numbers: dict[str, Any] = {
        "n_bags": bags,
        "dim": dim,
        "n": size,
        "alpha": alpha,
        "tau": [_tau(text) for text in tau or ["smallest"]],
        "covering_ratio": covering_ratio,
        "improvement": improvement,
    }
    for radius in numbers["tau"]:
        _check_one_missing(numbers | {"tau": radius}, setting)
    plans = planning.table(
        setting.value,
        **numbers,
        theorem=theorem.value,
        thresholds=thresholds.value,
        C=_or(constant, _PAPER),
        L=_or(norm, _UNIT),
        trace=_or(trace, _UNIT),
    )
    if as_json:
        _show({**plans.columns, "reason": plans.reasons}, as_json)
    else:
        hidden = {"L", "trace"} if setting is _Setting.gaussian else {"thresholds", "C"}
        hidden |= {"C"} if _or(constant, _PAPER) == _PAPER else set()
        columns = {
            k: v for k, v in plans.columns.items() if k not in hidden and any(x is not None for x in v)
        }
        _show({**columns, "reason": plans.reasons} if any(plans.reasons) else columns, as_json)


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _refuse_bounds(norm: float | None, trace: float | None) -> None:
    """Refuse what says nothing about Gaussian bags."""
    for option, value in (("--bound", norm), ("--trace", trace)):
        if value is not None:
            raise ValueError(f"{option} is for --setting bounded; it does not matter for Gaussian bags.")


def _refuse_constant(constant: float | None) -> None:
    if constant is not None:
        raise ValueError(
            "--constant is for Gaussian bags; the thresholds of bounded ones have no constant C."
        )


def _check_one_missing(numbers: Mapping[str, Any], setting: _Setting) -> None:
    """Refuse to plan unless one number is left out, in the words of the command line."""
    missing = [option for name, option in _NUMBERS.items() if numbers[name] is None]
    if setting is _Setting.gaussian and len(missing) > 1:
        missing = [option for option in missing if option != "--size"]  # it does not matter
    gain = ["--covering-ratio", "--improvement"]
    if missing == gain:
        raise ValueError(
            "Pass --covering-ratio to get the improvement, or --improvement to get the covering ratio."
        )
    if set(gain) <= set(missing):  # only the tests are planned
        missing = [option for option in missing if option not in gain]
    if len(missing) != 1:
        raise ValueError(
            f"Leave exactly one of {', '.join(_NUMBERS.values())} out (--tau solve asks for tau); missing: "
            f"{', '.join(missing) or 'none'}."
        )


def _needed(name: str, values: list[float] | None) -> list[float]:
    if not values:
        raise ValueError(f"Pass --{name}, once or more often.")
    return values


def _tau(text: str) -> float | str | None:
    if text in ("smallest", "solve"):
        return None if text == "solve" else text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"tau must be a number, 'smallest' or 'solve'; found {text!r}.") from None


def _zetas(
    n_bags: Sequence[float], dims: Sequence[float], alpha: float, tau: float
) -> dict[str, list[float]]:
    from stbmta.theory import gaussian

    rows = []
    for b in n_bags:
        for d in dims:
            zeta = gaussian.exact_zeta(tau, b, d, alpha)
            chances = gaussian.exact_event_probabilities(tau, zeta, b, d)
            rows.append((b, d, tau, gaussian.zeta(tau, b, d, alpha), zeta, chances.A, chances.B))
    names = ("bags", "dim", "tau", "zeta printed", "zeta exact", "P(A)", "P(B(tau/3))")
    return {
        name: [float(v) for v in column] for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }


def _bounded_thresholds(
    n_bags: Sequence[float],
    dims: Sequence[float],
    sizes: Sequence[float],
    alpha: float,
    norm: float,
    trace: float,
) -> dict[str, list[float]]:
    from stbmta.theory import _check as check
    from stbmta.theory import bounded

    check.bag_size(sizes, 2, "size")
    check.size("trace", trace, positive=True)
    rows = []
    for b in n_bags:
        for d in dims:
            for n in sizes:
                level, sigma = bounded.t(alpha, b), (trace / n) ** 0.5
                arguments = (level, d, norm, n, sigma)
                radius, least = bounded.r(*arguments), bounded.tau_min(*arguments)
                rows.append((b, d, n, level, radius, least, bounded.smallest_tau(*arguments)))
    names = ("bags", "effective dim", "size", "t", "r", "tau_min", "smallest tau")
    return {
        name: [float(v) for v in column] for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }


def _bounds(
    taus: Sequence[float], neighbors: Sequence[float] | None, covering: float | None, bags: float | None
) -> dict[str, list[Any]]:
    from stbmta.theory import theorems

    rows: list[tuple[Any, ...]] = []
    for t in taus:
        for v in neighbors or []:
            same = theorems.bound_same_data(t, v)  # first, for it knows that a bag is its own neighbor
            apart = theorems.bound_independent(t, v - 1)
            rows.append((t, f"{v:g} neighbors", v, None, None, apart, same))
        if covering is not None and bags is not None:
            shares = (
                theorems.average_independent(t, covering, bags),
                theorems.average_same_data(t, covering, bags),
            )
            rows.append((t, f"average, covering {covering:g} of {bags:g}", None, covering, bags, *shares))
    names = ("tau", "error of", *_HIDDEN, "Theorem 1 (independent tests)", "Theorem 2 (same data)")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    return {
        k: [v if v is None or isinstance(v, str) else float(v) for v in column]
        for k, column in columns.items()
    }


def _show(
    columns: Mapping[str, Sequence[Any]],
    as_json: bool,
    title: str = "",
    given: Mapping[str, float] | None = None,
) -> None:
    """Print a table below its title, or one JSON object for each row, with what was given for all of them."""
    if as_json:
        rows = [
            {**dict(zip(columns, row, strict=True)), **(given or {})}
            for row in zip(*columns.values(), strict=True)
        ]
        print_json(rows)
        return
    from stbmta.theory._table import format_table

    if title:
        print(f"{title}\n")
    print(format_table(columns))
