"""Files as users have them, in a folder of their own."""

import zipfile

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from stbmta import cli


@pytest.fixture
def run():
    """Run the command line; returns exit code, standard output and standard error."""
    runner = CliRunner()

    def run_it(*arguments, stdin=None):
        return runner.invoke(cli.app, [str(a) for a in arguments], input=stdin)

    return run_it


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with clean and broken files."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    n = 60
    clean = pd.DataFrame(
        {
            "city": np.repeat(["Rome", "Oslo", "Lima", "Bonn", "Kyiv", "Cork"], 10),
            "day": pd.date_range("2024-01-01", periods=n).strftime("%Y-%m-%d"),
            "weather": np.tile(["sun", "rain", "fog"], 20),
            "warm": rng.normal(size=n),
            "wind_speed": rng.normal(size=n),
        }
    )
    clean.to_csv("clean.csv", index=False)
    clean.to_parquet("clean.parquet")
    with_gap = clean.copy()
    with_gap.loc[16, "warm"] = np.nan
    with_gap.to_csv("gap.csv", index=False)
    unlabeled = clean.copy()
    unlabeled.loc[3, "city"] = None
    unlabeled.to_csv("unlabeled.csv", index=False)
    stray = clean.astype({"warm": object})
    stray.loc[7, "warm"] = "n.a."
    stray.to_csv("stray.csv", index=False)
    infinite = clean.copy()
    infinite.loc[0, "warm"] = np.inf
    infinite.to_csv("infinite.csv", index=False)
    clean.assign(warm=np.nan).to_csv("hollow.csv", index=False)
    clean.groupby("city").head(1).to_csv("single.csv", index=False)
    for name, rows in (("three", 3), ("four", 4)):
        clean.groupby("city").head(rows).to_csv(f"{name}.csv", index=False)
    clean[clean["city"] == "Rome"].to_csv("one.csv", index=False)
    clean[["city", "day", "weather"]].to_csv("text.csv", index=False)
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "blank.csv").write_text("\n\n\n")
    (tmp_path / "header.csv").write_text("city,warm\n")
    (tmp_path / "numbers.csv").write_text("1,2,3\n4,5,6\n7,8,9\n")
    (tmp_path / "ragged.csv").write_text("city,warm\nRome,1\nRome,2,3,4\n")
    (tmp_path / "latin.csv").write_bytes("city,warm\nMünchen,1\nMünchen,2\n".encode("latin-1"))
    (tmp_path / "constant.csv").write_text("city,warm\na,1\na,1\nb,1\nb,1\n")
    np.savez("arrays.npz", X=np.zeros((4, 2)), y=np.array([0, 0, 1, 1]), z=np.zeros(4))
    np.savez("short.npz", X=np.zeros((4, 2)), y=np.array([0, 0, 1]))
    np.savez("objects.npz", X=np.array([{}], dtype=object), y=np.zeros(1))
    (tmp_path / "broken.parquet").write_bytes(b"PAR1" + b"\0" * 40)
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04" + b"\0" * 40)
    (tmp_path / "broken.csv.gz").write_bytes(b"\x1f\x8b" + b"\0" * 40)
    (tmp_path / "many.csv").write_text("city,warm\nRome,1,2,3\nRome,4,5,6\n")
    (tmp_path / "wide.csv").write_bytes("city,warm\nRome,1\nRome,2\n".encode("utf-16"))
    (tmp_path / "commas.csv").write_text("city;warm\nRome;1,5\nRome;2,5\nOslo;3,5\nOslo;4,25\n")
    (tmp_path / "huge.csv").write_text("city,warm\nRome,1\nRome,1e200\nOslo,3\nOslo,4\n")
    np.savez("huge.npz", X=np.array([1.0, 2.0, -1e300, 3.0]), y=np.array([0, 0, 1, 1]))
    clean.to_json("records.json", orient="records")
    clean.to_json("lines.jsonl", orient="records", lines=True)
    (tmp_path / "page.csv").write_text("<!DOCTYPE html>\n<html><body>Not found</body></html>\n")
    clean.to_pickle("frame.pkl")
    np.save("one.npy", np.zeros((4, 2)))
    for name in ("nothing.zip", "nothing.npz"):
        zipfile.ZipFile(name, "w").close()
    with zipfile.ZipFile("book.xlsx", "w") as book:
        book.writestr("[Content_Types].xml", "<Types/>")
        book.writestr("xl/workbook.xml", "<workbook/>")
    (tmp_path / "old.csv").write_text("precious")
    (tmp_path / "old.png").write_text("precious")
    (tmp_path / "sub").mkdir()
    return tmp_path
