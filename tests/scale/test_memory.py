"""Memory: what is free, what is allowed, what is refused before it is allocated."""

import tracemalloc

import numpy as np
import pytest

from stbmta import RBF, STB, memory
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


@pytest.mark.parametrize("wrong", ["lots", "4XB", "", "-3GB", 0, -1, float("nan")])
def test_wrong_limits_are_refused(wrong):
    with pytest.raises(ValueError, match="max_memory must be"):
        memory.memory_limit(wrong)


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
    old = tmp_path / "old" / "memory"
    old.mkdir(parents=True)
    (old / "memory.limit_in_bytes").write_text("50")
    (old / "memory.usage_in_bytes").write_text("60")
    assert memory._control_group(tmp_path / "old") == [0]


def test_tables_that_do_not_fit_are_refused_with_the_estimate():
    stream = BagStream.from_arrays(np.zeros((1000, 50)), np.arange(1000))
    message = r"at least \d+ means with 50 columns needs about 1\d\d kB, but max_memory is 100 kB"
    with pytest.raises(MemoryError, match=message):
        mean_statistics(stream, max_memory="100kB")
    with pytest.raises(MemoryError, match="a table of 1000 means with 50 columns needs about 400 kB"):
        mean_statistics(stream.to_bags(), max_memory="100kB")
    s = mean_statistics(stream)
    with pytest.raises(MemoryError, match="comparing 1000 bags in full needs about 24 MB"):
        s.to_statistics(max_memory="10MB")


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("features", [None, 256])
def test_the_limit_is_kept_within_a_fifth_and_changes_nothing(rng, features):
    """Just enough memory: the peak beyond the input stays below 1.2 times the limit, a little less is refused."""
    X, groups = rng.normal(size=(12_000, 100 if features is None else 3)), rng.permutation(12_000) % 3000
    kernel, options = ("linear", {}) if features is None else (RBF(2.0), {"approximation": features})
    free = STB(kernel, zeta=1.0, gamma=0.1, **options).fit(BagStream.from_arrays(X, groups, rows=500))
    width = X.shape[1] if features is None else features
    enough = 8 * 3000 * width + 20 * 3000 * width  # the table of means, and comparing it
    est = STB(kernel, zeta=1.0, gamma=0.1, max_memory=enough, **options)
    tracemalloc.start()
    est.fit(BagStream.from_arrays(X, groups, rows=500))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.5 * enough < peak < 1.2 * enough
    np.testing.assert_array_equal(est.large_.means, free.large_.means)
    with pytest.raises(MemoryError, match="needs about"):
        est.set_params(max_memory=19 * 3000 * width).fit(BagStream.from_arrays(X, groups))
