"""The commands about this package: ``stbmta demo``, ``stbmta info`` and ``stbmta warmup``."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from .cli_output import PICTURES, check_targets, print_json, write_figure

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands to an app.

    Parameters
    ----------
    app : typer.Typer
        The app of the command line.

    Examples
    --------
    >>> app = typer.Typer()
    >>> register(app)
    >>> [command.callback.__name__ for command in app.registered_commands]
    ['demo', 'info', 'warmup']
    """
    app.command()(demo)
    app.command()(info)
    app.command()(warmup)


def demo(
    dataset: Annotated[str, typer.Option(help="fair, randhie or digits.")] = "fair",
    trials: Annotated[int, typer.Option(min=2, help="How often small bags are drawn.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
    out: Annotated[Path, typer.Option(help="Where to save the picture: .png, .pdf or .svg.")] = Path(
        "stbmta-demo.png"
    ),
    force: Annotated[bool, typer.Option("--force", help="Replace a picture that exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Compare every method on real data: draw small bags from large groups, and estimate the groups' means.

    Example: stbmta demo --dataset digits
    """
    from stbmta.validation.demo import DATASETS, draw, run_demo

    from .progress import progress_bar

    if dataset not in DATASETS:
        raise ValueError(f"there is no data set {dataset!r}; choose one of {', '.join(DATASETS)}.")
    check_targets({"--out": (out, PICTURES)}, force)
    with progress_bar("drawing bags", 2 * trials) as advance:
        results = run_demo(dataset, trials, seed, advance)
    write_figure(draw(results, f"{dataset}: {DATASETS[dataset][2]}"), out)
    if as_json:
        print_json({what: result.to_frame().to_dict("index") for what, result in results.items()})
        return
    console = Console()
    for what, result in results.items():
        title = f"{what}, {dataset} data: {result.n_bags} bags of {result.bag_size} points, {trials} trials"
        table = Table("method", title=title, title_justify="left")
        for heading in ("squared error", "naive = 100 %", "standard error"):
            table.add_column(heading, justify="right")
        for name, row in result.to_frame().iterrows():
            cells = (f"{row['error']:.4g}", f"{100 * row['ratio']:.1f}", f"{100 * row['standard_error']:.1f}")
            table.add_row(str(name), *cells)
        console.print(table)
    console.print("The truth is the mean of each whole group. All parameters were chosen without it.")
    console.print(f"Picture: {out}")


def info(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tell versions, threads, cache and vector width.

    Example: stbmta info --json
    """
    import importlib.metadata
    import platform

    from . import __version__
    from .jit import tiles, vector
    from .threads import available_threads

    names = ("numpy", "scipy", "numba", "scikit-learn", "statsmodels", "pandas", "matplotlib", "dask")
    facts: dict[str, object] = {"stbmta": __version__, "python": platform.python_version()}
    for name in names:
        try:
            facts[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            facts[name] = None
    cache = getattr(getattr(tiles.block_sums, "stats", None), "cache_path", None)
    facts |= {
        "machine": platform.machine(),
        "threads": available_threads(),
        "vector width": vector.WIDTH,
        "compiled code": cache or "not cached",
    }
    if as_json:
        print_json(facts)
        return
    for key, value in facts.items():
        print(f"{key:<15}{value if value is not None else 'not installed'}")


def warmup() -> None:
    """Compile everything now, so that the first estimate does not wait.

    Example: stbmta warmup
    """
    from .warmup import warmup as compile_all

    print(f"compiled in {compile_all():.1f} s")
