"""The page that explains an estimate, and the change of the error that it promises."""

import dataclasses
import json
import warnings

import numpy as np
import pandas as pd
import pytest

from stbmta import Adaptive, Bags
from stbmta import cli_output as output
from stbmta.cli_result import held_out_change

from .helpers import ok, reference


def test_the_report_explains_the_estimate(run, folder):
    call = ["estimate", "gap.csv", "--by", "city", "--drop-missing", "-m", "stb", "--report", "r.html"]
    found = json.loads(ok(run(*call, "--json")).stdout)
    page = (folder / "r.html").read_text()
    assert page.startswith("<!doctype html>")
    # Self-contained: the picture is inside, nothing is loaded.
    assert 'src="data:image/png;base64,' in page
    assert "http" not in page
    assert f"{100 * found['held_out_change']:+.1f} %" in page
    assert "dropped 1 of 60 rows" in page
    for bag in found["bags"]:
        assert f"<td>{bag['city']}</td>" in page
    ok(run("estimate", "single.csv", "--by", "city", "-m", "naive", "--report", "naive.html"))
    assert "this method looks at each bag alone" in (folder / "naive.html").read_text()
    assert "do not tell how large the errors are" in (folder / "naive.html").read_text()
    frame = pd.read_csv("clean.csv").assign(city=["<b>&"] * 6 + ["a"] * 54)
    frame.to_csv("markup.csv", index=False)
    ok(run("estimate", "markup.csv", "--by", "city", "--report", "markup.html"))
    assert "<td>&lt;b&gt;&amp;</td>" in (folder / "markup.html").read_text()


def test_the_report_of_a_method_that_looks_at_points(run, folder):
    """Spectral shrinkage averages no other bags, and does not estimate its error though bags have many rows."""
    ok(run("estimate", "clean.csv", "--by", "city", "-k", "rbf", "-m", "skmse", "--report", "r.html"))
    page = (folder / "r.html").read_text()
    assert "this method looks at each bag alone" in page
    assert "This method does not estimate the errors of its means." in page
    assert "single row" not in page
    assert "<img" not in page  # there is nothing to draw


def test_the_report_cuts_wide_tables_between_features(run, folder):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(90, 11)), columns=[f"col_{k}" for k in range(11)])
    frame.insert(0, "bag", np.repeat(np.arange(45), 2))
    frame.to_csv("wide.csv", index=False)
    for count, opened in ((45, 0), (40, 3)):
        frame.head(2 * count).to_csv("wide.csv", index=False)
        ok(run("estimate", "wide.csv", "--by", "bag", "-m", "rkmse", "--report", f"{count}.html"))
        page = (folder / f"{count}.html").read_text()
        heads = [part.split("</thead>")[0] for part in page.split("<thead>")[1:]]
        assert [head.count("<th>") for head in heads] == [8, 9, 9, 5]
        for head in heads:
            assert head.count("<th>naive_<wbr>col") == head.count("<th>estimate_<wbr>col")
            assert head.startswith("<tr><th>bag</th>")
        assert page.count("<details open>") == opened
        assert page.count("<details") == 3


def test_letters_that_the_font_lacks_are_one_remark(run, folder):
    frame = pd.read_csv("clean.csv").assign(city=lambda f: f["city"].replace({"Rome": "東京", "Oslo": "🙂"}))
    frame.to_csv("far.csv", index=False)
    done = ok(run("estimate", "far.csv", "--by", "city", "-m", "naive", "--plot", "far.png"))
    remark = "note: the font of pictures lacks some letters of the names; boxes stand for them."
    assert done.stderr.splitlines().count(remark) == 1
    assert "Glyph" not in done.stderr
    with pytest.warns(UserWarning, match="something else"):
        output.save_figure(Warned(), None, "png", 50)


class Warned:
    """A figure that warns when it is saved."""

    def savefig(self, *_, **__):
        warnings.warn("something else", stacklevel=1)


def test_auto_says_what_it_is_made_of(run, folder):
    done = ok(
        run("estimate", "clean.csv", "--by", "city", "--json", "--report", "auto.html", "--plot", "auto.png")
    )
    found = json.loads(done.stdout)
    assert found["estimator"] == "Adaptive"
    assert sum(found["shares"].values()) == pytest.approx(1.0, abs=0.02)
    est = Adaptive(random_state=0).fit(
        Bags.from_frame(pd.read_csv("clean.csv"), "city", ["warm", "wind_speed"])
    )
    effective = [bag["effective_neighbors"] for bag in found["bags"]]
    for row, number in zip(est.weights_, effective, strict=True):
        assert number == pytest.approx(np.abs(row).sum() ** 2 / (row @ row), rel=1e-10)
    page = (folder / "auto.html").read_text()
    assert "It combines several methods" in page
    assert max(found["shares"], key=found["shares"].get) in page
    text = ok(run("estimate", "clean.csv", "--by", "city")).stdout
    assert "methods: " in text
    assert "bags, in effect" in text


def test_held_out_change_compares_errors_at_the_size_without_a_fold(run, folder):
    """A share of the naive error of 8 of 10 points, against plain numbers."""
    call = ["estimate", "clean.csv", "--by", "city", "-m", "stb", "--json"]
    found = json.loads(ok(run(*call)).stdout)
    est = reference(pd.read_csv("clean.csv"))
    naive = est.statistics_.naive_mse.mean() * 10 / 8
    assert found["held_out_change"] == pytest.approx(est.tuning_.risk.min() / naive, rel=1e-12)


def test_held_out_change_promises_no_more_than_the_weights_can_give(run, folder):
    """A tuning that promises too much is held to the variance of the weighted averages."""
    est = reference(pd.read_csv("clean.csv"))
    mse = est.statistics_.naive_mse
    least = np.mean([row**2 @ mse for row in est.weights_]) / mse.mean() - 1
    est.tuning_ = dataclasses.replace(est.tuning_, risk=est.tuning_.risk - 100.0)
    assert held_out_change(est) == pytest.approx(least, rel=1e-12)
    est.weights_ = np.hstack([est.weights_, est.weights_]) / 2
    assert held_out_change(est) == -1.0
    est.tuning_ = None
    assert held_out_change(est) is None


def test_held_out_change_of_auto_promises_no_more_either(rng):
    est = Adaptive(random_state=0).fit([rng.normal(size=(5, 4)) for _ in range(8)])
    mse = est.statistics_.naive_mse
    least = np.mean([row**2 @ mse for row in est.weights_]) / mse.mean() - 1
    for combined, expected in ((-1.13 * est.stacking_.naive, least), (-0.1 * est.stacking_.naive, -0.1)):
        est.stacking_ = dataclasses.replace(est.stacking_, combined=combined)
        assert held_out_change(est) == pytest.approx(expected, rel=1e-12)
