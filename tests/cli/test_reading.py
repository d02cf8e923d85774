"""From files as they are to features: names and fields that do not match, remarks, row numbers, pipes."""

import json
import os
import threading

import numpy as np
import pandas as pd
import pytest

from stbmta.cli_columns import numeric_columns
from stbmta.cli_source import Source

ROWS = ["Rome,1,5", "Rome,2,7", "Rome,4,6", "Oslo,3,1", "Oslo,5,2", "Oslo,9,4"]


def read(text, by="city", **options):
    """Read a table from text: the bags, and what was told on the way."""
    with open("text.csv", "w") as file:
        file.write(text)
    return Source(data="text.csv", by=[by], **options).read()


def lines(*parts):
    return "\n".join(part for some in parts for part in ([some] if isinstance(some, str) else some)) + "\n"


def same_as_clean(table):
    clean = read(lines("city,warm,rain", ROWS))
    assert table.columns == ("warm", "rain")
    assert table.bags.labels.tolist() == ["Rome", "Oslo"]
    np.testing.assert_array_equal(table.bags.data, clean.bags.data)


def test_a_separator_at_the_end_of_each_row_shifts_nothing(folder):
    table = read(lines("city,warm,rain", [row + "," for row in ROWS]))
    same_as_clean(table)
    assert table.notes == ("each row ends with a separator",)
    # The label may stand last; its cells are text.
    table = read(lines("warm,rain,city", [",".join([*row.split(",")[::-1], ""]) for row in ROWS]))
    assert table.bags.labels.tolist() == ["Rome", "Oslo"]
    assert table.columns == ("warm", "rain")


def test_remarks_on_top_are_skipped_but_not_names(folder):
    table = read(lines("# from the weather service", "# 2024", "city,warm,rain", ROWS))
    same_as_clean(table)
    assert table.notes == ("skipped 2 lines of remarks (#) on top",)
    assert read(lines("#city,warm,rain", ROWS), by="#city").keys == ("#city",)
    assert read(lines("# of 2024", "#city,warm,rain", ROWS), by="#city").bags.dim == 2


@pytest.mark.parametrize(
    ("header", "first", "kept"),
    [
        (",city,warm", [3, 9, 4, 1, 7, 0], ["warm"]),  # an index, in any order
        ("n,city,warm", [1, 2, 3, 4, 5, 6], ["warm"]),  # stands first and counts
        ("n,city,warm", [3, 9, 4, 1, 7, 0], ["n", "warm"]),
        ("n,city,warm", [1.0, 2.5, 3, 4, 5, 6], ["n", "warm"]),
        (",city,warm", [3, 3, 4, 1, 7, 0], ["Unnamed: 0", "warm"]),
    ],
)
def test_row_numbers_in_front(folder, header, first, kept):
    text = lines(header, [f"{k},{row.rsplit(',', 1)[0]}" for k, row in zip(first, ROWS, strict=True)])
    table = read(text)
    assert list(table.columns) == kept
    assert ("row numbers" in " ".join(table.notes)) == (kept == ["warm"])


def test_counts_are_measurements_elsewhere(folder):
    counted = [f"{row},{k}" for k, row in enumerate(ROWS)]
    assert read(lines("city,warm,rain,visits", counted)).columns == ("warm", "rain", "visits")
    assert read(lines("city,warm,rain,index", counted)).columns == ("warm", "rain")
    # What counts is kept where nothing else would be left, unless it has no name.
    frame = pd.DataFrame({"index": range(4), "city": list("aabb")})
    assert numeric_columns(frame, None, ["city"], pytest.fail) == ["index"]
    told = []
    assert numeric_columns(frame.rename(columns={"index": "Unnamed: 0"}), None, ["city"], told.append) == []
    assert told == ["left out Unnamed: 0 (row numbers)"]


def test_a_pipe_that_is_no_standard_input(run, folder):
    """As in a shell: stbmta estimate <(zcat data.csv.gz)."""
    os.mkfifo("pipe")
    content = (folder / "clean.csv").read_bytes()
    writer = threading.Thread(target=(folder / "pipe").write_bytes, args=(content,))
    writer.start()
    done = run("estimate", "pipe", "--by", "city", "-m", "naive", "-o", "-")
    writer.join()
    assert done.exit_code == 0, done.output
    assert done.stdout == run("estimate", "clean.csv", "--by", "city", "-m", "naive", "-o", "-").stdout


def test_an_index_of_a_parquet_file_is_a_column(run, folder):
    pd.read_csv("clean.csv").set_index("city").to_parquet("index.parquet")
    done = run("estimate", "index.parquet", "--by", "city", "-m", "naive", "--json")
    assert [bag["city"] for bag in json.loads(done.stdout)["bags"]][:2] == ["Rome", "Oslo"]


def test_rows_are_named_as_in_the_file(folder):
    """Dropped rows count too."""
    rows = [*ROWS[:2], "Rome,,1", *ROWS[2:], "Oslo,1e200,3"]
    with pytest.raises(
        ValueError, match=r"row 8 .* holds 1e\+200 in column 'warm'; beyond .* squares overflow"
    ):
        read(lines("city,warm,rain", rows), drop_missing=True)


def test_a_long_wait_is_announced(run, folder, monkeypatch):
    monkeypatch.setattr("stbmta.cli_options._MANY_POINTS", 50)
    call = ["neighbors", "clean.csv", "--by", "city", "--zeta", "1"]
    assert "plan-compute" not in run(*call, "-k", "rbf").stderr
    monkeypatch.setattr("stbmta.scale.cost.EXP_OPERATIONS", 1e12)
    announced = run(*call, "-k", "rbf").stderr
    assert " minutes, and choosing parameters takes them several times" in announced
    assert "stbmta plan-compute --bags 6 --points 60 --dim 2" in announced
    assert "plan-compute" not in run(*call).stderr
