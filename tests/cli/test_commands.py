"""The commands on data, as users call them: every format, every habit, every output."""

import dataclasses
import gzip
import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import stbmta
from stbmta import STB, Adaptive, Bags
from stbmta import cli_output as output
from stbmta.cli_columns import chosen_columns, numeric_columns
from stbmta.cli_estimate import Method
from stbmta.cli_result import held_out_change, main_neighbors
from stbmta.pairs import pair_pvalues


def ok(done):
    assert done.exit_code == 0, done.output
    return done


def reference(frame, **more):
    bags = Bags.from_frame(frame, "city", ["warm", "wind_speed"])
    return STB(random_state=0, **more).fit(bags)


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


def test_debug_shows_the_traceback(run, folder):
    for arguments in (["--debug", "estimate", "no.csv"], ["estimate", "no.csv", "--debug"]):
        done = run(*arguments)
        assert isinstance(done.exception, FileNotFoundError)
    # Behind -- it is not an option.
    assert run("estimate", "--by", "city", "--", "--debug").exit_code == 2


def test_standardized_means_come_back_in_units(run, folder):
    frame = pd.read_csv("clean.csv").assign(warm=lambda f: 5 + 1000 * f["warm"])
    frame.to_csv("scaled.csv", index=False)
    done = ok(run("estimate", "scaled.csv", "--by", "city"))
    assert "--standardize makes all columns count alike" in done.stderr
    done = ok(run("estimate", "scaled.csv", "--by", "city", "-m", "stb", "--standardize", "--json"))
    assert "--standardize" not in done.stderr
    found = pd.DataFrame(json.loads(done.stdout)["bags"])
    np.testing.assert_allclose(
        found["naive_warm"], frame.groupby("city", sort=False)["warm"].mean().to_numpy(), rtol=1e-10
    )
    # The same estimate as on data scaled by hand.
    scaled = frame.copy()
    scaled[["warm", "wind_speed"]] /= frame[["warm", "wind_speed"]].std(ddof=0)
    means = reference(scaled).means_[:, 0] * frame["warm"].std(ddof=0)
    np.testing.assert_allclose(found["estimate_warm"], means, rtol=1e-9)


def test_missing_values_are_dropped_only_when_asked(run, folder):
    done = ok(run("estimate", "gap.csv", "--by", "city", "--drop-missing", "--json"))
    assert "dropped 1 of 60 rows with missing values" in done.stderr
    found = json.loads(done.stdout)
    assert found["points"] == 59
    assert found["bags"][1]["size"] == 9
    frame = pd.read_csv("clean.csv")
    frame.loc[frame["city"] == "Oslo", "warm"] = np.nan
    frame.to_csv("lost.csv", index=False)
    done = ok(run("estimate", "lost.csv", "--by", "city", "--drop-missing"))
    assert "1 bag lost all its rows: Oslo" in done.stderr


def test_an_index_column_is_no_feature(run, folder):
    frame = pd.read_csv("clean.csv")
    frame.to_csv("indexed.csv")
    done = ok(run("estimate", "indexed.csv", "--by", "city", "--json"))
    assert "Unnamed: 0 (row numbers)" in done.stderr
    assert json.loads(done.stdout)["dimension"] == 2
    # R leaves out the name of the column altogether.
    frame.index = [f"row {k}" for k in range(1, 61)]
    frame.to_csv("r.csv")
    (folder / "r.csv").write_text((folder / "r.csv").read_text().lstrip(","))
    done = ok(run("estimate", "r.csv", "--by", "city", "--json"))
    assert "left out as a row name" in done.stderr
    assert json.loads(done.stdout)["dimension"] == 2
    # Named in --columns it is used: the user knows best.
    done = ok(run("estimate", "indexed.csv", "--by", "city", "-c", "Unnamed: 0", "--json"))
    assert json.loads(done.stdout)["dimension"] == 1


def test_categories_and_dates(run, folder):
    done = ok(run("estimate", "clean.csv", "--by", "city", "--one-hot", "weather", "-c", "warm", "--json"))
    found = json.loads(done.stdout)
    assert found["dimension"] == 4
    shares = (
        pd.read_csv("clean.csv").groupby("city", sort=False)["weather"].apply(lambda w: (w == "fog").mean())
    )
    np.testing.assert_allclose([bag["naive_weather_fog"] for bag in found["bags"]], shares, rtol=1e-12)
    frame = pd.read_csv("clean.csv", parse_dates=["day"])
    frame["day"] = pd.to_datetime(frame["day"]).dt.to_period("M").dt.to_timestamp()
    frame.to_parquet("dates.parquet")
    done = ok(run("estimate", "dates.parquet", "--by", "day", "--json", "--min-size", "2"))
    assert [bag["day"] for bag in json.loads(done.stdout)["bags"]] == ["2024-01-01", "2024-02-01"]
    frame["day"] += pd.Timedelta(hours=3)
    frame.to_parquet("times.parquet")
    done = ok(run("estimate", "times.parquet", "--by", "day", "--json", "--min-size", "2"))
    assert json.loads(done.stdout)["bags"][0]["day"] == "2024-01-01 03:00:00"
    # A column of dates that was named for features is explained.
    done = run("estimate", "times.parquet", "--by", "city", "-c", "day")
    assert done.exit_code == 2
    assert "holds dates" in done.stderr


def test_labels_stay_what_they_are(run, folder):
    (folder / "codes.csv").write_text(
        "zip,country,x\n" + "007,NA,1\n007,NA,2\n007,NA,4\n012,DE,3\n012,DE,5\n"
    )
    done = ok(run("estimate", "codes.csv", "--by", "zip,country", "--json"))
    assert "3 rows have the label NA in country; that is taken for a name" in done.stderr
    found = json.loads(done.stdout)
    assert [(bag["zip"], bag["country"]) for bag in found["bags"]] == [("007", "NA"), ("012", "DE")]
    (folder / "codes.csv").write_text("id,x\n" + "7,1\n7,2\n7,4\n12,3\n12,5\n")
    found = json.loads(ok(run("estimate", "codes.csv", "--by", "id", "--json")).stdout)
    assert [bag["id"] for bag in found["bags"]] == [7, 12]
    (folder / "clash.csv").write_text("size,x\n" + "S,1\nS,2\nL,3\nL,5\nL,6\n")
    found = json.loads(ok(run("estimate", "clash.csv", "--by", "size", "--json")).stdout)
    assert found["bags"][0]["size"] == "S"
    assert found["bags"][0]["bag_size"] == 2


def test_texts_of_other_countries(run, folder):
    (folder / "europe.csv").write_bytes(
        "Stadt;Wert\nKöln;1,5\nKöln;2,5\nKöln;2,0\nBonn;3,5\nBonn;4,0\n".encode("latin-1")
    )
    done = ok(
        run("estimate", "europe.csv", "--by", "Stadt", "--encoding", "latin-1", "--decimal", ",", "--json")
    )
    assert "separated by semicolons" in done.stderr
    assert json.loads(done.stdout)["bags"][0]["naive_Wert"] == pytest.approx(2.0)
    (folder / "tabs.txt").write_text("a\tb\nx\t1\nx\t2\nx\t5\ny\t3\ny\t4\n")
    ok(run("estimate", "tabs.txt", "--by", "a", "--separator", "\\t"))


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


def test_options_reach_the_estimator(run, folder):
    call = ["estimate", "clean.csv", "--by", "city", "--json"]
    found = json.loads(ok(run(*call, "-m", "stb", "--zeta", "0.7", "--gamma", "0.2")).stdout)
    assert (found["zeta"], found["gamma"]) == (0.7, 0.2)
    found = json.loads(ok(run(*call, "-k", "laplacian", "--bandwidth", "2.5")).stdout)
    assert found["kernel"] == "Laplacian(bandwidth=2.5)"
    assert "degree=2" in json.loads(ok(run(*call, "-k", "polynomial", "--degree", "2")).stdout)["kernel"]


def test_single_rows_are_fine_for_the_naive_mean(run, folder):
    found = json.loads(ok(run("estimate", "single.csv", "--by", "city", "-m", "naive", "--json")).stdout)
    assert "naive_error" not in found["bags"][0]
    (folder / "one.csv").write_text("city,x\nRome,1\nRome,2\n")
    assert "only one bag" in ok(run("estimate", "one.csv", "--by", "city", "-m", "naive")).stderr


def test_columns_left_out_are_named(folder):
    told = []
    frame = pd.read_csv("hollow.csv").assign(flag=True)
    assert numeric_columns(frame, None, ["city"], told.append) == ["wind_speed", "flag"]
    assert told == ["left out day, weather (not numbers)", "left out warm (no values)"]
    assert chosen_columns(["w*", "warm", "city, day"], list(frame.columns)) == [
        "weather", "warm", "wind_speed", "city", "day",
    ]  # fmt: skip


def test_remarks_in_a_column_are_no_numbers_gone_wrong(run, folder):
    """Few cells of a column have text, the others nothing: it is a column of remarks."""
    frame = pd.read_csv("clean.csv").assign(remark=[None] * 55 + ["wet"] * 5)
    frame.to_csv("remarks.csv", index=False)
    assert (
        "left out day, weather, remark (not numbers)"
        in ok(run("estimate", "remarks.csv", "--by", "city")).stderr
    )


def test_many_rows_and_columns_are_cut_and_counted(run, folder):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(100, 30)), columns=[f"[bold]column {k}" for k in range(30)])
    frame.insert(0, "bag", np.repeat(np.arange(50), 2))
    frame.to_csv("wide.csv", index=False)
    done = ok(run("estimate", "wide.csv", "--by", "bag", "-m", "naive"))
    assert "(10 more rows and" in done.stdout
    assert "more columns; --out FILE writes all)" in done.stdout
    assert "[bold]" in done.stdout  # names are text, not markup


def test_lists_of_neighbors_are_shown_whole(run, folder):
    """Long names take several lines; the list of neighbors is what the user asked for."""
    frame = pd.read_csv("clean.csv")
    frame["city"] = "the very old city of " + frame["city"] + " in the middle of nowhere"
    frame.to_csv("long.csv", index=False)
    done = ok(run("neighbors", "long.csv", "--by", "city,weather", "--zeta", "9"))
    assert "nearest first" in done.stdout
    assert "more columns" not in done.stdout
    assert done.stdout.split().count("Kyiv") > 3


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


COMPLETE = {
    "_STBMTA_COMPLETE": "complete_bash",
    "COMP_WORDS": "stbmta estimate clean.csv --by ci",
    "COMP_CWORD": "4",
}


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


def test_shell_completion(folder):
    """Commands, and the columns of the file that is named."""
    root = str(stbmta.__path__[0].removesuffix("stbmta"))
    command = [sys.executable, "-c", "from stbmta.cli import app; app(prog_name='stbmta')"]
    for words, count, expected in (
        ("stbmta est", "1", "estimate"),
        ("stbmta estimate clean.csv --by ci", "4", "city"),
        ("stbmta estimate clean.parquet -c wi", "4", "wind_speed"),
        ("stbmta estimate no.csv --by ci", "4", ""),
    ):
        env = os.environ | COMPLETE | {"COMP_WORDS": words, "COMP_CWORD": count, "PYTHONPATH": root}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
        assert done.stdout.strip() == expected, done.stderr


def test_help_has_examples(run):
    for command in ("estimate", "neighbors", "mmd", "threshold", "bound", "plan", "demo", "info", "warmup"):
        assert f"stbmta {command} " in ok(run(command, "--help")).stdout.split("Usage")[1].split("\n", 1)[1]
    assert "--debug" in ok(run("--help")).stdout


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


def test_a_closed_pipe_is_no_error(folder):
    """``stbmta ... | head`` ends quietly."""
    frame = pd.DataFrame({"bag": np.repeat(np.arange(3000), 2), "x": np.arange(6000.0)})
    frame.to_csv("many.csv", index=False)
    script = "from stbmta.cli import main; main()"
    command = [sys.executable, "-c", script, "estimate", "many.csv", "--by", "bag", "-m", "naive", "-o", "-"]
    env = os.environ | {"PYTHONPATH": str(stbmta.__path__[0].removesuffix("stbmta"))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as process:
        assert process.stdout.readline().startswith(b"bag,size")
        process.stdout.close()
        errors = process.stderr.read()
        process.wait(timeout=120)
    assert b"Traceback" not in errors


def test_parquet_without_its_package(run, folder, monkeypatch):
    def fail(*_, **__):
        raise ImportError("no engine")

    monkeypatch.setattr(pd, "read_parquet", fail)
    done = run("estimate", "clean.parquet", "--by", "city")
    assert done.exit_code == 2
    assert 'pip install "stbmta[parquet]"' in done.stderr


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
