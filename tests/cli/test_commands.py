"""The command line as a whole: help, completion, pipes, and the commands beside ``estimate``."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import stbmta
from stbmta import Bags, cli
from stbmta.pairs import pair_pvalues

from .helpers import ok


def test_debug_shows_the_traceback(run, folder):
    for arguments in (["--debug", "estimate", "no.csv"], ["estimate", "no.csv", "--debug"]):
        done = run(*arguments)
        assert isinstance(done.exception, FileNotFoundError)
    # Behind -- it is not an option.
    assert run("estimate", "--by", "city", "--", "--debug").exit_code == 2


def test_commands_stand_in_groups(run):
    text = ok(run("--help")).stdout
    order = [
        "On your data",
        "estimate",
        "neighbors",
        "mmd",
        "From theory",
        "plan",
        "On this package",
        "info",
        "warmup",
    ]
    places = [text.index(f" {name} ") for name in order]
    assert places == sorted(places)
    assert "─ Commands ─" not in text  # every command has its group


def test_mmd_is_that_of_the_library(run, folder):
    frame = pd.read_csv("clean.csv")
    frame.loc[frame["city"].isin(["Rome", "Oslo"]), "warm"] += 4
    frame.to_csv("apart.csv", index=False)
    call = ["mmd", "apart.csv", "--by", "city"]
    pairs = pair_pvalues(Bags.from_frame(frame, "city", ["warm", "wind_speed"]), "rbf")
    ok(run(*call, "-o", "m.npz", "--plot", "m.png"))
    with np.load("m.npz") as found:
        np.testing.assert_allclose(found["pvalue"], pairs.pvalues, rtol=1e-10)
        np.testing.assert_allclose(found["corrected"], pairs.corrected("holm"), rtol=1e-10)
        np.testing.assert_allclose(found["mmd2"], pairs.distances, rtol=1e-10)
    found = json.loads(ok(run(*call, "--json", "--correction", "fdr_bh")).stdout, parse_constant=pytest.fail)
    assert len(found["pairs"]) == 15
    ps = [pair["pvalue"] for pair in found["pairs"]]
    assert ps == sorted(ps)
    # The first pairs are those of one of the two warm cities with another one; labels and numbers belong together.
    index = {name: k for k, name in enumerate(pairs.labels)}
    corrected = pairs.corrected("fdr_bh")
    for pair in found["pairs"]:
        i, j = index[pair["city"]], index[pair["city_other"]]
        assert pair["mmd2"] == pytest.approx(pairs.distances[i, j])
        assert pair["corrected"] == pytest.approx(corrected[i, j])
        assert pair["differ"] == (corrected[i, j] <= 0.05)
    assert {
        frozenset((p["city"], p["city_other"])) & {"Rome", "Oslo"} != set() for p in found["pairs"][:8]
    } == {True}
    done = ok(run(*call))
    assert "8 of 15 pairs differ at level 0.05 (chi-square, corrected by holm)" in done.stdout
    assert ok(run(*call, "-o", "-")).stdout.startswith("city,city_other,mmd2,pvalue,corrected,differ")


def test_mmd_by_permutations_and_without_pvalues(run, folder):
    call = ["mmd", "three.csv", "--by", "city", "--json"]
    done = ok(run(*call, "--pvalues", "permutation", "--permutations", "19"))
    assert "--permutations 300 would do" in done.stderr
    assert all(pair["pvalue"] >= 1 / 20 for pair in json.loads(done.stdout)["pairs"])
    again = ok(run(*call, "--pvalues", "permutation", "--permutations", "19"))
    assert again.stdout == done.stdout
    other = ok(run(*call, "--pvalues", "permutation", "--permutations", "19", "--seed", "1"))
    assert other.stdout != done.stdout
    found = json.loads(ok(run(*call, "--pvalues", "none")).stdout)["pairs"]
    assert set(found[0]) == {"city", "city_other", "mmd2"}
    ok(run("mmd", "three.csv", "--by", "city", "--pvalues", "none", "--plot", "m.svg", "-o", "m.csv"))
    ok(run("mmd", "three.csv", "--by", "city", "--pvalues", "none", "-o", "m.npz"))
    with np.load("m.npz") as arrays:
        assert sorted(arrays) == ["labels", "mmd2"]
    ok(run("mmd", "clean.csv", "--by", "city", "--pvalues", "normal", "-k", "linear"))


@pytest.mark.parametrize(
    ("words", "count", "expected"),
    [
        ("stbmta est", 1, "estimate"),
        ("stbmta estimate clean.csv --by ci", 4, "city"),
        ("stbmta estimate clean.parquet -c wi", 4, "wind_speed"),
        ("stbmta estimate no.csv --by ci", 4, ""),
    ],
)
def test_shell_completion(folder, words, count, expected):
    """Commands, and the columns of the file that is named."""
    env = {"_STBMTA_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(count)}
    done = CliRunner().invoke(cli.app, [], prog_name="stbmta", env=env)
    assert (done.exit_code, done.stdout.strip(), done.stderr) == (0, expected, "")


def test_help_has_examples(run):
    for command in ("estimate", "neighbors", "mmd", "threshold", "bound", "plan", "demo", "info", "warmup"):
        assert f"stbmta {command} " in ok(run(command, "--help")).stdout.split("Usage")[1].split("\n", 1)[1]
    assert "--debug" in ok(run("--help")).stdout


@pytest.mark.parametrize("command", ["threshold", "plan"])
def test_help_tells_the_numbers_of_both_settings(run, command):
    text = " ".join(ok(run(command, "--help")).stdout.replace("│", " ").split())
    assert text.count("(bounded setting); 1 by default.") == 2
    assert "printed thresholds); 1000 by default." in text


def test_help_is_plain(run):
    """Paragraphs are filled, brackets stay, and flags, also those of groups and their commands, take no value."""
    text = " ".join(ok(run("bench", "--help")).stdout.split())
    assert 'Peers that are not installed are left out; pip install "stbmta[bench]" installs them.' in text
    examples = ok(run("estimate", "--help")).stdout.split("Examples:")[1].splitlines()
    assert examples[1].strip().startswith("stbmta estimate penguins.csv")
    for command in ([], ["estimate"], ["reproduce"], ["reproduce", "toy"]):
        assert "<bool>" not in ok(run(*command, "--help")).stdout


def test_version(run):
    assert ok(run("--version")).stdout == f"stbmta {stbmta.__version__}\n"


def test_a_closed_pipe_is_no_error(folder):
    """``stbmta ... | head`` ends quietly."""
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(1000, 10)), columns=[*"abcdefghij"])
    frame.assign(bag=np.repeat(np.arange(500), 2)).to_csv("many.csv", index=False)  # more than a pipe holds
    script = "from stbmta.cli import main; main()"
    command = [sys.executable, "-c", script, "estimate", "many.csv", "--by", "bag", "-m", "naive", "-o", "-"]
    env = os.environ | {"PYTHONPATH": str(stbmta.__path__[0].removesuffix("stbmta"))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as process:
        assert process.stdout.readline().startswith(b"bag,size")
        process.stdout.close()
        errors = process.stderr.read()
        process.wait(timeout=120)
    assert b"Traceback" not in errors
