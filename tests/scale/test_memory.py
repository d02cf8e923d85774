"""Memory: what is free, what is allowed, what is refused before it is allocated."""

import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
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
    message = r"at least \d+ means with 50 columns needs about 1\d\d kB, but max_memory leaves 100 kB"
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
def test_blocks_of_a_file_fit_into_the_limit(tmp_path, rng):
    """A file of 16 MB in blocks of half a megabyte."""
    columns = [f"c{k}" for k in range(100)]
    frame = pd.DataFrame(rng.normal(size=(20_000, 100)), columns=columns).assign(who=np.arange(20_000) % 200)
    frame.to_parquet(tmp_path / "t.parquet", use_dictionary=False)
    work = partial(mean_statistics, BagStream.from_parquet(tmp_path / "t.parquet", by="who"), n_threads=1)
    work()
    peak, error = peak_of(lambda: work(max_memory="4MB"))
    assert error is None
    assert peak < 1.2 * 4e6
    np.testing.assert_array_equal(work(max_memory="4MB").means, work().means)
