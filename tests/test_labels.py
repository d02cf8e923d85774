"""Labels of bags: kept as they are, whatever their type, and distinct."""

from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

import stbmta
from stbmta import Bags, KernelMeans
from stbmta.scale.stream import BagStream


def test_dates_stay_dates_when_bags_are_put_together():
    dates = np.array(["2024-01-01", "2024-01-02"], "datetime64[ns]")
    parts = [Bags.from_list([[1.0]], labels=dates[k : k + 1]) for k in range(2)]
    np.testing.assert_array_equal(Bags.concat(parts).labels, dates)


@pytest.mark.parametrize(
    "groups",
    [
        np.array([3, 1, 3, 1]),
        np.array([3.5, 1.5, 3.5, 1.5]),
        np.array(["u", "v", "u", "v"]),
        np.array(["2020-01-02", "2020-01-01"] * 2, dtype="datetime64[D]"),
        [("a", 1), ("a", 2), ("a", 1), ("a", 2)],
        ["a", 1, "a", 1],
        pd.Series(["b", "a", "b", "a"]),
        pd.Series(["b", "a", "b", "a"], dtype="category"),
        pl.Series(["b", "a", "b", "a"]),
        [True, False, True, False],
    ],
    ids=lambda g: type(g).__name__ + str(getattr(g, "dtype", "")),
)
def test_labels_of_any_kind_are_kept(groups):
    bags = Bags.from_groups(np.arange(4.0), groups)
    values = groups.tolist() if hasattr(groups, "tolist") else list(groups)
    assert bags.labels.tolist() == [values[0], values[1]]
    np.testing.assert_array_equal(bags.means().ravel(), [1.0, 2.0])


@pytest.mark.parametrize("dtype", ["datetime64[ns]", "datetime64[s]", "datetime64[D]", "timedelta64[ns]"])
def test_dates_stay_dates_in_any_unit(dtype):
    """Python has no nanoseconds: NumPy would make numbers of them."""
    kind = dtype.split("[")[0]
    labels = np.array([20_000, 20_001], dtype=kind + "[D]").astype(dtype)
    bags = Bags.from_list([[1.0, 2.0], [3.0, 4.0]], labels=labels)
    for name in (labels[1], pd.Series(labels)[1], labels.astype(kind + "[s]")[1]):
        assert bags.bag(name).ravel().tolist() == [3.0, 4.0]
    with pytest.raises(KeyError, match="there is no bag"):
        bags.bag("nowhere")
    index = stbmta.NaiveMean().fit(bags).to_frame().index
    assert index.tolist() == pd.Index(labels).tolist()
    with pytest.raises(ValueError, match=r"bag '(2024-10-04|1728000000000000000 nanoseconds)' \(index 0\)"):
        bags.subsample(11)


@pytest.mark.parametrize(
    ("ids", "dtype"),
    [
        ([2**63 + 5, 2**63 + 6, 7], np.uint64),
        ([2**53, 2**53 + 1, -7], np.int64),
        ([2**63 + 5, 2**63 + 6, -7], object),
        ([2**64 + 5, 2**64 + 6, 7], object),
        ([1.5, 2.5, 7.0], np.float64),
    ],
    ids=str,
)
def test_large_ids_are_not_rounded(ids, dtype):
    """NumPy makes floats of integers on both sides of 2**63."""
    X = np.arange(3.0)[:, None]
    for bags in (Bags.from_list(list(X), labels=ids), Bags.from_groups(X, ids)):
        assert bags.labels.tolist() == ids
        assert bags.labels.dtype == dtype
    stream = BagStream.from_arrays(X, bags.labels, rows=1)
    assert stream.to_bags() == bags
    assert stbmta.NaiveMean().fit(bags).score(bags) == 0


@pytest.mark.parametrize(
    "labels",
    [
        [("a", 1), ("b", 2.5)],
        [1, "1"],
        [True, "x"],
        [date(2020, 1, 2), datetime(2020, 1, 2, 3, 4, 5)],
        pd.date_range("2020-01-01", periods=2),
        [("a", pd.Timestamp("2020-01-01 00:00:00.123456789")), ("b", np.datetime64("2020-01-02", "ns"))],
        [(np.int64(3), ("x", 0.1)), "y"],
        np.array(["2020-01-02", "2020-01-01"], dtype="datetime64[D]"),
    ],
    ids=str,
)
def test_labels_of_any_kind_survive_a_file(labels, tmp_path):
    bags = Bags.from_list([[1.0], [2.0]], labels=labels)
    bags.save(tmp_path / "bags.npz")
    again = Bags.read(tmp_path / "bags.npz")
    assert again.labels.tolist() == bags.labels.tolist()
    assert [type(a) for a in again.labels.tolist()] == [type(a) for a in bags.labels.tolist()]
    KernelMeans(bags, "linear").save(tmp_path / "means.npz")
    assert KernelMeans.load(tmp_path / "means.npz").labels.tolist() == bags.labels.tolist()
