"""Bags that come by in blocks: the same means as in memory, whatever the blocks, threads and order of parts."""

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow.dataset
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from stbmta import RBF, STB, Bags, Laplacian, Polynomial, bag_statistics
from stbmta.scale import readers
from stbmta.scale.features import Nystroem, RandomFourier
from stbmta.scale.means import mean_statistics
from stbmta.scale.stream import BagStream

from .. import naive
from ..strategies import ragged


@pytest.fixture
def table(rng):
    X = rng.normal(size=(1000, 3)) + 1e6
    return X, rng.choice(["u", "v", "w", "x", "y"], 1000, p=[0.4, 0.3, 0.2, 0.09, 0.01])


def frame_of(table):
    return pd.DataFrame(table[0], columns=["a", "b", "c"]).assign(who=table[1])


@given(ragged(), st.integers(1, 5))
def test_means_and_scatter_agree_with_the_oracle(arrays, rows):
    s = mean_statistics(BagStream.from_bags(Bags.from_list(arrays), rows=rows))
    np.testing.assert_allclose(s.means, naive.means(arrays), rtol=1e-12, atol=1e-13)
    scatter = [((a - a.mean(axis=0)) ** 2).sum(axis=1).mean() for a in arrays]
    np.testing.assert_allclose(s.scatter, scatter, rtol=1e-11, atol=1e-13)
    assert s.sizes.tolist() == [len(a) for a in arrays]


@pytest.mark.parametrize("dim", [1, 7, 40, 70])
def test_every_number_of_columns(dim, rng):
    """Whole vectors and what is left of them."""
    X, groups = rng.normal(size=(300, dim)) + 1e5, rng.integers(0, 7, 300)
    s, expected = (
        mean_statistics(BagStream.from_arrays(X, groups)),
        bag_statistics(Bags.from_groups(X, groups)),
    )
    np.testing.assert_array_equal(s.labels, expected.labels)
    np.testing.assert_allclose(s.means, expected.means, rtol=1e-14)
    np.testing.assert_allclose(s.naive_mse, expected.naive_mse, rtol=1e-10)
    full = s.to_statistics()
    off = ~np.eye(len(s), dtype=bool)
    np.testing.assert_allclose(full.mmd2()[off], expected.mmd2()[off], rtol=1e-8, atol=1e-9)


FEATURES = {
    "none": None,
    "fourier": RandomFourier.draw(RBF(1.5), 3, 100, center=[1e6] * 3, rng=1),
    "laplacian": RandomFourier.draw(Laplacian(2.0), 3, 64, center=[1e6] * 3, rng=1),
    "nystroem": Nystroem.draw(RBF(1.5), np.random.default_rng(0).normal(size=(60, 3)) + 1e6, 20, rng=1),
}


@pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES.keys())
def test_blocks_and_threads_change_no_bit(features, table, monkeypatch):
    monkeypatch.setattr("stbmta.scale.means._CHUNK", 64)
    expected = mean_statistics(BagStream.from_arrays(*table), features=features, n_threads=1)
    for rows in (1, 17, 64, 999):
        for n_threads in (1, 2, 3):
            stream = BagStream.from_arrays(*table, rows=rows)
            found = mean_statistics(stream, features=features, n_threads=n_threads)
            np.testing.assert_array_equal(found.means, expected.means)
            np.testing.assert_array_equal(found.scatter, expected.scatter)


def test_threads_of_blas_change_no_bit(rng):
    """Workers of a cluster have one thread for BLAS, the caller has more; with another number it rounds otherwise."""
    features = Nystroem.draw(RBF(1.2), rng.normal(size=(77, 5)), 77, rng=0)
    stream = BagStream.from_arrays(rng.normal(size=(1001, 5)), np.arange(1001) % 9)
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            found.append(mean_statistics(stream, features=features).means)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES.keys())
def test_means_of_features_are_means_of_features(features, table):
    bags = Bags.from_groups(*table)
    s = mean_statistics(bags, features=features)
    rows = [bag if features is None else features(bag) for bag in bags]
    np.testing.assert_allclose(s.means, [r.mean(axis=0) for r in rows], rtol=1e-12, atol=1e-14)
    scatter = [((r - r.mean(axis=0)) ** 2).sum(axis=1).mean() for r in rows]
    np.testing.assert_allclose(s.scatter, scatter, rtol=1e-9)
    assert "5 bags, 1000 points" in repr(s)


def test_parts_are_added_up_in_order(table):
    X, groups = table
    cuts = [0, 10, 10, 500, 990, 1000]
    parts = [BagStream.from_arrays(X[a:b], groups[a:b]).parts[0] for a, b in pairwise(cuts)]
    s, expected = mean_statistics(BagStream(parts)), mean_statistics(BagStream.from_arrays(X, groups))
    np.testing.assert_array_equal(s.labels, expected.labels)
    np.testing.assert_array_equal(s.sizes, expected.sizes)
    np.testing.assert_allclose(s.means, expected.means, rtol=1e-15)
    np.testing.assert_allclose(s.scatter, expected.scatter, rtol=1e-9)
    features = FEATURES["fourier"]
    found = mean_statistics(BagStream(parts), features=features)
    np.testing.assert_allclose(
        found.means,
        mean_statistics(BagStream.from_arrays(X, groups), features=features).means,
        rtol=1e-12,
        atol=1e-15,
    )


def test_files_frames_and_iterables_give_the_same(table, tmp_path):
    frame = frame_of(table)
    folder = tmp_path / "table"
    folder.mkdir()
    frame[:300].to_parquet(folder / "1.parquet")
    frame[300:].to_parquet(folder / "2.parquet")
    frame.to_csv(tmp_path / "t.csv.gz", index=False)
    expected = Bags.from_groups(*table)
    streams = {
        "parquet": BagStream.from_parquet(folder, by="who", rows=77),
        "parquet files": BagStream.from_parquet([folder / "1.parquet", folder / "2.parquet"], by="who"),
        "csv": BagStream.from_csv(tmp_path / "t.csv.gz", by="who", columns=["a", "b", "c"], rows=50),
        "list": BagStream.from_iterable([(table[0][:5], table[1][:5]), (table[0][5:], table[1][5:])]),
        "bags": BagStream.from_bags(expected, rows=33),
    }
    for name, stream in streams.items():
        bags = stream.to_bags()
        assert bags.labels.tolist() == expected.labels.tolist(), name
        np.testing.assert_allclose(bags.data, expected.data, rtol=1e-15)
    pairs = BagStream.from_parquet(folder, by=["who", "a"]).to_bags()
    assert pairs.dim == 2
    assert isinstance(pairs.labels[0], tuple)


def test_labels_of_a_csv_file_have_one_type(tmp_path):
    """A block of numbers is no reason to call the bags 1 and 2 where another block says that labels are text."""
    file = tmp_path / "labels.csv"
    for labels, expected in (
        (["1", "1", "2", "2", "x", "1"], ["1", "2", "x"]),
        (["1", "1", "2", "2", "0.5", "1"], [1.0, 2.0, 0.5]),
        (["1", "1", "02", "2", "3", "1"], ["1", "02", "2", "3"]),
        (["7", "007", "7", "8", "8", "8"], ["7", "007", "8"]),
        (["1.0", "1", "1", "2", "2", "2"], ["1.0", "1", "2"]),
        ([str(2**63 + 5), "7", "7", "7", "8", str(2**63 + 6)], [2**63 + 5, 7, 8, 2**63 + 6]),
        (["-7", "1.5", "1.5", "7", "7", "7"], [-7.0, 1.5, 7.0]),
        (["True", "True", "False", "1", "1", "x"], ["True", "False", "1", "x"]),
    ):
        pd.DataFrame({"who": labels, "a": np.arange(6.0)}).to_csv(file, index=False)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(readers, "BLOCK", 32)  # two labels at a time
            streams = [BagStream.from_csv(file, "who", rows=rows) for rows in (100, 2, 1)]
        for stream in streams:
            bags = stream.to_bags()
            assert bags.labels.tolist() == expected
            assert type(bags.labels.tolist()[0]) is type(expected[0])
        assert Bags.read(file, "who").labels.tolist() == expected


def test_columns_of_a_csv_file_are_checked_first(tmp_path):
    pd.DataFrame({"who": [1], "a": [1.0]}).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(KeyError, match="Did you mean 'who'"):
        BagStream.from_csv(tmp_path / "t.csv", "Who")
    with pytest.raises(ValueError, match="rows must be at least 1, found 0"):
        BagStream.from_csv(tmp_path / "t.csv", "who", rows=0)


def test_indexes_partitions_datasets_and_arrow_files(table, tmp_path):
    """However the rows were written: a shuffled frame, a folder for each label, Arrow files, a dataset."""
    frame = frame_of(table).sample(frac=1, random_state=0)
    expected = mean_statistics(BagStream.from_arrays(frame[["a", "b", "c"]].to_numpy(), frame["who"]))
    place = {label: k for k, label in enumerate(expected.labels.tolist())}
    frame.to_parquet(tmp_path / "shuffled.parquet")
    frame.to_parquet(tmp_path / "hive", partition_cols=["who"])
    frame.to_feather(tmp_path / "table.arrow")
    named = frame.rename_axis("number")
    named.to_parquet(tmp_path / "named.parquet")
    dataset = pyarrow.dataset.dataset(tmp_path / "shuffled.parquet")
    for source in (
        tmp_path / "shuffled.parquet", tmp_path / "hive", tmp_path / "table.arrow", tmp_path / "named.parquet", dataset
    ):  # fmt: skip
        stream = BagStream.from_parquet(source, by="who", rows=33)
        assert stream.columns == ("a", "b", "c")
        s = mean_statistics(pickle.loads(pickle.dumps(stream)))
        order = [place[label] for label in s.labels.tolist()]
        np.testing.assert_array_equal(s.sizes, expected.sizes[order])
        np.testing.assert_allclose(s.means, expected.means[order], rtol=1e-14)
    in_memory = pyarrow.dataset.dataset(pyarrow.Table.from_pandas(frame, preserve_index=False))
    assert mean_statistics(BagStream.from_parquet(in_memory, by="who")).labels.tolist() == list(place)
    assert len(BagStream.from_parquet(tmp_path / "hive", by="who").parts) == 5
    assert BagStream.from_parquet(tmp_path / "named.parquet", by="number", columns=["a"]).to_bags().dim == 1


@pytest.mark.parametrize("above", ["run=3", "who=u"])
def test_only_folders_below_the_one_that_is_given_are_columns(above, table, tmp_path, monkeypatch):
    folder = tmp_path / above / "flights"
    folder.mkdir(parents=True)
    frame_of(table).to_parquet(folder / "1.parquet", index=False)
    frame_of(table).to_parquet(folder / "parts", partition_cols=["who"])
    expected = Bags.from_groups(*table)
    assert BagStream.from_parquet(folder / "1.parquet", "who").to_bags() == expected
    monkeypatch.chdir(folder / "parts")
    for source in (folder / "parts", ".", "../parts"):
        bags = BagStream.from_parquet(source, "who").to_bags()
        assert bags.columns == ("a", "b", "c")
        assert sorted(bags.labels) == sorted(expected.labels)
    (folder / "parts").rename(tmp_path / "parts")
    bags = BagStream.from_parquet(folder, "who").to_bags()
    assert (bags, bags.columns) == (expected, ("a", "b", "c"))


def test_columns_without_a_name_are_no_features_of_a_csv_file(table, tmp_path):
    """That is how pandas reads the index it wrote."""
    frame_of(table).to_csv(tmp_path / "t.csv")
    assert BagStream.from_csv(tmp_path / "t.csv", "who").columns == ("a", "b", "c")
    for chosen in ({"by": "who", "columns": ["Unnamed: 0"]}, {"by": "Unnamed: 0", "columns": ["a"]}):
        assert BagStream.from_csv(tmp_path / "t.csv", **chosen).to_bags().dim == 1


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_file_without_a_column_is_named(ending, table, tmp_path):
    for k, frame in enumerate((frame_of(table), frame_of(table).drop(columns="b"))):
        getattr(frame, {"parquet": "to_parquet", "arrow": "to_feather"}[ending])(tmp_path / f"{k}.{ending}")
    with pytest.raises(KeyError, match=f"1.{ending}: there is no column 'b'.*Columns: 'a', 'c'"):
        mean_statistics(BagStream.from_parquet(tmp_path, "who"))


def test_lists_and_single_columns_are_welcome(table, tmp_path):
    X, groups = table
    expected = Bags.from_groups(X[:, :1], groups)
    assert BagStream.from_arrays(X[:, :1].tolist(), groups.tolist(), rows=70).to_bags() == expected
    frame_of(table).rename(columns={"a": "rain"}).to_csv(tmp_path / "t.csv", index=False)
    found = BagStream.from_csv(tmp_path / "t.csv", "who", "rain").to_bags()
    assert found.columns == ("rain",)
    np.testing.assert_array_equal(found.data, expected.data)


def test_dates_stay_dates(tmp_path):
    frame = pd.DataFrame({"a": np.arange(6.0), "when": pd.to_datetime(["2024-01-01", "2024-01-02"] * 3)})
    for unit in ("ns", "us"):
        frame.astype({"when": f"datetime64[{unit}]"}).to_parquet(tmp_path / "dates.parquet")
        stream = BagStream.from_parquet(tmp_path / "dates.parquet", by="when", rows=2)
        expected = Bags.from_frame(frame, by="when").labels
        for labels in (stream.to_bags().labels, mean_statistics(stream).labels):
            assert labels.dtype.kind == "M"
            np.testing.assert_array_equal(labels, expected)


def test_dates_of_any_unit_are_the_same_bags(rng):
    days = np.array(["2024-01-01", "2024-01-02"], "datetime64[s]")
    X, fine, other = (
        rng.normal(size=(20, 2)),
        np.tile(days.astype("datetime64[ns]"), 10),
        np.tile(days + 1, 10),
    )
    for options in ({}, {"kernel": RBF(1.0), "approximation": 64}):
        est = STB(zeta=1.0, gamma=0.1, random_state=0, **options).fit(BagStream.from_arrays(X, fine))
        assert est.score(Bags.from_groups(X, np.tile(days, 10))) == est.score(Bags.from_groups(X, fine))
        with pytest.raises(ValueError, match="bag '2024-01-01T00:00:01' .index 0. was not fitted"):
            est.score(Bags.from_groups(X, other))
    same = [est.approximation_error(Bags.from_groups(X, labels)) for labels in (fine, np.tile(days, 10))]
    assert same[0] == same[1]


def test_the_error_of_features_is_that_of_the_bags_that_were_fitted(table):
    est = STB(RBF(1.0), zeta=1.0, gamma=0.1, approximation=16).fit(BagStream.from_arrays(*table))
    others = Bags.from_groups(table[0], np.char.add("other ", table[1]))
    with pytest.raises(ValueError, match="bag 'other .' .index 0. was not fitted"):
        est.approximation_error(others)
    with pytest.raises(
        ValueError, match="none of the 5 bags that were drawn, such as bag '.'; give the data"
    ):
        est.approximation_error(BagStream.from_bags(others))


def test_sorting_into_a_memory_map(table, tmp_path):
    bags = BagStream.from_arrays(*table, rows=64).to_bags(tmp_path / "sorted.npy")
    assert bags == Bags.from_groups(*table)
    assert isinstance(bags.data.base, np.memmap) or isinstance(bags.data, np.memmap)
    with pytest.raises(FileExistsError, match="choose another file"):
        BagStream.from_arrays(*table).to_bags(tmp_path / "sorted.npy")


def test_an_iterator_is_read_once(table):
    stream = BagStream.from_iterable(iter([table]))
    mean_statistics(stream)
    with pytest.raises(RuntimeError, match="was read once; pass BagStream a function"):
        mean_statistics(stream)


BAD = {
    "no parts": (lambda: BagStream([]), "the stream has no parts"),
    "not callable": (lambda: BagStream([3]), "a part is a function"),
    "lengths": (lambda: BagStream.from_arrays(np.ones((2, 1)), [1]), "X has 2 rows, but groups has 1 labels"),
    "no file": (lambda: BagStream.from_parquet("nothing.parquet", "x"), "there is no file"),
    "no csv": (lambda: mean_statistics(BagStream.from_csv("nothing.csv", "x")), "there is no file"),
    "empty folder": (lambda: BagStream.from_parquet("/proc/self/attr", "x"), "there are no .parquet files"),
    "block lengths": (
        lambda: mean_statistics(BagStream.from_iterable([(np.ones((2, 1)), [1])])),
        "a block has 2 rows, but 1 labels",
    ),
    "columns": (
        lambda: mean_statistics(BagStream.from_iterable([(np.ones((1, 1)), [1]), (np.ones((1, 2)), [1])])),
        "a block has 2 columns, but the first one has 1",
    ),
    "parts' columns": (
        lambda: mean_statistics(
            BagStream([lambda: iter([(np.ones((1, 1)), [1])]), lambda: iter([(np.ones((1, 2)), [1])])])
        ),
        "a part has 2 columns, but the first one has 1",
    ),
    "nan": (
        lambda: mean_statistics(BagStream.from_iterable([(np.array([[1.0], [np.nan]]), ["a", "b"])], ["w"])),
        "bag 'b' contains nan in column 'w'. Remove",  # where in the bag, a block cannot tell
    ),
    "labels": (
        lambda: mean_statistics(BagStream.from_iterable([(np.ones((1, 1)), [None])])),
        "missing label",
    ),
    "no rows": (lambda: mean_statistics(BagStream.from_iterable([])), "the stream has 0 rows"),
    "no rows to sort": (lambda: BagStream.from_iterable([]).to_bags(), "the stream has 0 rows"),
    "kernel": (lambda: mean_statistics(Bags.from_list([[1.0]]), RBF(1.0)), "give features that approximate it"),
    "dimension of features": (
        lambda: mean_statistics(Bags.from_list([[1.0]]), features=FEATURES["fourier"]),
        "the points have 1 columns, but the features are made for 3",
    ),
    "one point": (
        lambda: STB().fit(BagStream.from_iterable([(np.ones((3, 1)), [1, 1, 2])])),
        r"bag 2 .* its variance needs at least 2. Drop it .* stream.to_bags\(\).drop_small\(2\)",
    ),
    "no pairs": (
        lambda: mean_statistics(BagStream.from_iterable(np.ones((3, 2)))),
        "a block of a stream is a pair, a table and one label a row; found ndarray",
    ),
    "kernel of features": (
        lambda: mean_statistics(Bags.from_list([[1.0] * 3]), RBF(5.0), features=FEATURES["fourier"]),
        r"these features approximate RBF\(bandwidth=1.5\), not RBF\(bandwidth=5.0\)",
    ),
    "polynomial": (lambda: RandomFourier.draw(Polynomial(), 2), "need RBF or Laplacian with a number"),
    "median": (lambda: RandomFourier.draw(RBF("median"), 2), "need RBF or Laplacian with a number"),
    "orthogonal": (lambda: RandomFourier.draw(Laplacian(1.0), 2, orthogonal=True), "for the RBF kernel"),
    "no features": (lambda: RandomFourier.draw(RBF(1.0), 2, 0), "n_features must be at least 1"),
    "no landmarks": (lambda: Nystroem.draw(RBF(1.0), np.ones((2, 2)), 0), "n_features must be at least 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_streams_are_named(case):
    make, message = BAD[case]
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=message):
        make()
