"""``stbmta estimate``: the numbers are those of the library, in every format and output."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from stbmta import STB, Adaptive, Bags
from stbmta import cli_output as output
from stbmta.cli_estimate import Method
from stbmta.cli_result import each_alone, main_neighbors

from .helpers import ok, reference


def test_estimates_are_those_of_the_library(run, folder):
    ok(run("estimate", "clean.csv", "--by", "city", "--method", "stb", "-o", "means.csv"))
    found = pd.read_csv("means.csv")
    est = reference(pd.read_csv("clean.csv"))
    assert found["city"].tolist() == est.labels_.tolist()
    for column, values in (
        ("size", est.statistics_.sizes),
        ("neighbors", est.neighbors_.sum(axis=1)),
        ("naive_error", est.statistics_.naive_mse),
        ("estimated_error", est.to_frame()["estimated_error"]),
        ("naive_warm", est.statistics_.means[:, 0]),
        ("estimate_wind_speed", est.means_[:, 1]),
    ):
        np.testing.assert_allclose(found[column], values, rtol=1e-12)


@pytest.mark.parametrize(
    "name", ["a.csv.gz", "a.csv.bz2", "a.csv.xz", "a.csv.zip", "a.tsv", "a.parquet", "a.npz", "semicolon.csv"]
)
def test_every_format_gives_the_same(run, folder, name):
    frame = pd.read_csv("clean.csv")[["city", "warm", "wind_speed"]]
    if name.endswith("parquet"):
        frame.astype({"city": "category"}).to_parquet(name)
    elif name.endswith("npz"):
        Bags.from_frame(frame, "city").save(name)
    else:
        frame.to_csv(name, index=False, sep="\t" if "tsv" in name else ";" if "semi" in name else ",")
    by = [] if name.endswith("npz") else ["--by", "city"]
    expected = json.loads(ok(run("estimate", "clean.csv", "--by", "city", "--json")).stdout)
    for data, stdin in ((name, None), ("-", (folder / name).read_bytes())):
        found = json.loads(ok(run("estimate", data, *by, "--json", stdin=stdin)).stdout)
        for mine, theirs in zip(found["bags"], expected["bags"], strict=True):
            assert list(mine.values()) == list(theirs.values())


def test_arrays_with_labels(run, folder):
    frame = pd.read_csv("clean.csv")
    np.savez("two.npz", X=frame[["warm", "wind_speed"]], city=frame["city"].to_numpy(str))
    found = json.loads(ok(run("estimate", "two.npz", "--by", "city", "-c", "X", "--json")).stdout)
    assert found["bags"][0]["city"] == "Rome"
    assert found["dimension"] == 2


def test_json_is_json_alone_and_strict(run, folder):
    done = ok(run("estimate", "clean.csv", "--by", "city", "--json", "-m", "stb", "--zeta", "1"))
    found = json.loads(done.stdout, parse_constant=pytest.fail)
    assert found["zeta"] == 1.0
    assert found["notes"] == ["left out day, weather (not numbers)"]
    assert len(found["bags"]) == found["bags"].__len__() == 6
    pairs = json.loads(ok(run("neighbors", "clean.csv", "--by", "city", "--json")).stdout)
    assert {"city", "city_neighbor", "mmd2", "threshold"} == set(pairs["pairs"][0])


def test_csv_on_standard_output(run, folder):
    done = ok(run("estimate", "clean.csv", "--by", "city", "-o", "-"))
    assert done.stdout.startswith("city,size,")
    assert len(done.stdout.splitlines()) == 7


def test_the_table_for_people(run, folder):
    done = ok(run("estimate", "clean.csv", "--by", "city"))
    assert "6 bags, 60 rows, 2 columns" in done.stdout
    assert "made of" in done.stdout
    assert "zeta =" in ok(run("estimate", "clean.csv", "--by", "city", "-m", "stb")).stdout
    assert "Kyiv" in done.stdout
    done = ok(run("neighbors", "clean.csv", "--by", "city", "--json"))
    # The same threshold, and so the same neighbors, as in the estimate by plain averages.
    est = reference(pd.read_csv("clean.csv"), gamma=0.0)
    found = json.loads(done.stdout)
    assert found["zeta"] == ("inf" if np.isinf(est.zeta_) else est.zeta_)
    assert len(found["pairs"]) == est.neighbors_.sum() - 6
    assert "chosen by K-fold" in ok(run("neighbors", "clean.csv", "--by", "city")).stdout


def test_bags_that_all_differ_are_no_neighbors(run, folder):
    """A gamma near 1 makes any threshold do; neighbors are told by a threshold that has to do it alone."""
    frame = pd.read_csv("clean.csv")
    frame["warm"] += 30 * frame["city"].map({name: k for k, name in enumerate(frame["city"].unique())})
    frame.to_csv("apart.csv", index=False)
    found = json.loads(ok(run("neighbors", "apart.csv", "--by", "city", "--json")).stdout)
    assert found["pairs"] == []
    assert found["zeta"] < 5
    est = reference(frame)
    text = ok(run("estimate", "apart.csv", "--by", "city", "-m", "stb")).stdout
    assert est.gamma_ > 0.95
    assert "zeta hardly matters" in text
    assert "zeta hardly matters" not in ok(run("estimate", "clean.csv", "--by", "city", "-m", "stb")).stdout


def test_numbers_of_neighbors_without_tests(run, folder):
    """The bags with at least a tenth of the largest weight, in every output."""
    frame = pd.read_csv("clean.csv")
    frame["warm"] += frame["city"].map({"Rome": 9.0, "Lima": 9.0}).fillna(0.0)  # two, and four others
    frame.to_csv("two.csv", index=False)
    done = ok(run("estimate", "two.csv", "--by", "city", "--json", "-o", "o.npz"))
    est = Adaptive(random_state=0).fit(Bags.from_frame(frame, "city", ["warm", "wind_speed"]))
    expected = [sum(abs(w) >= 0.1 * max(map(abs, row)) for w in row) for row in est.weights_.tolist()]
    assert len(set(expected)) > 1
    assert [bag["neighbors"] for bag in json.loads(done.stdout)["bags"]] == expected
    with np.load("o.npz") as arrays:
        assert arrays["neighbors"].tolist() == expected
        assert (arrays["effective_neighbors"] > 0).all()
    np.testing.assert_array_equal(main_neighbors(scipy.sparse.csr_array(est.weights_)), expected)
    assert "neighbors" in ok(run("estimate", "clean.csv", "--by", "city")).stdout
    # As many as there are, where weights are equal; none, where there are none.
    mixed = np.vstack([np.full(30, 1 / 30), np.zeros(30), np.eye(30)[0]])
    for W in (mixed, scipy.sparse.csr_array(mixed)):
        assert main_neighbors(W).tolist() == [30, 0, 1]


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_estimates_are_visible_on_any_terminal(folder, capsys, monkeypatch, width):
    monkeypatch.setattr("os.isatty", lambda number: True)
    monkeypatch.setenv("COLUMNS", str(width))
    frame = pd.DataFrame({"city": ["Llanfairpwllgwyngyllgogerychwyrndrobwll", "Bonn"]})
    for name in ("size", "neighbors", "naive_error", "estimated_error", "naive_warm", "estimate_warm"):
        frame[name] = [1.0, 2.0]
    output.print_table(frame, repeat=1, pairs=1)
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= width
    assert "Bonn" in text
    if width >= 60:
        assert "estimate_warm" in text
        assert "more columns" not in text
        # Naive mean and estimate stand side by side.
        assert any("naive_warm" in line and "estimate_warm" in line for line in text.splitlines())
    else:
        assert "more columns; --out FILE writes all" in text


def test_outputs_of_every_kind(run, folder):
    files = {"--out": "o.npz", "--gram": "g.npz", "--plot": "p.svg", "--report": "r.html"}
    call = ["estimate", "clean.csv", "--by", "city", "-k", "rbf", "-m", "stb"]
    done = ok(run(*call, *[part for pair in files.items() for part in pair]))
    for name in files.values():
        assert name in done.stdout
    est = STB("rbf", random_state=0).fit(
        Bags.from_frame(pd.read_csv("clean.csv"), "city", ["warm", "wind_speed"])
    )
    with np.load("o.npz") as found:
        np.testing.assert_allclose(found["weights"], est.weights_, rtol=1e-12)
        np.testing.assert_array_equal(found["neighbor_matrix"], est.neighbors_)
        assert "estimate" not in found
    with np.load("g.npz") as found:
        np.testing.assert_allclose(found["gram"], est.gram_, rtol=1e-12)
        assert found["labels"].tolist() == est.labels_.tolist()
    assert "<svg" in (folder / "p.svg").read_text()
    ok(run(*call, "--gram", "g.parquet", "-o", "o.parquet"))
    gram = pd.read_parquet("g.parquet")
    np.testing.assert_allclose(gram[est.labels_.tolist()].to_numpy(), est.gram_, rtol=1e-12)
    assert gram["bag"].tolist() == est.labels_.tolist()
    assert "estimated_error" in pd.read_parquet("o.parquet")
    ok(run("estimate", "clean.csv", "--by", "city", "-o", "o.csv.gz"))
    ok(run("estimate", "clean.csv", "--by", "city", "-o", "o.tsv"))
    unpacked = gzip.decompress((folder / "o.csv.gz").read_bytes()).decode()
    assert unpacked.replace(",", "\t") == (folder / "o.tsv").read_text()
    with np.load("o.npz") as found:
        assert (found["estimated_error"] > 0).all()
    ok(run("neighbors", "clean.csv", "--by", "city", "-o", "n.npz", "--plot", "n.png"))
    with np.load("n.npz") as found:
        assert found["neighbors"].shape == (6, 6)
    ok(run("estimate", "clean.csv", "--by", "city", "-o", "linear.npz"))
    with np.load("linear.npz") as found:
        assert found["estimate"].shape == (6, 2)
        assert found["columns"].tolist() == ["warm", "wind_speed"]


def test_force_replaces_and_a_failure_leaves_the_old_file(run, folder, monkeypatch):
    ok(run("neighbors", "clean.csv", "--by", "city", "-o", "old.csv", "--force"))
    written = (folder / "old.csv").read_text()
    assert written.startswith("city,")

    def fail(*_, **__):
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(pd.DataFrame, "to_csv", fail)
    done = run("neighbors", "clean.csv", "--by", "city", "-o", "old.csv", "--force")
    assert done.exit_code == 1
    assert "RuntimeError: the disk is full" in done.stderr
    assert "--debug" in done.stderr
    assert (folder / "old.csv").read_text() == written
    assert not list(folder.glob(".old*"))


def test_points_are_no_neighbors(run, folder):
    """Spectral shrinkage in the space of a bag's points weighs points, of that bag alone."""
    done = ok(run("estimate", "clean.csv", "--by", "city", "-k", "rbf", "-m", "skmse", "--json"))
    assert {
        (bag["neighbors"], round(bag["effective_neighbors"], 9)) for bag in json.loads(done.stdout)["bags"]
    } == {(1, 1.0)}


def test_no_estimate_is_made_of_one_bag_in_effect(run, folder):
    """Rounding aside, a bag by itself is no average of bags."""
    done = ok(run("estimate", "clean.csv", "--by", "city", "-k", "rbf", "-m", "skmse"))
    assert "in effect" not in done.stdout
    assert [each_alone({"average_effective_neighbors": n}) for n in (1.0, 1.0000000002, 1.01)] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("method", list(Method))
@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian", "polynomial"])
def test_every_method_with_every_kernel(run, folder, method, kernel):
    if method == "james-stein" and kernel != "linear":
        return
    found = json.loads(
        ok(run("estimate", "clean.csv", "--by", "city", "-k", kernel, "-m", method, "--json")).stdout
    )
    assert len(found["bags"]) == 6
    assert ("estimate_warm" in found["bags"][0]) == (kernel == "linear")


def test_help_knows_both_meanings_of_gamma(run):
    text = " ".join(ok(run("estimate", "--help")).stdout.replace("│", " ").split())
    assert "stb: what each mean keeps of itself, 0 to 1." in text
    assert "mta, mta-stb: how strongly the others pull, at least 0." in text
    assert "If left out, 1 for mta; chosen for stb and mta-stb." in text


def test_options_reach_the_estimator(run, folder):
    call = ["estimate", "clean.csv", "--by", "city", "--json"]
    found = json.loads(ok(run(*call, "-m", "stb", "--zeta", "0.7", "--gamma", "0.2")).stdout)
    assert (found["zeta"], found["gamma"]) == (0.7, 0.2)
    found = json.loads(ok(run(*call, "-k", "laplacian", "--bandwidth", "2.5")).stdout)
    assert found["kernel"] == "Laplacian(bandwidth=2.5)"
    assert "degree=2" in json.loads(ok(run(*call, "-k", "polynomial", "--degree", "2")).stdout)["kernel"]
