"""Memory: what is free, what is allowed, what is refused before it is allocated."""

import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from stbmta import RBF, STB, Bags, memory, neighbor_averages
from stbmta.scale.means import mean_statistics
from stbmta.scale.stream import BagStream


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4GB", 4 * 10**9),
        ("1.5 gb", 1_500_000_000),
        ("2GiB", 2**31),
        ("300k", 300_000),
        ("7", 7),
        ("1e3MB", 10**9),
    ],
)
def test_limits_in_words(text, expected):
    assert memory.memory_limit(text) == expected


@pytest.mark.parametrize("wrong", ["lots", "4XB", "", "-3GB", "1.2.3GB", 0, -1, float("nan"), True, [4]])
def test_wrong_limits_are_refused(wrong):
    with pytest.raises(ValueError, match="max_memory must be"):
        memory.memory_limit(wrong)


def test_infinity_is_all_there_is():
    assert memory.memory_limit(float("inf")) > 10**18


def test_the_default_is_half_of_what_is_free(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    assert memory.memory_limit() == 500


def test_free_memory_of_system_and_control_group(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal:       100 kB\nMemAvailable:        40 kB\n")
    assert memory._free(tmp_path / "meminfo") == 40 * 1024
    assert memory._free(tmp_path / "nothing") > 0
    assert memory._control_group(tmp_path) == []
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("10\n")
    assert memory._control_group(tmp_path) == []
    (tmp_path / "memory.max").write_text("100\n")
    assert memory._control_group(tmp_path) == [90]
    (tmp_path / "memory.stat").write_text("anon 3\nfile 9\ninactive_file 4\nactive_file 2\nactive_anon 1\n")
    assert memory._control_group(tmp_path) == [96]  # what was read from files makes room
    job = tmp_path / "slice" / "job"
    job.mkdir(parents=True)
    (job / "memory.limit_in_bytes").write_text("50")
    (job / "memory.usage_in_bytes").write_text("60")
    assert memory._control_group(tmp_path, "slice/job") == [0, 96]


def test_tables_that_do_not_fit_are_refused_with_the_estimate():
    stream = BagStream.from_arrays(np.zeros((1000, 50)), np.arange(1000))
    message = r"at least \d+ means with 50 columns, with what is beside it, needs about 1\d\d kB, but max_memory leaves 100 kB"
    with pytest.raises(MemoryError, match=message):
        mean_statistics(stream, max_memory="100kB")
    with pytest.raises(MemoryError, match="a table of 1000 means with 50 columns needs about 400 kB"):
        mean_statistics(stream.to_bags(), max_memory="100kB")
    s = mean_statistics(stream)
    with pytest.raises(MemoryError, match="comparing 1000 bags in full needs about 24 MB"):
        s.to_statistics(max_memory="10MB")


def peak_of(work):
    """Return the most memory that the work took, and its error if it was refused."""
    tracemalloc.start()
    try:
        work()
        error = None
    except MemoryError as refused:
        error = str(refused)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak, error


def least_that_is_enough(work, low, high):
    """Return the smallest limit that is not refused, to within 2 %, and the largest peak relative to its limit.

    Below the limit the peak is that of the work up to the refusal.
    """
    worst = 0.0
    while high > 1.02 * low:
        middle = (low * high) ** 0.5
        peak, error = peak_of(lambda limit=middle: work(limit))
        worst = max(worst, peak / middle)
        low, high = (low, middle) if error is None else (middle, high)
    return high, worst


def rows_and_groups(n, n_bags, dim):
    rng = np.random.default_rng(0)
    return 20 * rng.normal(size=(n_bags, dim))[np.arange(n) % n_bags] + rng.normal(size=(n, dim)), np.arange(
        n
    ) % n_bags


def two_parts(n, n_bags, dim):
    X, groups = rows_and_groups(n, n_bags, dim)
    halves = [BagStream.from_arrays(X[k::2], groups[k::2]).parts[0] for k in range(2)]
    return BagStream(halves)


def in_memory(n, n_bags, dim):
    return Bags.from_groups(*rows_and_groups(n, n_bags, dim))


FIXED = {"zeta": 1.0, "gamma": 0.1, "n_threads": 1}
CASES = {
    "stream": (
        lambda data, limit: STB(max_memory=limit, **FIXED).fit(data),
        lambda: BagStream.from_arrays(*rows_and_groups(12_000, 3000, 100)),
    ),
    "two parts": (
        lambda data, limit: STB(max_memory=limit, **FIXED).fit(data),
        lambda: two_parts(12_000, 3001, 100),
    ),
    "features": (
        lambda data, limit: STB(RBF(20.0), approximation=256, max_memory=limit, random_state=0, **FIXED).fit(
            data
        ),
        lambda: BagStream.from_arrays(*rows_and_groups(12_000, 3000, 3)),
    ),
    "many bags of few columns": (
        lambda data, limit: neighbor_averages(data, 0.0, max_memory=limit, n_threads=1),
        lambda: in_memory(40_000, 20_000, 2),
    ),
    "neighbors kept": (
        lambda data, limit: neighbor_averages(data, 1e9, max_memory=limit, n_threads=1, keep_neighbors=True),
        lambda: in_memory(2000, 1000, 2),
    ),
    "exact kernel": (
        lambda data, limit: STB(RBF(50.0), max_memory=limit, **FIXED).fit(data),
        lambda: in_memory(4000, 1000, 50),
    ),
    "exact kernel of a stream": (
        lambda data, limit: STB(RBF(50.0), max_memory=limit, **FIXED).fit(data),
        lambda: BagStream.from_arrays(*rows_and_groups(4000, 1000, 50)),
    ),
    "parameters chosen in memory": (
        lambda data, limit: STB(max_memory=limit, random_state=0, n_threads=1).fit(data),
        lambda: in_memory(3000, 600, 5),
    ),
    "parameters of an exact kernel": (
        lambda data, limit: STB(RBF(20.0), max_memory=limit, random_state=0, n_threads=1).fit(data),
        lambda: in_memory(1800, 300, 5),
    ),
    "parameters chosen": (
        lambda data, limit: STB(max_memory=limit, random_state=0, n_threads=1).fit(data),
        lambda: BagStream.from_arrays(*rows_and_groups(50_000, 50, 20)),
    ),
}


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("case", CASES)
def test_the_limit_is_kept_within_a_fifth(case):
    """What is not refused stays within the limit, and what is refused is refused before it is allocated."""
    fit, make = CASES[case]
    data = make()
    fit(data, 10**9)  # compile
    free, _ = peak_of(lambda: fit(data, 10**9))
    enough, worst = least_that_is_enough(lambda limit: fit(data, limit), free / 8, 8 * free)
    assert worst < 1.2
    assert enough < 2.5 * free  # what would fit is not refused out of caution


@pytest.mark.slow_without_jit
def test_memory_changes_no_bit(rng):
    X, groups = rng.normal(size=(12_000, 10)), rng.permutation(12_000) % 3000
    for options in ({}, {"kernel": RBF(2.0), "approximation": 64, "random_state": 0}):
        free = STB(**FIXED, **options).fit(BagStream.from_arrays(X, groups))
        less = STB(max_memory="5MB", **FIXED, **options).fit(BagStream.from_arrays(X, groups))
        np.testing.assert_array_equal(less.large_.means, free.large_.means)


@pytest.mark.slow_without_jit
@pytest.mark.parametrize(
    ("ending", "options", "limit"),
    [
        ("parquet", {"row_group_size": 1000}, 8_000_000),
        ("feather", {"compression": "uncompressed"}, 4_000_000),
    ],
)
def test_blocks_of_a_file_fit_into_the_limit(ending, options, limit, tmp_path, rng):
    """A file of 16 MB."""
    columns = [f"c{k}" for k in range(100)]
    frame = pd.DataFrame(rng.normal(size=(20_000, 100)), columns=columns).assign(who=np.arange(20_000) % 200)
    getattr(frame, f"to_{ending}")(tmp_path / f"t.{ending}", **options)
    work = partial(mean_statistics, BagStream.from_parquet(tmp_path / f"t.{ending}", by="who"), n_threads=1)
    work()
    peak, error = peak_of(lambda: work(max_memory=limit))
    assert error is None
    assert peak < 1.2 * limit
    np.testing.assert_array_equal(work(max_memory=limit).means, work().means)


def columns_of_numbers(rng):
    return {f"c{k}": rng.normal(size=40_000) for k in range(30)} | {"who": rng.integers(0, 50, 40_000)}


def write_arrow(path, table, rows, compression=None):
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)


def held_by_arrow(stream):
    """Return the most bytes that Arrow holds when a block has been read."""
    before = pa.total_allocated_bytes()
    return max(pa.total_allocated_bytes() - before for _ in stream.within(100_000).blocks())


@pytest.mark.parametrize("columns", [None, ["c3", "c1"]])
def test_arrow_files_are_mapped(columns, tmp_path, rng):
    """A file of 10 MB in one batch: nothing of it is copied but a block."""
    table = pa.table(columns_of_numbers(rng))
    write_arrow(tmp_path / "t.arrow", table, 40_000)
    stream = BagStream.from_parquet(tmp_path / "t.arrow", "who", columns)
    assert held_by_arrow(stream) < 300_000
    held_by_dataset = held_by_arrow(
        BagStream.from_parquet(pyarrow.dataset.dataset(tmp_path / "t.arrow", format="ipc"), "who", columns)
    )
    assert held_by_dataset < 300_000
    expected = mean_statistics(
        BagStream.from_arrays(table.select(stream.columns).to_pandas().to_numpy(), table["who"].to_numpy())
    )
    found = mean_statistics(stream, max_memory="1MB")
    np.testing.assert_array_equal(found.means, expected.means)
    np.testing.assert_array_equal(found.labels, expected.labels)


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_compressed_arrow_files_are_refused_where_a_batch_does_not_fit(compression, tmp_path, rng):
    numbers = columns_of_numbers(rng)
    write_arrow(tmp_path / "t.arrow", pa.table(numbers), 10_000, compression)
    for columns, expected in ((None, 1.4 * 8 * 10_000 * 31), (["c3", "c1"], 2.5 * 8 * 10_000 * 3)):
        stream = BagStream.from_parquet(tmp_path / "t.arrow", "who", columns)
        estimate = stream.parts[0].beside()
        assert estimate == int(expected)
        assert 0.3 * estimate < held_by_arrow(stream) < 1.1 * estimate
        with pytest.raises(
            MemoryError, match="reading '.*t.arrow' needs about .* Choose fewer columns, write the"
        ):
            mean_statistics(stream, max_memory=0.9 * estimate)
        X = np.column_stack([numbers[name] for name in stream.columns])
        means = mean_statistics(BagStream.from_arrays(X, numbers["who"])).means
        np.testing.assert_array_equal(mean_statistics(stream, max_memory=3 * estimate).means, means)


def test_parquet_files_are_refused_where_their_pages_do_not_fit(tmp_path, rng):
    table = pa.table(columns_of_numbers(rng))
    least = {}
    for rows in (2000, 40_000):
        pq.write_table(table, tmp_path / "t.parquet", row_group_size=rows)
        for columns in (None, ["c3", "c1"]):
            stream = BagStream.from_parquet(tmp_path / "t.parquet", "who", columns)
            estimate = least[rows, columns is None] = stream.parts[0].beside()
            assert 0.2 * estimate < held_by_arrow(stream) < 1.1 * estimate
            with pytest.raises(
                MemoryError, match="reading '.*t.parquet' needs about .* a smaller row_group_size"
            ):
                mean_statistics(stream, max_memory=0.9 * estimate)
            mean_statistics(stream, max_memory=1.5 * estimate + 500_000)
    assert least[2000, True] < least[40_000, True] / 3
    assert least[40_000, False] < least[40_000, True] / 8
    pq.write_table(table.slice(0, 0), tmp_path / "t.parquet")
    assert BagStream.from_parquet(tmp_path / "t.parquet", "who").parts[0].beside() < 100_000


def test_what_reading_takes_is_taken_from_the_table_of_means(tmp_path, rng):
    numbers = columns_of_numbers(rng) | {"who": np.arange(40_000)}
    write_arrow(tmp_path / "t.arrow", pa.table(numbers), 40_000, "lz4")
    stream = BagStream.from_parquet(tmp_path / "t.arrow", "who")
    alone = BagStream.from_arrays(np.column_stack([numbers[f"c{k}"] for k in range(30)]), numbers["who"])
    mean_statistics(alone, max_memory="25MB")
    with pytest.raises(
        MemoryError, match="a table of at least .* means with 30 columns, with what is beside it"
    ):
        mean_statistics(stream, max_memory="25MB")
