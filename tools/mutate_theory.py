"""Change every numeric constant of theory/, one at a time, and see whether a test fails.

    python tools/mutate_theory.py                   # all constants, two at a time; resumes where it stopped
    python tools/mutate_theory.py laws exact        # two modules
    python tools/mutate_theory.py --sample 20       # some constants, drawn at random
    python tools/mutate_theory.py --report r.txt    # the report goes to a file too

A constant in arithmetic becomes 1 % larger (0 becomes 0.01), any other integer one larger. Each mutant runs the
examples of its module and then the tests named in TESTS, in a fresh process without compiled code, until one
fails. Exit code 1 if a mutant survives that tools/mutation_exemptions.toml does not explain.
"""

import argparse
import ast
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import multiprocessing
import os
import random
import signal
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
THEORY = ROOT / "theory"
EXEMPTIONS = ROOT / "tools" / "mutation_exemptions.toml"
RESULTS = ROOT / "build" / "mutation.jsonl"
TIMEOUT = 120.0  # seconds of work; a mutant that never ends is noticed

# Which tests know a module, the most likely to fail first.
TESTS = {
    "_bounded_norms": ("formulas", "levels", "monte_carlo"),
    "_bounded_pairs": ("formulas", "levels", "errata"),
    "_bounded_q": ("formulas", "levels", "errata"),
    "_check": ("formulas", "theorems", "planning", "exact", "covering_sets", "covering", "dimension"),
    "_cover": ("cover", "covering"),
    "_gain": ("planning",),
    "_gaussian_deviations": ("formulas", "levels", "monte_carlo"),
    "_levels": ("exact",),
    "_quadratic": ("levels", "formulas"),
    "_roots": ("exact", "planning", "domains"),
    "_settings": ("planning",),
    "_table": ("exact",),
    "_talagrand": ("formulas", "levels"),
    "bounded": ("formulas", "events", "errata"),
    "concentration": ("levels",),
    "confidence": ("exact", "domains"),
    "covering": ("covering",),
    "covering_exact": ("covering_exact",),
    "covering_sets": ("covering_sets",),
    "dimension": ("dimension",),
    "errors": ("theorems",),
    "events": ("events",),
    "exact": ("exact", "rates"),
    "gaussian": ("formulas", "events", "errata", "exact"),
    "laws": ("laws", "exact"),
    "planning": ("planning",),
    "pvalues": ("pvalues",),
    "registry": ("registry",),
    "sharp": ("sharp", "theorems"),
    "tables": ("exact",),
    "theorems": ("formulas", "theorems", "errata"),
    "traces": ("dimension",),
}


@dataclass(frozen=True)
class Constant:
    """A number in the source, and what to put in its place."""

    module: str
    line: int
    column: int
    value: float
    changed: tuple[float, ...]
    code: str
    before: str
    digest: str

    @property
    def key(self) -> str:
        return f"{self.module}:{self.digest}:{self.line}:{self.column}"

    @property
    def place(self) -> str:
        return f"theory/{self.module}.py:{self.line}:{self.column + 1}"


def is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def constants(module: str) -> list[Constant]:
    """All numbers of a module."""
    source = (THEORY / f"{module}.py").read_text()
    lines = source.splitlines()
    digest = hashlib.sha256(source.encode()).hexdigest()[:12]
    found = []

    def visit(node: ast.AST, ancestors: tuple[ast.AST, ...]) -> None:
        if is_number(node):
            line = lines[node.lineno - 1]
            code, before = line.strip(), line[: node.col_offset]
            changed = changes(node.value, ancestors)
            found.append(
                Constant(module, node.lineno, node.col_offset, node.value, changed, code, before, digest)
            )
        for child in ast.iter_child_nodes(node):
            visit(child, (*ancestors, node))

    visit(ast.parse(source), ())
    return found


def changes(value: float, ancestors: tuple[ast.AST, ...]) -> tuple[float, ...]:
    """Give a slight change of a number in a formula; one more for an integer that counts, and as a second try."""
    slight = 0.01 if value == 0 else value * 1.01
    if isinstance(value, float):
        return (slight,)
    whole_numbers = (ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr)
    inside = ancestors[-1]
    arithmetic = isinstance(inside, ast.BinOp | ast.UnaryOp) and not any(
        isinstance(a, ast.Subscript | ast.keyword)
        or (isinstance(a, ast.BinOp) and isinstance(a.op, whole_numbers))
        for a in ancestors
    )
    return (slight, value + 1) if arithmetic else (value + 1,)


class MutantLoader(importlib.machinery.SourceFileLoader):
    """Loads a module with one number changed."""

    def __init__(self, name: str, path: str, constant: Constant, value: float) -> None:
        super().__init__(name, path)
        self.constant, self.value = constant, value

    def get_code(self, fullname: str) -> Any:
        tree = ast.parse(Path(self.path).read_text())
        for node in ast.walk(tree):
            if is_number(node) and (node.lineno, node.col_offset) == (
                self.constant.line,
                self.constant.column,
            ):
                node.value = self.value
        return compile(tree, self.path, "exec")


class MutantFinder(importlib.abc.MetaPathFinder):
    """Finds the changed module before anybody else does."""

    def __init__(self, constant: Constant, value: float) -> None:
        self.name = f"stbmta.theory.{constant.module}"
        self.loader = MutantLoader(self.name, str(THEORY / f"{constant.module}.py"), constant, value)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name == self.name:
            return importlib.util.spec_from_file_location(name, self.loader.path, loader=self.loader)
        return None


class FirstFailure:
    """A pytest plugin that remembers the first failure, and does not let Hypothesis shrink it."""

    def __init__(self) -> None:
        self.test, self.error = "", ""

    def pytest_sessionstart(self) -> None:
        import hypothesis

        quick = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
        hypothesis.settings.register_profile("mutation", phases=quick)
        hypothesis.settings.load_profile("mutation")

    def pytest_exception_interact(self, node: Any, call: Any) -> None:
        if not self.test:
            self.test, self.error = node.nodeid, call.excinfo.type.__name__


def run(constant: Constant) -> dict[str, Any]:
    """Run the tests of one mutant in this process, which ends after it."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    for value in constant.changed:
        verdict = run_in_a_fork(constant, value)
        if verdict["error"] not in ("TypeError", "IndexError"):
            break  # a number that must be whole is no test of its value: try one more as well
    return {**asdict(constant), "key": constant.key, "place": constant.place, **verdict}


def run_in_a_fork(constant: Constant, value: float) -> dict[str, Any]:
    """Fork once more, so that the second change starts as clean as the first."""
    receive, send = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        try:
            send.send(run_tests(constant, value))
        finally:
            os._exit(0)
    send.close()
    try:
        return receive.recv()
    except EOFError:
        return {"new": value, "killed": False, "test": "", "error": "crash"}  # no test has noticed anything
    finally:
        os.waitpid(child, 0)


def run_tests(constant: Constant, value: float) -> dict[str, Any]:
    import pytest

    for name in [m for m in sys.modules if m.split(".")[0] == "stbmta"]:
        del sys.modules[name]
    sys.meta_path.insert(0, MutantFinder(constant, value))

    first = FirstFailure()
    options = ["-x", "-q", "-p", "no:cacheprovider", "--no-header", "--no-summary"]
    options += ["-m", "not slow_without_jit"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # Hypothesis was imported before the fork
    example = f"tests/test_doctests.py::test_examples_run[stbmta.theory.{constant.module}]"
    names = dict.fromkeys((*TESTS.get(constant.module, ()), "domains"))
    files = [f"tests/theory/test_{name}.py" for name in names]
    with time_limit(TIMEOUT):
        status = pytest.main([*options, example, *files], plugins=[first])
    killed, passed = status == pytest.ExitCode.TESTS_FAILED, status == pytest.ExitCode.OK
    error = first.error or ("" if killed or passed else f"pytest ended with {status}")
    return {"new": value, "killed": killed, "test": first.test, "error": error}


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError after so much work; waiting does not count, or a busy machine would notice every mutant."""

    def stop(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, 5.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def exemptions() -> list[dict[str, Any]]:
    with EXEMPTIONS.open("rb") as file:
        return tomllib.load(file).get("exempt", [])


def reason_for(constant: Constant, exempt: list[dict[str, Any]]) -> str:
    """Why a change of this constant cannot be noticed, or an empty string."""
    for entry in exempt:
        same_line = entry["module"] == constant.module and entry["code"] in constant.code
        this_one = constant.before.endswith(entry.get("before", ""))
        if same_line and this_one and constant.value in entry.get("values", [constant.value]):
            return str(entry["reason"])
    return ""


def stale(exempt: list[dict[str, Any]], everything: list[Constant]) -> list[str]:
    """Exemptions whose code is no longer there."""
    return [
        f"{entry['module']}: {entry['code']}"
        for entry in exempt
        if not any(reason_for(c, [entry]) for c in everything)
    ]


def finished(path: Path) -> dict[str, dict[str, Any]]:
    """Mutants of earlier runs that were noticed; survivors are tried again."""
    if not path.exists():
        return {}
    rows = (json.loads(line) for line in path.read_text().splitlines())
    return {row["key"]: row for row in rows if row["killed"]}


def report(rows: list[dict[str, Any]], explained: list[tuple[Constant, str]]) -> str:
    """Table by module, survivors, and the constants that no test can notice."""
    modules = sorted({r["module"] for r in rows} | {c.module for c, _ in explained})
    killed = Counter(r["module"] for r in rows if r["killed"])
    survived = Counter(r["module"] for r in rows if not r["killed"])
    exempt = Counter(c.module for c, _ in explained)
    lines = [f"{'module':<22}{'constants':>10}{'noticed':>9}{'exempt':>8}{'survived':>10}"]
    total = Counter({"noticed": 0})
    for m in modules:
        counts = {"noticed": killed[m], "exempt": exempt[m], "survived": survived[m]}
        total.update(counts)
        lines.append(f"{m:<22}{sum(counts.values()):>10}{killed[m]:>9}{exempt[m]:>8}{survived[m]:>10}")
    sums = total["noticed"], total["exempt"], total["survived"]
    lines.append(f"{'all':<22}{sum(sums):>10}{sums[0]:>9}{sums[1]:>8}{sums[2]:>10}")
    if explained:
        lines += ["", "Exempt:", *(f"{c.place}  {c.value!r}  {reason}" for c, reason in explained)]
    lines += ["", "Survived:" if sums[2] else "No mutant survived."]
    lines += [f"{r['place']}  {r['value']!r} -> {r['new']!r}  {r['code']}" for r in rows if not r["killed"]]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("modules", nargs="*", help="modules of theory/; all by default")
    parser.add_argument("--sample", type=int, help="only this many constants, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time")
    parser.add_argument(
        "--results", type=absolute, default=RESULTS, help="where results are kept for resuming"
    )
    parser.add_argument("--report", type=absolute, help="write the report to this file too")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    chosen = parser.parse_args(arguments)

    every_module = sorted(path.stem for path in THEORY.glob("*.py"))
    unknown = set(chosen.modules) - set(every_module)
    if unknown:
        parser.error(f"no module {', '.join(sorted(unknown))} in theory/")
    everything = [c for m in every_module for c in constants(m)]
    exempt = exemptions()
    outdated = stale(exempt, everything)
    selected = [c for c in everything if not chosen.modules or c.module in chosen.modules]
    if chosen.sample is not None:
        selected = random.Random(chosen.seed).sample(selected, min(chosen.sample, len(selected)))
    explained = [(c, reason_for(c, exempt)) for c in selected if reason_for(c, exempt)]
    to_try = [c for c in selected if not reason_for(c, exempt)]

    preload()
    chosen.results.parent.mkdir(parents=True, exist_ok=True)
    if chosen.fresh:
        chosen.results.unlink(missing_ok=True)
    done = finished(chosen.results)
    rows = [done[c.key] for c in to_try if c.key in done]
    todo = [c for c in to_try if c.key not in done]
    unchanged = [replace(c, changed=(c.value,)) for c in {c.module: c for c in todo}.values()]
    broken = [row for row in try_all(unchanged, chosen.jobs, None) if row["killed"] or row["error"]]
    if broken:
        print(f"Tests fail without any change: {', '.join(r['test'] or r['module'] for r in broken)}")
        return 2
    rows += try_all(todo, chosen.jobs, chosen.results)
    rows.sort(key=lambda r: (r["module"], r["line"], r["column"]))
    text = "\n".join([report(rows, explained), *(f"Exemption without its code: {line}" for line in outdated)])
    print(text)
    if chosen.report:
        chosen.report.write_text(text + "\n")
    return int(bool(outdated) or not all(row["killed"] for row in rows))


def absolute(path: str) -> Path:
    """Path from where the command was called, for the folder changes later."""
    return Path(path).absolute()


def try_all(todo: list[Constant], jobs: int, results: Path | None) -> list[dict[str, Any]]:
    """Run mutants side by side, and keep each result at once."""
    from stbmta.progress import progress_bar

    rows = []
    what = "mutants" if results else "tests without a change"
    with (
        multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=1) as pool,
        progress_bar(what, len(todo)) as advance,
    ):
        for row in pool.imap_unordered(run, todo):
            rows.append(row)
            if results:
                with results.open("a") as file:
                    file.write(json.dumps(row) + "\n")
            advance()
    return rows


def preload() -> None:
    """Import what every mutant needs, once, before the processes part."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # a mutant must never meet compiled code from the cache
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.path.insert(0, str(ROOT))
    os.chdir(ROOT)
    for name in (
        "pytest",
        "hypothesis",
        "mpmath",
        "numba",
        "pandas",
        "scipy.optimize",
        "scipy.spatial",
        "scipy.stats",
    ):
        importlib.import_module(name)


if __name__ == "__main__":
    sys.exit(main())
