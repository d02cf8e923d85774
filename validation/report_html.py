"""The report: one page that needs nothing else, made from the JSON files of a run."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from stbmta.files import atomic_write

from .catalog import coverage
from .errata import errata
from .report_figures import COLORS, bounds_figure, printed_figure, rates_figure, tightness_figure

__all__ = ["page", "write"]

Data = Mapping[str, Any]

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1a1a1a; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
p, li { max-width: 46rem; } .lead { font-size: 1.1rem; }
.tiles { display: flex; gap: .8rem; flex-wrap: wrap; margin: 1.2rem 0; }
.tile { border: 1px solid #ddd; border-top: 4px solid; border-radius: 4px; padding: .4rem .9rem; min-width: 7.5rem; }
.tile b { display: block; font-size: 1.5rem; }
img { max-width: 100%; height: auto; display: block; margin: .8rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .85rem; margin: .6rem 0; }
th { text-align: left; border-bottom: 2px solid #ccc; } td { border-bottom: 1px solid #eee; vertical-align: top; }
th, td { padding: .2rem .6rem .2rem 0; } td.n, th.n { text-align: right; white-space: nowrap; }
code { font-size: .85em; white-space: nowrap; } details { margin: .4rem 0; } summary { cursor: pointer; }
.tag { color: white; border-radius: 3px; padding: 0 .4rem; font-size: .78rem; white-space: nowrap; }
nav a { margin-right: 1rem; }
"""

MUTATION_TAGS = {
    "caught": COLORS["holds"],
    "caught by algebra": "#007A5A",
    "true, caught by algebra": "#767676",
    "missed": COLORS["violated"],
    "true, unnoticed": COLORS["violated"],
    "caught, though true": COLORS["violated"],
}
"""Colors of what can become of a mutation."""

_TAGS = {**COLORS, "erratum not seen": COLORS["violated"], **MUTATION_TAGS}

_DARK = {"known erratum"}  # tags too bright for white letters


def write(folder: str | os.PathLike[str]) -> Path:
    """Make ``report.html`` of ``results.json`` and ``mutations/mutations.json``, as far as they are there.

    Parameters
    ----------
    folder : path-like
        Folder of a run.

    Returns
    -------
    Path
        Of the page.
    """
    home = Path(folder)
    results, mutations = (_read(home / name) for name in ("results.json", "mutations/mutations.json"))
    target = home / "report.html"
    with atomic_write(target, "w") as file:
        file.write(page(results, mutations))
    return target


def _read(file: Path) -> Data | None:
    return json.loads(file.read_text()) if file.exists() else None


def page(results: Data | None, mutations: Data | None) -> str:
    """Make the page.

    Parameters
    ----------
    results, mutations : mapping, optional
        What the JSON files hold.

    Returns
    -------
    str
        A complete HTML document, with style and pictures inside.

    Examples
    --------
    >>> "<title>" in page(None, {"seed": 0, "version": "1", "mutations": []})
    True
    """
    title = "Does the theory hold?" if results is not None else "Deliberately wrong formulas"
    parts = [f"<h1>{title}</h1>"]
    if results is not None:
        parts += [_head(results), _navigation(results, mutations), _overview(results), _errata(results)]
    if mutations is not None:
        parts.append(_mutations(mutations, opened=results is None))
    if results is not None:
        parts += [_exploration(results), _families(results), _coverage()]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>stbmta: validation report</title><style>{_STYLE}</style></head>\n<body>{body}</body></html>\n"
    )


def _head(results: Data) -> str:
    counts = _counts(results["checks"])
    regimes = sum(len(check["regimes"]) for check in results["checks"])
    vacuous = sum(r["vacuous"] for check in results["checks"] for r in check["regimes"])
    bad = counts.get("violated", 0)
    sentence = (
        f"<b>{bad} of {len(results['checks'])} statements are violated.</b>"
        if bad
        else "<b>No statement is violated</b> beyond the known errata of the paper."
    )
    unseen = counts.get("erratum not seen", 0)
    sentence += f" <b>{unseen} known errata did not show.</b>" if unseen else ""
    tiles = "".join(
        f'<div class="tile" style="border-top-color:{_TAGS[status]}"><b>{count}</b>{escape(status)}</div>'
        for status, count in counts.items()
    )
    return f"""
<p class="lead">{sentence}</p>
<div class="tiles">{tiles}<div class="tile" style="border-top-color:#999"><b>{regimes}</b>regimes,
{vacuous} of them vacuous</div></div>
<p>Each statement was tried in several regimes. Where a value is known exactly it is compared exactly. Where an error
rate had to be counted, its Clopper-Pearson interval decides: <b>holds</b> if the whole interval is within what is
claimed, <b>violated</b> if it is outside, <b>undecided</b> otherwise. All intervals together are wrong with probability
at most {results["error_probability"]:g}. A regime is <b>vacuous</b> where the statement says nothing: a probability
of at most one, an error no smaller than that of the naive means, or a bound that nothing can cross.
Run: {results["scale"]}, seed {results["seed"]}, stbmta {escape(results["version"])}.</p>"""


def _navigation(results: Data, mutations: Data | None) -> str:
    names = [("overview", "How tight?"), ("errata", "Known errata")]
    names += [("mutations", "Could it have failed?")] if mutations is not None else []
    names += [("exploration", "Broken assumptions")] if results["exploration"] else []
    names += [("checks", "All checks"), ("coverage", "Statements of the paper")]
    return "<nav>" + "".join(f'<a href="#{key}">{text}</a>' for key, text in names) + "</nav>"


def _overview(results: Data) -> str:
    by_id = {check["id"]: check for check in results["checks"]}
    parts = ['<h2 id="overview">How tight are the bounds?</h2>']
    theorems = [by_id[f"theorem-{k}-{s}"] for k in (1, 2) for s in _SIDES if f"theorem-{k}-{s}" in by_id]
    if theorems:
        parts.append(
            "<p>The error that each theorem bounds, and the bound, both over the error of the naive means; worst bag "
            "(with neighbors) of all trials in which no excluded event happened. Left of the dotted line a bound "
            "promises an improvement; hollow bounds promise none. "
            "Theorem 1 is attained; Theorem 2 loses a factor of two and more unless everything points the same way "
            "(<code>theorem-2-aligned</code>).</p>" + _image(bounds_figure(theorems), "errors and bounds")
        )
    printed = [by_id[f"gaussian-{e}"] for e in ("A", "B", "C", "Cprime") if f"gaussian-{e}" in by_id]
    if printed:
        parts.append(
            "<p>The Gaussian proposition as printed, by exact laws, worst over 2 to a million bags. It is true "
            f"with room to spare; {_closest(printed)} Hollow points are vacuous: the smallest tau exceeds 4. Ratios "
            "below 1e-20 are drawn there.</p>"
            + _image(printed_figure(printed), "probabilities against the dimension")
        )
    counted = [check for check in results["checks"] if check["family"] == "Exact versions"]
    if any(not r["exact"] for check in counted for r in check["regimes"]):
        parts.append(
            "<p>The exact versions use up what they are given. So a wrong constant would show as a rate outside of its "
            "band; the lower end is there because a union over dependent pairs loses some.</p>"
            + _image(rates_figure(counted), "error rates with confidence intervals")
        )
    return "\n".join(parts)


_SIDES = ("individual", "average")


def _closest(checks: Sequence[Data]) -> str:
    """Say where a stated probability is nearest to the exact one."""
    places = [
        (r["tightness"], c["id"], r["regime"]) for c in checks for r in c["regimes"] if not r["vacuous"]
    ]
    ratio, name, regime = max(places)
    return f"{_code(name)} at {escape(regime)} comes closest, with {ratio:.2g} of what is stated."


def _errata(results: Data) -> str:
    head = '<h2 id="errata">Known errata</h2>'
    statuses = {check["id"]: check["status"] for check in results["checks"] if check["erratum"]}
    if not statuses:
        return head + "<p>None among the checks of this run.</p>"
    rows = [
        (
            erratum.number,
            escape(", ".join(erratum.labels)),
            escape(erratum.what),
            "<br>".join(_code(name) for name in erratum.refuted_by)
            or f"<i>{escape(erratum.reason)}</i> " + ", ".join(_code(name) for name in erratum.see),
            " ".join(dict.fromkeys(_tag(statuses[name]) for name in erratum.refuted_by if name in statuses)),
        )
        for erratum in errata()
    ]
    return (
        f"{head}<p>All errata of docs/errata.md. Where the paper prints something false, a check tries it and must "
        "find a counterexample; the corrected version is among the checks that hold. One erratum reaches a theorem: "
        "E1, the condition on tau' of Theorem 2, has to be turned round. E20 concerns a single point of a proposition. "
        "All others are in proofs, in remarks, in experiments, or outside the domain of a statement.</p>"
        + _table(("number", "label", "what is wrong", "counterexample, or why there is none", ""), rows)
    )


def _mutations(data: Data, *, opened: bool) -> str:
    rows = [
        (
            _code(row["id"]),
            f"{escape(row['change'])}<br>{_code(row['function'])}",
            _tag(row["status"]),
            f"{escape(row['how'])} "
            + ", ".join(_code(name) for name in row["caught_by"][:3])
            + (f" and {len(row['caught_by']) - 3} more" if len(row["caught_by"]) > 3 else ""),
        )
        for row in data["mutations"]
    ]
    counts = {status: sum(row["status"] == status for row in data["mutations"]) for status in MUTATION_TAGS}
    bad = sum(counts[status] for status in ("missed", "true, unnoticed", "caught, though true"))
    verdict = f"{bad} were not treated as they should be." if bad else "All were caught."
    return (
        '<h2 id="mutations">Could it have failed?</h2><p>The same checks were run against '
        f"{len(rows)} deliberately wrong formulas. <b>{verdict}</b></p><ul>"
        f"<li>{counts['caught']} make a statement false, and a check of that statement found a counterexample.</li>"
        f"<li>{counts['true, caught by algebra']} stay within the slack of a loose bound. The statement stays true, so "
        "nothing can refute it, and the checks do not claim that the printed constants are the best. What notices is "
        "algebra: the function differs from the formula.</li>"
        f"<li>{counts['caught by algebra']} are not known to be true, but no experiment here refutes them. Algebra "
        "notices these too.</li></ul>"
        f"<details{' open' if bad or opened else ''}><summary>{len(rows)} mutations</summary>"
        + _table(("mutation", "change", "", "caught by"), rows)
        + f"</details><p>Seed {data['seed']}, stbmta {escape(data['version'])}.</p>"
    )


def _exploration(results: Data) -> str:
    if not results["exploration"]:
        return ""
    rows = [
        (
            escape(row["name"]),
            escape(row["what"]),
            _rate(row["false_positives"]),
            _rate(row["false_negatives"]),
            f"{row['bound_ratio']:.2f}",
            f"{100 * row['improvement']:.0f} %",
        )
        for row in results["exploration"]
    ]
    alpha = results["exploration"][0]["alpha"]
    heads = ("scenario", "what is broken", "rate of A", "rate of B", "error / bound", "improvement")
    return (
        '<h2 id="exploration">What if the assumptions are broken?</h2><p>Explored, not judged. Were the assumptions '
        f"true, the rates of A (all pairs at tau) and B (all pairs at tau/3) would be at most {alpha:g}, and the "
        "error at most the bound of Theorem 1. The improvement is that of two groups of ten bags with equal means. "
        "The tests depend on the assumptions much more than the improvement does.</p>"
        + _table(heads, rows, numbers=4)
    )


def _families(results: Data) -> str:
    parts = ['<h2 id="checks">All checks</h2>']
    families: dict[str, list[Data]] = {}
    for check in results["checks"]:
        families.setdefault(check["family"], []).append(check)
    for family, checks in families.items():
        parts.append(f"<h3>{escape(family)}</h3>" + _image(tightness_figure(checks), f"tightness: {family}"))
        parts += [_one_check(check) for check in checks]
    return "\n".join(parts)


def _one_check(check: Data) -> str:
    rows = [
        (
            escape(r["regime"]),
            _number(r["observed"]),
            "" if r["exact"] else f"{_number(r['lower'])} to {_number(r['upper'])}",
            _claim(r),
            "exact" if r["exact"] else f"{r['count']} of {r['trials']}",
            _tag("vacuous" if r["vacuous"] and r["verdict"] == "holds" else _verdict(check, r)),
        )
        for r in check["regimes"]
    ]
    labels = escape(", ".join(check["labels"]))
    return (
        f"<details><summary>{_tag(check['status'])} {_code(check['id'])} {escape(check['title'])} "
        f"<small>({labels})</small></summary>"
        + _table(("regime", "observed", "interval", "claim", "", ""), rows)
        + "</details>"
    )


def _verdict(check: Data, regime: Data) -> str:
    return "known erratum" if regime["verdict"] == "violated" and check["erratum"] else regime["verdict"]


def _coverage() -> str:
    rows = [
        (
            escape(row.statement.label),
            escape(row.statement.title),
            _code(row.statement.function.removeprefix("stbmta.")) if row.statement.function else "",
            ", ".join(_code(name) for name in row.checks[:4])
            + (f" and {len(row.checks) - 4} more" if len(row.checks) > 4 else "")
            if row.checks
            else f"<i>{escape(row.reason)}</i>",
        )
        for row in coverage()
    ]
    return (
        '<h2 id="coverage">Statements of the paper, and what checks them</h2>'
        f"<details><summary>{len(rows)} rows</summary>"
        + _table(("label", "statement", "function", "checked by"), rows)
        + "</details>"
    )


def _counts(checks: Iterable[Data]) -> dict[str, int]:
    order = ("holds", "known erratum", "undecided", "erratum not seen", "violated")
    found = [check["status"] for check in checks]
    return {status: found.count(status) for status in order if status in found}


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """Make a table; the last `numbers` columns hold numbers."""
    first = len(heads) - numbers
    kinds = ["" if k < first else ' class="n"' for k in range(len(heads))]
    head = "".join(f"<th{kind}>{text}</th>" for kind, text in zip(kinds, heads, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds, row, strict=True)) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _claim(regime: Data) -> str:
    low, high = regime["at_least"], regime["at_most"]
    if low is None:
        return f"at most {_number(high)}"
    return f"at least {_number(low)}" if high is None else f"{_number(low)} to {_number(high)}"


def _rate(rate: Sequence[float]) -> str:
    return f"{rate[0]:.2f} <small>({rate[1]:.2f} to {rate[2]:.2f})</small>"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _tag(status: str) -> str:
    letters = "color:black;" if status in _DARK else ""
    return f'<span class="tag" style="{letters}background:{_TAGS[status]}">{escape(status)}</span>'


def _image(png: str, what: str) -> str:
    return f'<img alt="{escape(what)}" src="data:image/png;base64,{png}">'
