"""Print what the tests of theory/ assert: formulas, deviation bounds, thresholds, error rates, covering numbers.

    python tools/theory_report.py             # about a minute
    python tools/theory_report.py --quick     # seconds

Exit code 1 if anything is not as it should be.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import mpmath as mp
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from stbmta.theory import concentration, covering, gaussian, statements  # noqa: E402
from tests.theory import deviations, rates  # noqa: E402
from tests.theory.formulas import FORMULAS  # noqa: E402
from tests.theory.oracle import DIGITS  # noqa: E402
from tests.theory.test_formulas import cancellation, value_of  # noqa: E402


def registry() -> Iterator[tuple[str, bool]]:
    rows = list(statements())
    labels = set((ROOT / "tests" / "theory" / "labels.txt").read_text().split())
    missing = labels - {row.label for row in rows}
    counts = {
        status: sum(row.status == status for row in rows) for status in sorted({r.status for r in rows})
    }
    text = f"{len(rows)} statements, {len(labels)} labels of the paper, missing: {sorted(missing) or 'none'}"
    yield text, not missing
    yield "  " + ", ".join(f"{count} {status}" for status, count in counts.items()), True


def formulas() -> Iterator[tuple[str, bool]]:
    """Largest error of each formula, relative to the value, or to the terms that cancel in it."""
    worst, where, points = 0.0, "", 0
    for formula in FORMULAS:
        for arguments in formula.points:
            with mp.workdps(DIGITS):
                expected = formula.formula(**{k: mp.mpf(v) for k, v in arguments.items()})
                scale = max(abs(expected), cancellation(formula, arguments)) or 1
                error = float(abs(mp.mpf(float(value_of(formula, arguments))) - expected) / scale)
            points += 1
            if error > worst:
                worst, where = error, formula.name
    yield (
        f"{len(FORMULAS)} formulas at {points} points: largest relative error {worst:.1e} ({where})",
        worst <= 1e-12,
    )


def deviation_bounds(draws: int) -> Iterator[tuple[str, bool]]:
    found = list(deviations.deviations(np.random.default_rng(1), draws))
    yield f"{'bound':<24}{'law':<33}" + "".join(f"{f't = {t:g}':>20}" for t in deviations.LEVELS), True
    for bound, law in dict.fromkeys((d.bound, d.law) for d in found):
        mine = [d for d in found if (d.bound, d.law) == (bound, law)]
        cells = (f"{d.failures / d.draws:.5f} <= {d.allowed:.5f}" for d in mine)
        yield f"{bound:<24}{law:<33}" + "".join(f"{cell:>20}" for cell in cells), all(d.holds for d in mine)
    names = {n for n in concentration.__all__ if n.endswith(("_upper", "_lower"))}
    yield (
        f"{len(names)} bounds, {len(found)} comparisons, {draws:,} draws each",
        names == {d.bound for d in found},
    )


def thresholds() -> Iterator[tuple[str, bool]]:
    bags = np.array([2.0, 10.0, 100.0, 2000.0, 1e4, 1e6, 1e12])[:, None, None]
    dims = np.array([1.0, 5.0, 50.0, 1e3, 1e4, 1e6, 1e9])[:, None]
    alpha = np.array([0.01, 0.05, 0.5])
    gain = gaussian.tau_min(bags, dims, alpha) / gaussian.exact_tau(bags, dims, alpha, same_data=True)
    yield (
        f"printed tau over exact tau on {gain.size} points (B, d, alpha): "
        f"from {gain.min():.2f} to {gain.max():.1f}, median {np.median(gain):.2f}",
        bool(gain.min() >= 1),
    )


def error_rates(trials: int) -> Iterator[tuple[str, bool]]:
    yield f"{'event':<15}{'B':>4}{'d':>6}{'nominal':>12}{'rate':>12}   interval", True
    for rate in rates.rates(np.random.default_rng(2), trials):
        low, high = rate.interval
        many = rate.what.endswith("any pair") and rate.n_bags > 2
        fine = low <= rate.nominal and (rate.tight or (many and high >= 0.8 * rate.nominal))
        note = "  (Bonferroni over dependent pairs)" if many and not rate.tight else ""
        yield (
            f"{rate.what:<15}{rate.n_bags:>4}{rate.dim:>6}{rate.nominal:>12.6f}{rate.hits / rate.trials:>12.6f}"
            f"   [{low:.6f}, {high:.6f}]{note}",
            fine,
        )


def covering_numbers(sets: int) -> Iterator[tuple[str, bool]]:
    rng = np.random.default_rng(3)
    equal = inside = 0
    for _ in range(sets):
        points = rng.normal(size=(rng.integers(2, 20), rng.integers(2, 5)))
        radius = rng.uniform(0.2, 2.5)
        number = covering.covering_number(points, radius)
        truth = covering.exact_covering_number(points, radius)
        inside += number.lower <= truth <= number.upper
        equal += number.exact
    yield (
        f"{inside} of {sets} intervals hold the exact number (integer program); {equal} are exact",
        inside == sets,
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer draws")
    few = parser.parse_args().quick
    sections = {
        "Registry": registry(),
        "Formulas against 50 digits": formulas(),
        "Deviation bounds: how often they fail, and how often they may": deviation_bounds(
            20_000 if few else 1_000_000
        ),
        "Exact against printed thresholds": thresholds(),
        "Error rates at the exact thresholds": error_rates(2000 if few else 40_000),
        "Covering numbers of random small sets": covering_numbers(30 if few else 500),
    }
    good = True
    for title, lines in sections.items():
        print(f"{title}\n{'-' * len(title)}")
        for text, fine in lines:
            print(text if fine else f"{text}  WRONG")
            good &= fine
        print()
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
