"""Tables as users have them: missing values, categories, labels, texts and odd columns."""

import json
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from stbmta.cli_columns import chosen_columns, numeric_columns

from .helpers import ok, reference


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


def test_a_huge_difference_of_scales_is_told_in_few_digits(run, folder):
    frame = pd.read_csv("clean.csv").assign(warm=lambda f: 1e140 * f["warm"])
    frame.to_csv("scaled.csv", index=False)
    done = ok(run("estimate", "scaled.csv", "--by", "city", "-m", "naive"))
    assert re.search(r"warm varies \d(\.\d+)?e\+1\d\d times as much as wind_speed", done.stderr)


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


def test_decimals_of_parquet_are_numbers(run, folder):
    frame = pd.read_csv("clean.csv")[["city", "warm"]]
    frame["price"] = [None, *(Decimal(k) / 4 for k in range(1, 60))]
    frame.to_parquet("prices.parquet")
    call = ["estimate", "prices.parquet", "--by", "city", "-m", "naive", "--drop-missing", "--json"]
    found = json.loads(ok(run(*call)).stdout)["bags"]
    assert [bag["naive_price"] for bag in found] == [1.25, 3.625, 6.125, 8.625, 11.125, 13.625]


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


@pytest.mark.parametrize(
    "labels",
    [("89014103211118510720", "89014103211118510721"), ("1E2", "10E1"), ("1.1", "1.10"), ("1", "1.0")],
)
def test_labels_that_are_written_differently_are_different_bags(run, folder, labels):
    (folder / "ids.csv").write_text("id,x\n" + "".join(f"{label},{x}\n" for x in "124" for label in labels))
    found = json.loads(ok(run("estimate", "ids.csv", "--by", "id", "--method", "naive", "--json")).stdout)
    assert tuple(bag["id"] for bag in found["bags"]) == labels


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


def test_parquet_without_its_package(run, folder, monkeypatch):
    def fail(*_, **__):
        raise ImportError("no engine")

    monkeypatch.setattr(pd, "read_parquet", fail)
    done = run("estimate", "clean.parquet", "--by", "city")
    assert done.exit_code == 2
    assert 'pip install "stbmta[parquet]"' in done.stderr
