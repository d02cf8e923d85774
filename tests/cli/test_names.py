"""Columns of the user that are called like ours: nothing is overwritten, nothing is mistaken."""

import json

import numpy as np
import pandas as pd
import pytest

from stbmta import STB, Bags, plotting

OURS = [
    "size",
    "neighbors",
    "effective_neighbors",
    "naive_error",
    "estimated_error",
    "error",
    "naive",
    "mmd2",
]


@pytest.fixture
def frame(folder):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(40, len(OURS))), columns=OURS)
    frame.insert(0, "city", np.repeat(["Rome", "Oslo", "Lima", "Bonn"], 10))
    frame.to_csv("names.csv", index=False)
    return frame


@pytest.mark.parametrize("method", ["stb", "auto"])
def test_features_called_like_figures(run, frame, method):
    files = ["-o", "o.csv", "--plot", "p.png", "--report", "r.html"]
    done = run("estimate", "names.csv", "--by", "city", "-m", method, "--json", *files)
    assert done.exit_code == 0, done.output
    found = pd.read_csv("o.csv")
    assert found["size"].tolist() == [10] * 4
    assert found["neighbors"].between(1, 4).all()
    assert (found["naive_error"] > 0).all()
    means = frame.groupby("city", sort=False)[OURS].mean()
    for name in OURS:
        # naive_error is ours; the naive means of the feature "error" stand beside it.
        column = "naive_mean_error" if name == "error" else f"naive_{name}"
        np.testing.assert_allclose(found[column], means[name], rtol=1e-10)
    facts = json.loads(done.stdout)
    assert facts["average_neighbors"] == pytest.approx(found["neighbors"].mean())
    assert facts["estimated_error"] == pytest.approx(found["estimated_error"].mean())
    assert facts["n_bags"] == len(facts["bags"]) == 4


def test_features_called_like_figures_in_the_library(frame):
    est = STB(zeta=1.0, gamma=0.0).fit(Bags.from_frame(frame, "city"))
    found = est.to_frame()
    assert found.columns.is_unique
    assert found["size"].tolist() == [10] * 4
    np.testing.assert_allclose(found["mean_size"], est.means_[:, 0])
    assert "Avg. naive error" in est.summary().as_text()
    drawn = plotting.ErrorBySizeDisplay.from_estimator(est)
    np.testing.assert_allclose(drawn.errors["naive"], est.statistics_.naive_mse)


@pytest.mark.parametrize("name", ["size", "neighbors", "naive_error", "naive_x", "estimate_x"])
def test_labels_called_like_our_columns(run, folder, frame, name):
    frame[["city", "size"]].set_axis([name, "x"], axis=1).to_csv("labels.csv", index=False)
    done = run("estimate", "labels.csv", "--by", name, "-o", "-")
    assert done.exit_code == 0, done.output
    header, *rows = done.stdout.splitlines()
    assert [row.split(",")[0] for row in rows] == ["Rome", "Oslo", "Lima", "Bonn"]
    assert len(set(header.split(","))) == len(header.split(",")) == 8


@pytest.mark.parametrize(
    "name", ["mmd2", "pvalue", "corrected", "differ", "threshold", "size", "nearest first"]
)
def test_labels_called_like_columns_of_pairs(run, frame, name):
    frame[["city", "error"]].set_axis([name, "x"], axis=1).to_csv("labels.csv", index=False)
    found = json.loads(run("mmd", "labels.csv", "--by", name, "--json").stdout)["pairs"]
    assert {pair[name] for pair in found} == {"Rome", "Oslo", "Lima"}
    assert len(found[0]) == 6
    found = json.loads(run("neighbors", "labels.csv", "--by", name, "--zeta", "9", "--json").stdout)["pairs"]
    assert {pair[name] for pair in found} <= {"Rome", "Oslo", "Lima", "Bonn"}
    assert len(found[0]) == 4
    assert run("neighbors", "labels.csv", "--by", name).exit_code == 0


def test_keys_that_end_like_the_other_bag(run, folder, frame):
    keyed = frame[["city", "size"]].set_axis(["g", "x"], axis=1)
    keyed.insert(1, "g_other", np.tile(["u", "v"], 20))
    keyed.to_csv("keys.csv", index=False)
    found = json.loads(run("mmd", "keys.csv", "--by", "g,g_other", "--pvalues", "none", "--json").stdout)
    first = found["pairs"][0]
    assert list(first) == ["g", "g_other", "g_other_other", "g_other_other_other", "mmd2"]
    assert first["g"] in set(frame["city"])
    assert first["g_other_other_other"] in ("u", "v")
