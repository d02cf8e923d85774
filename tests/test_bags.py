"""Bags: every way in, every complaint, every way of cutting."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stbmta
from stbmta import Bags

from . import naive
from .strategies import ragged


@pytest.fixture
def frame():
    return pd.DataFrame(
        {"city": ["Rome", "Oslo", "Rome", "Bern"], "t": [20.0, 8.0, 24.0, 9.5], "rain": [1, 7, 2, 4]}
    )


def test_an_index_that_pandas_wrote_is_no_feature(tmp_path):
    frame = pd.DataFrame({"k": ["a", "a", "b"], "x": [1.0, 2.0, 5.0]})
    frame.to_csv(tmp_path / "t.csv")
    assert Bags.read(tmp_path / "t.csv", by="k").columns == ("x",)
    assert Bags.read(tmp_path / "t.csv", by="k", columns=["Unnamed: 0", "x"]).dim == 2
    assert Bags.read(tmp_path / "t.csv", by=["k", "Unnamed: 0"]).labels.tolist() == [
        ("a", 0),
        ("a", 1),
        ("b", 2),
    ]


def test_from_list_keeps_points_sizes_and_labels(rng):
    arrays = [rng.normal(size=(n, 3)) for n in (2, 5, 1)]
    bags = Bags.from_list(arrays, labels=["a", "b", "c"])
    assert len(bags) == 3
    assert bags.dim == 3
    assert bags.sizes.tolist() == [2, 5, 1]
    assert bags.labels.tolist() == ["a", "b", "c"]
    for bag, array in zip(bags, arrays, strict=True):
        np.testing.assert_array_equal(bag, array)
    np.testing.assert_array_equal(bags[-1], arrays[2])
    np.testing.assert_array_equal(bags.bag("b"), arrays[1])


def test_groups_come_in_order_of_first_appearance_and_remember_their_rows():
    X = np.arange(10.0).reshape(5, 2)
    bags = Bags.from_groups(X, ["y", "x", "y", "z", "x"])
    assert bags.labels.tolist() == ["y", "x", "z"]
    np.testing.assert_array_equal(bags[0], X[[0, 2]])
    np.testing.assert_array_equal(X[bags.rows], bags.data)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_a_list_of_data_frames_keeps_the_columns(kind):
    first, second = kind({"u": [1.0, 2.0], "v": [0.0, 0.0]}), kind({"u": [4.0], "v": [1.0]})
    bags = Bags.from_list([first, second])
    assert bags.columns == ("u", "v")
    np.testing.assert_array_equal(bags.means(), [[1.5, 0.0], [4.0, 1.0]])
    np.testing.assert_array_equal(stbmta.NaiveMean().fit([first, second]).means_, bags.means())
    with pytest.raises(ValueError, match=r"bag 1 \(index 1\) does not have the columns \['u', 'v'\]"):
        Bags.from_list([first, kind({"v": [1.0], "u": [4.0]})])
    with pytest.raises(ValueError, match="does not have the columns"):
        Bags.from_list([first, np.ones((1, 2))])


def test_a_sorted_table_is_not_copied():
    X = np.arange(8.0).reshape(4, 2)
    assert np.shares_memory(Bags.from_groups(X, [0, 0, 1, 1]).data, X)


@pytest.mark.parametrize("kind", [pd.DataFrame, lambda f: pl.from_pandas(f)], ids=["pandas", "polars"])
def test_from_frame(frame, kind):
    bags = Bags.from_frame(kind(frame), by="city")
    assert bags.labels.tolist() == ["Rome", "Oslo", "Bern"]
    assert bags.columns == ("t", "rain")
    np.testing.assert_array_equal(bags[0], [[20, 1], [24, 2]])
    assert Bags.from_frame(kind(frame), by="city", columns=["rain"]).dim == 1
    pairs = Bags.from_frame(kind(frame), by=["city", "rain"])
    assert pairs.labels.tolist() == [("Rome", 1), ("Oslo", 7), ("Rome", 2), ("Bern", 4)]


@pytest.mark.parametrize("name", ["b.csv", "b.csv.gz", "b.tsv", "b.parquet"])
def test_read_tables(frame, tmp_path, name):
    path = tmp_path / name
    if "parquet" in name:
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if "tsv" in name else ",")
    assert Bags.read(path, by="city") == Bags.from_frame(frame, by="city")


def test_save_and_read(frame, tmp_path):
    bags = Bags.from_frame(frame, by="city")
    bags.save(tmp_path / "b.npz")
    again = Bags.read(tmp_path / "b.npz")
    assert again == bags
    assert again.columns == bags.columns
    assert [p.name for p in tmp_path.iterdir()] == ["b.npz"]


def test_read_npz_with_named_arrays(tmp_path):
    np.savez(tmp_path / "x.npz", X=np.arange(4.0), who=np.array(["a", "b", "a", "b"]), other=np.zeros(2))
    bags = Bags.read(tmp_path / "x.npz", by="who", columns="X")
    np.testing.assert_array_equal(bags.means().ravel(), [1.0, 2.0])
    with pytest.raises(ValueError, match=r"which array of x\.npz is the data"):
        Bags.read(tmp_path / "x.npz", by="who")
    with pytest.raises(KeyError, match="there is no array 'nobody'"):
        Bags.read(tmp_path / "x.npz", by="nobody")
    with pytest.raises(ValueError, match="say which array holds the labels"):
        Bags.read(tmp_path / "x.npz")


def test_pickles_in_npz_are_refused(tmp_path):
    np.savez(tmp_path / "x.npz", data=np.array([object()]), offsets=np.array([0, 1]))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        Bags.read(tmp_path / "x.npz")


def test_a_failed_save_keeps_the_old_file(tmp_path):
    path = tmp_path / "b.npz"
    Bags.from_list([[1.0]]).save(path)
    with pytest.raises(
        TypeError, match="is a frozenset; only labels that are numbers, text, dates or tuples"
    ):
        Bags.from_list([[1.0]], labels=[frozenset("a")]).save(path)
    assert len(Bags.read(path)) == 1
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("dtype", "kept"),
    [(np.float32, np.float32), (np.float64, np.float64), (np.int16, np.float64), (bool, np.float64)],
)
def test_dtypes(dtype, kept):
    assert Bags.from_list([np.ones((2, 1), dtype=dtype)]).data.dtype == kept


def test_memory_maps_and_read_only_arrays(tmp_path, rng):
    X = rng.normal(size=(6, 2))
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    bags = Bags.from_groups(mapped, [0, 0, 0, 1, 1, 1])
    assert np.shares_memory(bags.data, mapped)
    np.testing.assert_allclose(bags.means(), [X[:3].mean(axis=0), X[3:].mean(axis=0)], rtol=1e-14)


NAN = [np.zeros((2, 2)), np.array([[0, 1], [2, np.nan], [np.inf, 0]])]
BAD = {
    "nan": (lambda: Bags.from_list(NAN, labels=["a", "b"]), r"bag 'b' \(index 1\) contains nan in column 1, row 1"),
    "nan column": (
        lambda: Bags.from_groups([[1.0], [np.inf]], ["a", "b"], ["weight"]),
        r"bag 'b' \(index 1\) contains inf in column 'weight'",
    ),
    "empty bag": (
        lambda: Bags.from_list([np.ones((1, 2)), np.ones((0, 2))], labels=["a", "b"]),
        r"bag 'b' \(index 1\) has 0 rows; leave it out",
    ),
    "dimensions": (
        lambda: Bags.from_list([np.ones((1, 2)), np.ones((1, 3))]),
        r"bag 1 \(index 1\) has 3 columns, but bag 0 \(index 0\) has 2",
    ),
    "no bags": (lambda: Bags.from_list([]), "there are no bags: the list is empty"),
    "no rows": (lambda: Bags.from_groups(np.ones((0, 2)), []), "there are no bags: X has 0 rows"),
    "no data": (lambda: Bags.from_offsets(np.ones((0, 2)), [0]), "there are no bags: the data is empty"),
    "no columns": (lambda: Bags.from_list([np.ones((2, 0))]), r"0 feature\(s\)"),
    "objects": (
        lambda: Bags.from_list([np.array([[1, "x"]], dtype=object)]),
        r"bag 0 \(index 0\) has dtype object, not numbers; .* Found 'x'",
    ),
    "text": (lambda: Bags.from_list([np.array([["a"]])]), "is not numeric; encode it as numbers"),
    "complex": (lambda: Bags.from_list([np.array([[1j]])]), "is complex; .* Stack the real and imaginary parts"),
    "three dimensions": (lambda: Bags.from_list([np.ones((1, 2, 3))]), r"has 3 dimensions \(shape \(1, 2, 3\)\)"),
    "ragged rows": (lambda: Bags.from_list([[[1.0], [1.0, 2.0]]]), "is not a rectangular array of numbers"),
    "groups length": (lambda: Bags.from_groups(np.ones((3, 1)), [1, 2]), "X has 3 rows, but groups has 2 labels"),
    "groups shape": (lambda: Bags.from_groups(np.ones((2, 1)), np.ones((2, 2))), "groups must be one-dimensional"),
    "groups nan": (
        lambda: Bags.from_groups(np.ones((3, 1)), [1.0, np.nan, np.nan]),
        r"groups has 2 missing label\(s\), the first in row 1",
    ),
    "groups none": (lambda: Bags.from_groups(np.ones((2, 1)), ["a", None]), "missing label.* row 1"),
    "groups nat": (
        lambda: Bags.from_groups(np.ones((2, 1)), np.array(["2020-01-01", "NaT"], dtype="datetime64[D]")),
        "missing label.* row 1",
    ),
    "groups NA": (lambda: Bags.from_groups(np.ones((2, 1)), pd.Series(["a", pd.NA])), "missing label.* row 1"),
    "groups tuple": (lambda: Bags.from_groups(np.ones((2, 1)), [("a", 1), ("a", None)]), "missing label.* row 1"),
    "labels count": (lambda: Bags.from_list([[1.0]], labels=["a", "b"]), "there are 1 bags, but 2 labels"),
    "labels missing": (lambda: Bags.from_list([[1.0], [2.0]], labels=["a", None]), "label at index 1 is missing"),
    "labels nan": (lambda: Bags.from_list([[1.0], [2.0]], labels=[1.5, np.nan]), "label at index 1 is missing"),
    "labels twice": (lambda: Bags.from_list([[1.0], [2.0]], labels=["a", "a"]), "the label 'a' is used twice"),
    "offsets kind": (lambda: Bags.from_offsets([[1.0]], [0.0, 1.0]), "array of integers"),
    "offsets range": (lambda: Bags.from_offsets([[1.0], [2.0]], [0, 1]), "offsets must run from 0 to 2"),
    "offsets order": (lambda: Bags.from_offsets(np.ones((3, 1)), [0, 2, 1, 3]), "must not fall; found 2 and then 1"),
    "column names": (lambda: Bags.from_list([[1.0]], columns=["a", "b"]), "2 column names were given for 1 columns"),
    "fraction": (lambda: Bags.from_list([[1.0, 2.0]]).split(1.5), "fraction must be between 0 and 1"),
    "split of one": (lambda: Bags.from_list([[1.0]]).split(0.5), r"bag 0 \(index 0\) has 1 row .* a split needs"),
    "subsample": (lambda: Bags.from_list([[1.0]]).subsample(3), r"has 1 rows, fewer than 3.* bags\.drop_small\(3\)"),
    "subsample 0": (lambda: Bags.from_list([[1.0]]).subsample(0), "size must be an integer of at least 1, found 0"),
    "subsample 1.7": (lambda: Bags.from_list([[1.0, 2.0]]).subsample(1.7), r"must be an integer .*, found 1\.7"),
    "chosen twice": (lambda: Bags.from_list([[1.0], [2.0]]).select([0, 0]), "a bag was chosen twice"),
    "folds": (lambda: Bags.from_list([[1.0, 2.0]]).folds(2.5), r"n_folds must be an integer .*, found 2\.5"),
    "nothing chosen": (lambda: Bags.from_list([[1.0]]).select([]), "no bags are left"),
    "nothing left": (lambda: Bags.from_list([[1.0]]).drop_small(2), "no bags are left"),
    "concat nothing": (lambda: Bags.concat([]), "there is nothing to put together"),
    "take": (lambda: Bags.from_list([[1.0], [2.0]]).take_points(np.array([True, False])), "has 0 rows"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case):
    make, message = BAD[case]
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_sparse_input_is_refused():
    import scipy.sparse

    with pytest.raises(TypeError, match="sparse matrix"):
        Bags.from_groups(scipy.sparse.eye_array(3), [0, 1, 2])


def test_bad_frames_are_named(frame):
    with pytest.raises(KeyError, match="there is no column 'citi'. Did you mean 'city'"):
        Bags.from_frame(frame, by="citi")
    with pytest.raises(KeyError, match="there is no column 'snow'"):
        Bags.from_frame(frame, by="city", columns=["snow"])
    with pytest.raises(TypeError, match="column 'city' of the table has dtype .* not numeric.*columns="):
        Bags.from_frame(frame, by="rain")
    with pytest.raises(TypeError, match=r"and 1 more: \['c'\]"):
        Bags.from_frame(frame.assign(c="x"), by="rain")
    with pytest.raises(ValueError, match="no feature columns are left"):
        Bags.from_frame(frame[["city"]], by="city")
    with pytest.raises(TypeError, match=r"found pyarrow Table\. Pass table\.to_pandas\(\)"):
        Bags.from_frame(pyarrow.table({"a": [1.0], "who": ["x"]}), by="who")
    with pytest.raises(TypeError, match="expected a pandas or polars data frame, found list"):
        Bags.from_frame([1, 2], by="x")
    with pytest.raises(ValueError, match="contains nan in column 'rain'"):
        Bags.from_frame(
            frame.astype({"rain": "Int64"}).assign(rain=pd.array([1, None, 2, 3], "Int64")), by="city"
        )
    with pytest.raises(ValueError, match="column 'city' has 1 missing label.* row 1"):
        Bags.from_frame(frame.assign(city=["Rome", None, "Rome", "Bern"]), by="city")
    with pytest.raises(ValueError, match="column 'rain' has 1 missing label.* row 2"):
        Bags.from_frame(frame.assign(rain=[1, 2, None, 3]), by=["city", "rain"])
    with pytest.raises(ValueError, match="the table has 2 columns 't'"):
        Bags.from_frame(frame.rename(columns={"rain": "t"}), by="city")
    with pytest.raises(ValueError, match="the table has 2 columns 't'"):
        Bags.from_frame(frame.rename(columns={"rain": "t"}), by="t", columns="city")
    with pytest.raises(ValueError, match=r"say which column holds the bags' labels, with by="):
        Bags.from_frame(frame, by=None)
    with pytest.raises(ValueError, match="there are no bags: the table has 0 rows"):
        Bags.from_frame(frame[:0], by="city")
    with pytest.raises(TypeError, match="not numeric"):
        Bags.from_frame(frame.assign(t=frame["t"] * 1j), by="city")


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_are_read_column_by_column_everywhere(kind):
    good = kind({"xy": [1.0, 2.0], "v": [0, 1]})
    assert Bags.from_groups(good, ["a", "b"]).columns == ("xy", "v")
    assert Bags.from_groups(good, ["a", "b"], columns=["p", "q"]).columns == ("p", "q")
    assert Bags.from_frame(good, by="v", columns="xy").columns == ("xy",)
    assert Bags.from_list([[1.0]], columns="xy").columns == ("xy",)
    bad = kind({"u": [1.0, 2.0], "name": ["p", "q"]})
    with pytest.raises(TypeError, match=r"column 'name' of bag 'b' \(index 1\) has dtype .* not numeric"):
        Bags.from_list([kind({"u": [0.0], "name": [1.0]}), bad], labels=["a", "b"])
    with pytest.raises(TypeError, match="column 'name' of X has dtype .* not numeric"):
        Bags.from_groups(bad, [0, 1])


def test_nullable_columns_are_numbers_everywhere():
    frame = pd.DataFrame({"u": pd.array([1, 2, 3], "Int64"), "v": pd.array([0.5, 1.5, 2.5], "Float64")})
    expected = [[1.5, 1.0], [3.0, 2.5]]
    np.testing.assert_array_equal(Bags.from_groups(frame, [0, 0, 1]).means(), expected)
    np.testing.assert_array_equal(Bags.from_list([frame[:2], frame[2:]]).means(), expected)
    np.testing.assert_array_equal(Bags.from_groups(frame["u"], [0, 0, 1]).means(), [[1.5], [3.0]])
    with pytest.raises(ValueError, match=r"bag 0 \(index 0\) contains nan in column 'u'"):
        Bags.from_list([frame.assign(u=pd.array([1, None, 3], "Int64"))])


def test_masked_values_are_refused():
    values = np.ma.masked_array([[1.0, 999.0], [3.0, 4.0]], mask=[[0, 1], [0, 0]])
    with pytest.raises(ValueError, match=r"bag 'b' \(index 1\) has 1 masked value\(s\)"):
        Bags.from_list([np.ones((1, 2)), values], labels=["a", "b"])
    with pytest.raises(ValueError, match="X has 1 masked value"):
        Bags.from_groups(values, [0, 1])
    with pytest.raises(ValueError, match="X has 1 masked value"):
        stbmta.NaiveMean().fit(values)
    assert Bags.from_list([np.ma.masked_array([1.0, 2.0])]).sizes.tolist() == [2]


def test_bad_files_are_named(tmp_path):
    (tmp_path / "head.csv").write_text("city,t\n")
    with pytest.raises(ValueError, match="there are no bags: the table has 0 rows"):
        Bags.read(tmp_path / "head.csv", by="city")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        Bags.read(tmp_path / "nothing.csv", by="x")
    (tmp_path / "x.xlsx").touch()
    with pytest.raises(ValueError, match=r"cannot tell the format of 'x\.xlsx'"):
        Bags.read(tmp_path / "x.xlsx", by="x")
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="say which column holds the bags' labels"):
        Bags.read(tmp_path / "x.csv")


def test_bags_are_made_by_their_doors_and_do_not_change():
    with pytest.raises(TypeError, match=r"Bags\.from_list"):
        Bags()
    bags = Bags.from_list([[1.0]])
    with pytest.raises(AttributeError, match="do not change"):
        bags.labels = ["x"]
    with pytest.raises(KeyError, match="there is no bag 'x'"):
        bags.bag("x")
    with pytest.raises(IndexError, match="index 1 is out of range"):
        bags[1]
    with pytest.raises(TypeError):
        hash(bags)


@given(ragged())
def test_means_agree_with_the_oracle(arrays):
    np.testing.assert_allclose(Bags.from_list(arrays).means(), naive.means(arrays), rtol=1e-13, atol=1e-14)


@given(ragged(min_size=2), st.floats(0.1, 0.9), st.integers(0, 9))
def test_split_parts_each_bag(arrays, fraction, seed):
    bags = Bags.from_list(arrays)
    first, second = bags.split(fraction, rng=seed)
    assert (first.sizes + second.sizes == bags.sizes).all()
    assert (first.sizes >= 1).all()
    assert (second.sizes >= 1).all()
    assert np.abs(first.sizes - fraction * bags.sizes).max() <= 1.0
    rows = np.sort(np.concatenate([first.rows, second.rows]))
    np.testing.assert_array_equal(rows, np.arange(len(bags.data)))
    again, _ = bags.split(fraction, rng=seed)
    assert again == first


@given(ragged(min_size=2), st.integers(2, 4), st.integers(0, 9))
def test_folds_cut_each_bag_evenly(arrays, n_folds, seed):
    bags = Bags.from_list(arrays)
    shuffled, offsets, bag_of = bags.folds(n_folds, seed)
    sizes = np.diff(offsets)
    assert (sizes >= 1).all()
    for i in range(len(bags)):
        mine = sizes[bag_of == i]
        assert mine.sum() == bags.sizes[i]
        assert len(mine) == min(n_folds, bags.sizes[i])
        assert mine.max() - mine.min() <= 1
        np.testing.assert_array_equal(np.sort(shuffled[i], axis=0), np.sort(bags[i], axis=0))


def test_subsample_draws_without_replacement(rng):
    bags = Bags.from_list([np.arange(10.0), np.arange(10.0, 25.0)])
    drawn = bags.subsample([4, 15], rng)
    assert drawn.sizes.tolist() == [4, 15]
    assert all(len(set(bag.ravel())) == len(bag) for bag in drawn)
    assert set(drawn[0].ravel()) <= set(range(10))
    np.testing.assert_array_equal(bags.data[drawn.rows], drawn.data)


def test_select_slice_mask_and_concat(rng):
    bags = Bags.from_list([rng.normal(size=(n, 2)) for n in (3, 1, 2)], labels=["a", "b", "c"])
    assert bags[1:].labels.tolist() == ["b", "c"]
    assert bags[[2, 0]].labels.tolist() == ["c", "a"]
    assert bags[bags.sizes > 1].labels.tolist() == ["a", "c"]
    assert Bags.concat([bags[:1], bags[1:]]) == bags
    assert bags.drop_small(2).sizes.tolist() == [3, 2]
    with pytest.raises(ValueError, match="used twice"):
        Bags.concat([bags, bags])


def test_equality_repr_describe_and_pickle(rng):
    bags = Bags.from_list([np.ones((3, 2)), np.ones((4, 2))])
    assert bags == pickle.loads(pickle.dumps(bags))
    assert bags != bags.relabel(["x", "y"])
    assert bags != "bags"
    assert repr(bags) == "Bags(2 bags, 7 points, dim 2, sizes 3 to 4, float64, 112 B)"
    described = bags.describe()
    assert described.median == 3.5
    assert described.to_frame().loc[0, "memory"] == 112
    assert "largest bag       4" in described.summary()
    large = Bags.from_offsets(np.zeros((2000, 1)), [0, 2000])
    assert "16 kB" in repr(large)
