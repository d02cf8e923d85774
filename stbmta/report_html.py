"""One page about an estimate: self-contained HTML, for people who were not there when it was made."""

import base64
import html
import io
from datetime import date
from typing import Any

import numpy as np

from . import __version__
from .cli_output import save_figure
from .cli_result import each_alone
from .cli_source import Table
from .kernels import Linear

__all__ = ["estimate_page"]

# Bags on the page, columns of a table beside the labels, and bags up to which all tables are open.
_ROWS = 200
_COLUMNS = 8
_FEW = 40

_STYLE = """
:root { color-scheme: light dark; --line: #d0d4d9; --soft: #6a7178; --tint: #f3f6f9; --accent: #0072B2; }
@media (prefers-color-scheme: dark) { :root { --line: #3b4148; --soft: #a3abb3; --tint: #1d2227; --accent: #56B4E9; } }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .3rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
.soft { color: var(--soft); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: .8rem; }
.figures div { background: var(--tint); border-radius: .5rem; padding: .8rem 1rem; }
.figures b { display: block; font-size: 1.5rem; color: var(--accent); }
.figures span { font-size: .85rem; color: var(--soft); }
img { width: 100%; height: auto; background: white; border-radius: .5rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th { text-align: right; vertical-align: bottom; white-space: normal; }
details { margin: 1rem 0; } summary { cursor: pointer; color: var(--accent); }
th:first-child, td:first-child { text-align: left; } li { margin: .35rem 0; }
code { background: var(--tint); padding: .1rem .3rem; border-radius: .25rem; }
"""


def estimate_page(table: Table, estimator: Any, frame: Any, facts: dict[str, Any]) -> str:
    """Return a page that says what was estimated, with whose help, how much it should help, and what to mind.

    Parameters
    ----------
    table : Table
        The data, as the command line read them.
    estimator : any estimator of the package
        Fitted on them.
    frame : pandas.DataFrame
        One row a bag.
    facts : dict
        Method, kernel, parameters, averages.

    Returns
    -------
    str
        HTML. Pictures are inside; nothing is loaded from elsewhere.
    """
    sections = [
        _headline(table, facts),
        _figures(facts),
        "<h2>Who helped whom</h2>",
        _neighbors_text(estimator, facts),
        _picture(estimator),
        "<h2>How much it should help, and why</h2>",
        _help_text(table, facts),
        "<h2>What to be careful about</h2>",
        _list(_cautions(table, estimator, facts)),
        "<h2>The bags</h2>",
        _bags(frame, len(table.keys)),
        _footer(table, facts),
    ]
    title = html.escape(f"{facts['n_bags']} means from {table.name}")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>\n'
        f"<body>\n{''.join(sections)}\n</body></html>\n"
    )


def _headline(table: Table, facts: dict[str, Any]) -> str:
    what = "means" if facts["kernel"] == "Linear()" else "kernel mean embeddings"
    features = ", ".join(table.columns[:6]) + (
        f" and {len(table.columns) - 6} more" if len(table.columns) > 6 else ""
    )
    scaled = ", each with standard deviation 1" if table.standardized else ""
    return (
        f"<h1>{facts['n_bags']} {what}, estimated from {html.escape(table.name)}</h1>"
        f'<p class="soft">One bag for each value of {html.escape(", ".join(table.keys))}; {facts["points"]} rows; '
        f"features {html.escape(features)}{scaled}. Method {html.escape(facts['estimator'])} with "
        f"{html.escape(facts['kernel'])}{_parameters(facts)}.</p>"
    )


def _parameters(facts: dict[str, Any]) -> str:
    given = [f"{name} = {facts[name]:.3g}" for name in ("zeta", "gamma", "c") if name in facts]
    return f" ({', '.join(given)})" if given else ""


def _figures(facts: dict[str, Any]) -> str:
    cells = [(str(facts["n_bags"]), "bags"), (str(facts["dimension"]), "features")]
    if "average_effective_neighbors" not in facts:
        cells.append((f"{facts['average_neighbors'] - 1:.3g}", "neighbors a bag, besides itself"))
    else:
        cells.append((f"{facts['average_effective_neighbors']:.3g}", "bags in an average, in effect"))
    if "naive_error" in facts:
        cells.append((f"{facts['naive_error']:.3g}", "squared error of a naive mean, average"))
    if "held_out_change" in facts:
        cells.append((f"{100 * facts['held_out_change']:+.0f} %", "change of it, on points held out"))
    return (
        '<div class="figures">'
        + "".join(f"<div><b>{a}</b><span>{b}</span></div>" for a, b in cells)
        + "</div>"
    )


def _neighbors_text(estimator: Any, facts: dict[str, Any]) -> str:
    tests = getattr(estimator, "neighbors_", None)
    if tests is None:
        return _weights_text(facts)
    counts = np.asarray(tests.sum(axis=1)).ravel() - 1
    alone = int((counts == 0).sum())
    close = " Each mean keeps nearly all of itself (gamma is close to 1), so the threshold hardly matters."
    return (
        "<p>Bag <i>j</i> helps bag <i>i</i> if the squared distance of their naive means, corrected for noise, is at "
        f"most {facts['zeta']:.3g} times the squared error of the naive mean of <i>i</i>. "
        f"A bag has {counts.mean():.3g} such neighbors on average and {counts.max()} at most; "
        f"{alone} of {len(counts)} bags have none and keep their naive mean.{close * facts['nearly_naive']}</p>"
    )


def _weights_text(facts: dict[str, Any]) -> str:
    parts = ""
    if "shares" in facts:
        used = "; ".join(
            f"{100 * share:.0f} % {html.escape(name)}" for name, share in facts["shares"].items()
        )
        parts = f" It combines several methods, each with the share that held-out points gave it: {used}."
    effective = facts["average_effective_neighbors"]
    if each_alone(facts):
        return f"<p>Nobody: this method looks at each bag alone.{parts}</p>"
    return (
        "<p>This method asks no yes-or-no question about who is similar; each estimate is a weighted average of naive "
        f"means. An estimate is made of {effective:.3g} bags on average, in effect (its own included; column "
        "<code>effective_neighbors</code>); the bags whose weight is at least a tenth of the largest are its "
        f"<code>neighbors</code>, {facts['average_neighbors']:.3g} on average.{parts}</p>"
    )


def _help_text(table: Table, facts: dict[str, Any]) -> str:
    parts = []
    if "held_out_change" in facts:
        change = facts["held_out_change"]
        parts.append(
            f"<p>Part of each bag was held out, its mean was estimated from the rest and the other bags, and both were "
            f"compared: the average squared error {'falls' if change < 0 else 'does not fall'} "
            f"({100 * change:+.1f} % of the naive error). This is the figure to trust: it does not reuse the points "
            "that chose the neighbors. It belongs to bags that are smaller by the part held out. The parameters are "
            "the best of many on the same folds, so it is a little optimistic; it is never reported below the "
            "variance of the averages, which no error can beat.</p>"
        )
    if "estimated_error" in facts:
        ratio = facts["estimated_error"] / facts["naive_error"] if facts["naive_error"] > 0 else 1.0
        parts.append(
            f"<p>Averaging over neighbors trades variance for bias. For the weights that were used, the squared error "
            f"is estimated at {facts['estimated_error']:.3g} a bag, {100 * ratio:.0f} % of the naive "
            f"{facts['naive_error']:.3g} (column <code>estimated_error</code>). The weights were chosen on the same "
            "data, which makes this estimate optimistic.</p>"
        )
    if parts:
        return "".join(parts)
    if table.bags.sizes.min() == 1:
        return "<p>The data do not tell how large the errors are (a bag has a single row).</p>"
    return "<p>This method does not estimate the errors of its means.</p>"


def _cautions(table: Table, estimator: Any, facts: dict[str, Any]) -> list[str]:
    """Name what in these data may mislead."""
    sizes = table.bags.sizes
    found = []
    if sizes.min() < 5:
        found.append(
            f"{int((sizes < 5).sum())} bags have fewer than 5 rows; their variances, and so their tests, are rough."
        )
    if sizes.max() > 10 * sizes.min():
        found.append(
            f"Bag sizes differ by a factor of {sizes.max() / sizes.min():.0f}. A large bag gains little and can be "
            "drawn away by small neighbors; look at its estimated error."
        )
    if len(table.bags) < 10:
        found.append(f"With {len(table.bags)} bags there are few neighbors to learn from.")
    if table.bags.dim < 3 and isinstance(estimator.kernel_, Linear):
        found.append(
            "In fewer than 3 dimensions shrinkage has little to offer, and tests separate bags poorly."
        )
    if facts.get("held_out_change", -1.0) > -0.02:
        found.append("The gain is within what chance gives; the naive means do as well here.")
    spread = table.bags.data.std(axis=0)
    if not table.standardized and spread.max() > 10 * spread[spread > 0].min(initial=np.inf):
        found.append(
            "The features have very different scales; those with large values decide who is similar."
        )
    found.append(
        "Rows of a bag count as independent draws. Repeated or serial measurements have less to say than their number."
    )
    found.append(
        "An estimate is pulled toward similar bags. Do not use it to test whether those bags differ."
    )
    found += [f"While reading: {html.escape(note)}." for note in table.notes]
    return found


def _list(items: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def _picture(estimator: Any) -> str:
    from .plotting import estimate_figure
    from .plotting._figure import displays_of

    if not displays_of(estimator):
        return ""
    buffer = io.BytesIO()
    save_figure(estimate_figure(estimator), buffer, "png", 130)
    image = base64.b64encode(buffer.getvalue()).decode()
    return f'<img alt="neighbors, shrinkage and errors of the bags" src="data:image/png;base64,{image}">'


def _bags(frame: Any, n_keys: int) -> str:
    """Show the bags in tables that fit the page, each with the labels in front; all but the first can be opened."""
    labels, others = list(range(n_keys)), list(range(n_keys, frame.shape[1]))
    # The last columns are pairs, naive mean and estimate; a first piece of the right parity keeps them together.
    even = _COLUMNS - len(others) % 2
    pieces = [others[:even], *(others[k : k + _COLUMNS] for k in range(even, len(others), _COLUMNS))]
    first, *rest = [_rows(frame.iloc[:, labels + piece]) for piece in pieces]
    shown = " open" if len(frame) <= _FEW else ""
    more = [
        f"<details{shown}><summary>{html.escape(f'{frame.columns[piece[0]]} to {frame.columns[piece[-1]]}')}</summary>"
        f"{table}</details>"
        for piece, table in zip(pieces[1:], rest, strict=True)
    ]
    if len(frame) > _ROWS:
        more.append(f'<p class="soft">The first {_ROWS} of {len(frame)} bags; --out writes all.</p>')
    return first + "".join(more)


def _rows(frame: Any) -> str:
    # Long names may be broken behind an underscore.
    names = [html.escape(str(name)).replace("_", "_<wbr>") for name in frame.columns]
    head = "".join(f"<th>{name}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row) + "</tr>"
        for row in frame.iloc[:_ROWS].itertuples(index=False)
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)


def _footer(table: Table, facts: dict[str, Any]) -> str:
    units = (
        "means are in the units of the data"
        if facts["kernel"] == "Linear()"
        else "distances are the kernel's"
    )
    scaled = " of standardized features" if table.standardized else ""
    return (
        f'<p class="soft">stbmta {__version__}, {date.today().isoformat()}. Method: Marienwald, Fermanian and '
        "Blanchard, <i>High-Dimensional Multi-Task Averaging and Application to Kernel Mean Embedding</i> (2021). "
        f"Errors are squared distances{scaled}; {units}.</p>"
    )
