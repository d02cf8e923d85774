"""Pairwise bag statistics: against plain loops, to the last bit, in little memory, far from the origin."""

import tracemalloc

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stbmta
from stbmta import (
    RBF,
    Bags,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    bag_statistics,
    cross_statistics,
    neighbor_averages,
    sums,
    threads,
    vectors,
)
from stbmta.blocks import MATRIX_BLOCK
from stbmta.jit import tiles

from . import naive
from .strategies import ragged

KERNELS = {
    "linear": (Linear(), naive.linear),
    "rbf": (RBF(1.5), naive.rbf(1.5)),
    "rbf narrow": (RBF(0.2), naive.rbf(0.2)),  # beyond the limit of the norm form
    "laplacian": (Laplacian(2.0), naive.laplacian(2.0)),
    "polynomial": (Polynomial(3, 0.5, 1.0), naive.polynomial(3, 0.5, 1.0)),
    "degree 1": (Polynomial(1, 1.0, 0.0), naive.linear),
    "function": (Precomputed(RBF(1.5)), naive.rbf(1.5)),
}
kernels = pytest.mark.parametrize(("kernel", "oracle"), KERNELS.values(), ids=KERNELS.keys())


def close(found, expected, scale=1.0):
    """Compare to 1e-12, relative to the value or to the kernel's own scale where values cancel."""
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13 * scale)


def scale_of(oracle, arrays):
    return max(1.0, *(abs(oracle(x, x)) for a in arrays for x in a))


@kernels
@given(arrays=ragged())
def test_gram_and_diagonal_agree_with_the_oracle(kernel, oracle, arrays):
    s = bag_statistics(Bags.from_list(arrays), kernel)
    scale = scale_of(oracle, arrays)
    close(s.gram, naive.gram(oracle, arrays), scale)
    close(s.diagonal, naive.diagonal(oracle, arrays), scale)
    np.testing.assert_array_equal(s.gram, s.gram.T)


@pytest.mark.parametrize("kernel", [RBF(30.0), RBF(3.0), Laplacian(200.0), Polynomial(3, 0.01, 1.0)])
def test_more_dimensions_and_rows_than_a_slice(kernel, rng):
    """Tiles put their accumulators aside after some dimensions, and take up the next rows."""
    arrays = [rng.normal(size=(n, 2 * tiles.DEPTH + 1)) for n in (tiles.SOME_ROWS + 5, 3, 1)]
    found = bag_statistics(Bags.from_list(arrays), kernel).gram
    np.testing.assert_allclose(found, [[kernel(x, y).mean() for y in arrays] for x in arrays], rtol=1e-12)


@kernels
@given(arrays=ragged(min_size=2, max_bags=4, max_size=5))
def test_mse_and_mmd_agree_with_the_oracle(kernel, oracle, arrays):
    s = bag_statistics(Bags.from_list(arrays), kernel)
    scale = scale_of(oracle, arrays)
    close(s.naive_mse, naive.naive_mse(oracle, arrays), scale)
    U = naive.mmd2(oracle, arrays)
    close(s.mmd2(), U, 4 * scale)
    close(s.mmd2(clip=True), np.maximum(U, 0), 4 * scale)
    G = naive.gram(oracle, arrays)
    biased = np.diag(G)[:, None] + np.diag(G)[None] - 2 * G
    close(s.mmd2(unbiased=False), biased, 4 * scale)


@pytest.mark.parametrize(("n_bags", "n_others", "dim"), [(37, 4, 40), (60, 33, 300), (1, 9, 100)])
def test_cross_statistics_of_the_linear_kernel_know_no_order(n_bags, n_others, dim, rng):
    a, b = (Bags.from_list(list(rng.normal(size=(n, 3, dim)))) for n in (n_bags, n_others))
    p, q = rng.permutation(n_bags), rng.permutation(n_others)
    found = cross_statistics(a.select(p), b.select(q))
    np.testing.assert_array_equal(found, cross_statistics(a, b)[np.ix_(p, q)])


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_options_are_checked_whatever_the_kernel(kernel):
    bags = Bags.from_list([[0.0, 1.0], [2.0, 5.0]])
    for work in (
        lambda **k: bag_statistics(bags, kernel, **k),
        lambda **k: cross_statistics(bags, bags, kernel, **k),
    ):
        for block_size in (0, 2.5, True):
            with pytest.raises(ValueError, match="block_size must be an integer of at least 1"):
                work(block_size=block_size)
        with pytest.raises(ValueError, match="dtype must be float64 or float32"):
            work(dtype="int")
    with pytest.raises(ValueError, match="n_threads must be an integer of at least 1, found True"):
        bag_statistics(bags, kernel, n_threads=True)


@pytest.mark.parametrize("rule", [RBF("median"), RBF("std"), Laplacian("median"), Laplacian("std")])
@pytest.mark.parametrize(
    ("unit", "message"), [(1e200, "squares overflow. Divide"), (1e-200, "squares vanish. Multiply")]
)
def test_rules_for_bandwidths_say_what_to_do_about_extreme_units(rule, unit, message, rng):
    with pytest.raises(ValueError, match=message):
        bag_statistics(Bags.from_list(list(unit * rng.normal(size=(3, 4, 2)))), rule)


@kernels
@given(arrays=ragged(), others=ragged())
def test_cross_statistics_agree_with_the_oracle(kernel, oracle, arrays, others):
    dim = min(arrays[0].shape[1], others[0].shape[1])
    arrays, others = [a[:, :dim] for a in arrays], [a[:, :dim] for a in others]
    found = cross_statistics(Bags.from_list(arrays), Bags.from_list(others), kernel)
    close(found, naive.gram(oracle, arrays, others), scale_of(oracle, arrays + others))


def test_rows_of_every_length_meet_panels_of_every_alignment():
    """Bags of 1 to 70 points: all paddings of rows, all positions of columns in a panel."""
    rng = np.random.default_rng(1)
    bags = Bags.from_list([rng.normal(size=(n, 3)) for n in range(1, 71)])
    K = RBF(1.3)(bags.data, bags.data)
    expected = np.add.reduceat(np.add.reduceat(K, bags.offsets[:-1], axis=0), bags.offsets[:-1], axis=1)
    found = bag_statistics(bags, RBF(1.3)).gram * np.outer(bags.sizes, bags.sizes)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_bags_longer_than_a_piece(monkeypatch, rng):
    bags = Bags.from_list([rng.normal(size=(n, 2)) for n in (50, 7, 33)])
    expected = bag_statistics(bags, RBF(1.0)).gram
    monkeypatch.setattr(sums, "PIECE", 8)
    np.testing.assert_allclose(bag_statistics(bags, RBF(1.0)).gram, expected, rtol=1e-14)


def test_pieces_of_many_coordinates_are_short():
    """A task is at least a pair of pieces; it must end within some tenths of a second, so that Ctrl-C is heard."""
    for dim in (1, 30, 784, 5000, 10**6):
        length = sums.longest_piece(dim)
        assert length**2 * dim <= 2**32
        assert length == sums.PIECE or (2 * length) ** 2 * (dim + sums.FEW_DIMENSIONS) > 2**32


def test_the_gram_matrix_of_means_in_strips(monkeypatch, rng):
    means = rng.normal(size=(57, 6))
    monkeypatch.setattr(vectors, "_STRIP", 57 * 6 * 10)
    gram = vectors.inner_products(means)
    np.testing.assert_allclose(gram, means @ means.T, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(gram, gram.T)
    order = rng.permutation(57)
    np.testing.assert_array_equal(vectors.inner_products(means[order]), gram[np.ix_(order, order)])


@kernels
def test_threads_blocks_and_order_change_no_bit(kernel, oracle, rng, monkeypatch):
    monkeypatch.setattr(sums, "PIECE", 16)
    bags = Bags.from_list([rng.normal(size=(n, 3)) for n in rng.integers(1, 60, 25)])
    expected = bag_statistics(bags, kernel, n_threads=1)
    # A function of blocks need not give the same bits for blocks of other shapes; ours does, row by row.
    for n_threads in (1, 2):
        for block_size in (1, 500, 10**9):
            found = bag_statistics(bags, kernel, n_threads=n_threads, block_size=block_size)
            np.testing.assert_array_equal(found.gram, expected.gram)
            np.testing.assert_array_equal(found.mmd2(unbiased=False), expected.mmd2(unbiased=False))
    order = rng.permutation(len(bags))
    found = bag_statistics(bags[order], kernel)
    np.testing.assert_array_equal(found.gram, expected.gram[np.ix_(order, order)])
    np.testing.assert_array_equal(found.scatter, expected.scatter[order])
    np.testing.assert_array_equal(found.labels, expected.labels[order])
    monkeypatch.setattr(threads, "_CHUNK", 40)  # runs of 13 points; bags are cut
    assert len(threads.chunks(len(bags.data), bags.dim)) > len(bags)
    np.testing.assert_array_equal(bags[order].data, np.concatenate([bags[i] for i in order]))
    found = bag_statistics(bags[order], kernel)
    np.testing.assert_array_equal(found.gram, expected.gram[np.ix_(order, order)])
    np.testing.assert_array_equal(found.scatter, expected.scatter[order])


@given(arrays=ragged(), shift=st.floats(-3, 3), factor=st.floats(0.1, 5))
def test_translation_and_scaling(arrays, shift, factor):
    bags, moved = Bags.from_list(arrays), Bags.from_list([a + shift for a in arrays])
    scaled = Bags.from_list([factor * a for a in arrays])
    close(bag_statistics(moved, RBF(1.0)).gram, bag_statistics(bags, RBF(1.0)).gram)
    close(bag_statistics(scaled, RBF(factor)).gram, bag_statistics(bags, RBF(1.0)).gram, 10)
    distances = bag_statistics(bags).mmd2(unbiased=False)
    np.testing.assert_allclose(bag_statistics(moved).mmd2(unbiased=False), distances, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(
        bag_statistics(scaled).mmd2(unbiased=False), factor**2 * distances, rtol=1e-9, atol=1e-11
    )


@given(arrays=ragged(min_size=2))
def test_merging_two_bags_averages_their_rows(arrays):
    if len(arrays) < 2:
        return
    merged = [np.vstack(arrays[:2]), *arrays[2:]]
    before = bag_statistics(Bags.from_list(arrays), RBF(1.0))
    after = bag_statistics(Bags.from_list(merged), RBF(1.0))
    share = before.sizes[:2] / before.sizes[:2].sum()
    close(after.gram[0, 0], share @ before.gram[:2, :2] @ share)
    close(after.gram[0, 1:], share @ before.gram[:2, 2:])


def test_one_bag_and_one_point():
    s = bag_statistics(Bags.from_list([[2.0]]), RBF(1.0))
    assert s.gram.tolist() == [[1.0]]
    with pytest.raises(
        ValueError, match=r"bag 0 \(index 0\) has 1 row .* variance needs at least 2.*drop_small\(2\)"
    ):
        _ = s.naive_mse
    with pytest.raises(ValueError, match="variance needs at least 2"):
        s.mmd2()
    assert s.mmd2(unbiased=False).tolist() == [[0.0]]
    assert "1 bags" in s.summary()
    assert list(s.to_frame().columns) == ["size", "diagonal", "squared_norm"]


def test_float32_points_are_summed_in_float64(rng):
    points = rng.normal(size=(40, 3)).astype(np.float32)
    offsets = [0, 10, 40]
    for kernel in (Linear(), RBF(1.0), Polynomial()):
        small = bag_statistics(Bags.from_offsets(points, offsets), kernel)
        large = bag_statistics(Bags.from_offsets(points.astype(np.float64), offsets), kernel)
        np.testing.assert_array_equal(small.gram, large.gram)


def mp_gram(bags, width):
    """Sums of the RBF kernel with 40 digits."""
    with mpmath.workdps(40):
        rows = [[[mpmath.mpf(float(v)) for v in x] for x in bag] for bag in bags]

        def mean(a, b):
            values = (
                mpmath.exp(
                    -mpmath.fsum((u - v) ** 2 for u, v in zip(x, y, strict=True))
                    / (2 * mpmath.mpf(width) ** 2)
                )
                for x in a
                for y in b
            )
            return mpmath.fsum(values) / (len(a) * len(b))

        return np.array([[float(mean(a, b)) for b in rows] for a in rows])


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("far", [0.0, 1e6])
def test_rbf_is_accurate_far_from_the_origin(offset, far, rng):
    """A common offset, and two clusters far apart: 1e-10 relative to a reference with 40 digits."""
    arrays = [rng.normal(size=(6, 12)) + offset + far * (i % 2) for i in range(4)]
    bags = Bags.from_list(arrays)
    expected = mp_gram(bags, 3.0)
    np.testing.assert_allclose(bag_statistics(bags, RBF(3.0)).gram, expected, rtol=1e-10, atol=0)


def test_linear_distances_are_accurate_far_from_the_origin(rng):
    arrays = [rng.normal(size=(6, 5)) + 1e6 for _ in range(4)]
    with mpmath.workdps(40):
        exact = [[[mpmath.mpf(float(v)) for v in x] for x in bag] for bag in arrays]
        means = [[mpmath.fsum(c) / len(bag) for c in zip(*bag, strict=True)] for bag in exact]
        mse = [
            mpmath.fsum((v - m) ** 2 for x in bag for v, m in zip(x, mean, strict=True))
            / (len(bag) * (len(bag) - 1))
            for bag, mean in zip(exact, means, strict=True)
        ]
        U = [
            [
                float(mpmath.fsum((a - b) ** 2 for a, b in zip(p, q, strict=True)) - mse[i] - mse[j])
                for j, q in enumerate(means)
            ]
            for i, p in enumerate(means)
        ]
    s = bag_statistics(Bags.from_list(arrays))
    np.testing.assert_allclose(s.naive_mse, [float(v) for v in mse], rtol=1e-10)
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(s.mmd2()[off], np.array(U)[off], rtol=1e-10)
    np.testing.assert_allclose(s.means, [[float(v) for v in m] for m in means], rtol=1e-15)


@pytest.mark.parametrize("far", [1e6, 1e8, 1e12])
def test_a_far_bag_or_point_costs_the_others_nothing(far, rng):
    arrays = [rng.normal(size=(10, 5)) for _ in range(20)]
    expected = bag_statistics(Bags.from_list(arrays))
    with_bag = bag_statistics(Bags.from_list([*arrays, arrays[0] + far]))
    np.testing.assert_allclose(with_bag.mmd2()[:20, :20], expected.mmd2(), rtol=1e-12, atol=1e-14)
    arrays[0][0, 0] = far
    with_point = bag_statistics(Bags.from_list(arrays))
    np.testing.assert_allclose(with_point.means[1:], expected.means[1:], rtol=0, atol=1e-15)
    np.testing.assert_allclose(with_point.mmd2()[1:, 1:], expected.mmd2()[1:, 1:], rtol=1e-12, atol=1e-14)


def test_means_at_both_ends_of_the_numbers():
    assert Bags.from_list([[1.7e308], [-1.7e308]]).means().tolist() == [[1.7e308], [-1.7e308]]


def test_distances_among_far_bags_come_from_differences(rng, monkeypatch):
    """Two clusters 2^30 apart: coordinates on a grid, so that the means of both are the same to the last bit."""
    arrays = [np.round(rng.normal(size=(8, 3)) * 2**10) / 2**10 for _ in range(6)]
    expected = bag_statistics(Bags.from_list(arrays)).mmd2()
    both = Bags.from_list([*arrays, *(a + 2.0**30 for a in arrays)])
    s = bag_statistics(both)
    np.testing.assert_allclose(s.mmd2()[6:, 6:], expected, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(s.mmd2()[:6, :6], expected, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(s.mmd2()[:6, 6:], 3 * 2.0**60, rtol=1e-6)
    order = rng.permutation(12)
    monkeypatch.setattr(vectors, "_DISTANCES_AT_ONCE", 5)
    np.testing.assert_array_equal(bag_statistics(both[order]).mmd2(), s.mmd2()[np.ix_(order, order)])


GIVEN = {name: kernel for name, (kernel, _) in KERNELS.items() if name != "rbf narrow"}


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("kernel", GIVEN.values(), ids=GIVEN.keys())
def test_the_gram_matrix_of_the_points_is_never_built(kernel, rng):
    """20,000 points would need 3.2 GB; the statistics need a few copies of the points, and of a block of values."""
    bags = Bags.from_offsets(rng.normal(size=(20_000, 2)), np.arange(0, 20_001, 400))
    bag_statistics(bags[:2], kernel)  # compile
    tracemalloc.start()
    bag_statistics(bags, kernel, n_threads=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    block = 4 * 8 * MATRIX_BLOCK if isinstance(kernel, Precomputed) else 0
    assert peak < 15 * bags.data.nbytes + block


def test_precomputed_matrices_follow_the_rows(rng):
    X, groups = rng.normal(size=(30, 3)), rng.integers(0, 4, 30)
    K = RBF(1.0)(X, X)
    bags = Bags.from_groups(X, groups)
    expected = bag_statistics(bags, RBF(1.0)).gram
    close(bag_statistics(bags, Precomputed(K)).gram, expected)
    part = bags.subsample(2, rng=0)
    close(bag_statistics(part, Precomputed(K)).gram, bag_statistics(part, RBF(1.0)).gram)
    first, second = bags.split(0.5, rng=0)
    close(cross_statistics(first, second, Precomputed(K)), cross_statistics(first, second, RBF(1.0)))
    np.testing.assert_array_equal(bag_statistics(bags, Precomputed(K.astype(np.float32))).sizes, bags.sizes)


def test_rows_survive_cutting_joining_and_files(rng, tmp_path):
    """A precomputed matrix is looked up by row, wherever the points have been meanwhile."""
    X, groups = rng.normal(size=(30, 3)), rng.integers(0, 4, 30)
    K = Precomputed(RBF(1.0)(X, X))
    bags = Bags.from_groups(X, groups)
    expected = bag_statistics(bags, RBF(1.0)).gram
    joined = Bags.concat([bags[:2], bags[2:]])
    np.testing.assert_array_equal(joined.rows, bags.rows)
    close(bag_statistics(joined, K).gram, expected)
    bags.save(tmp_path / "bags.npz")
    close(bag_statistics(Bags.read(tmp_path / "bags.npz"), K).gram, expected)
    strangers = Bags.concat([Bags.from_list([[1.0, 2.0]]), Bags.from_list([[3.0]], labels=["other"])])
    assert strangers.rows.tolist() == [0, 1, 2]
    for bad in (np.arange(29), np.arange(30) / 2, np.arange(30) - 1):
        with pytest.raises(ValueError, match="rows must be 30 positions, one a point"):
            Bags.from_arrays(bags.to_arrays() | {"rows": bad})


def test_bad_precomputed_kernels_are_refused(rng):
    bags = Bags.from_list([[1.0, 2.0], [3.0]])
    other = Bags.from_list([[1.0]])
    with pytest.raises(ValueError, match="two-dimensional array of real numbers"):
        Precomputed(np.ones(3))
    with pytest.raises(ValueError, match=r"shape \(2, 2\), but the bags need at least \(3, 3\)"):
        bag_statistics(bags, Precomputed(np.eye(2)))
    with pytest.raises(ValueError, match="one row and one column a point"):
        bag_statistics(bags, Precomputed(np.ones((3, 4))))
    with pytest.raises(ValueError, match="not symmetric"):
        bag_statistics(bags, Precomputed(np.triu(np.ones((3, 3)))))
    with pytest.raises(ValueError, match="NaN or infinite"):
        bag_statistics(bags, Precomputed(np.full((3, 3), np.nan)))
    with pytest.raises(ValueError, match="returned shape"):
        bag_statistics(bags, Precomputed(lambda X, Y: np.ones((1, 1))))
    with pytest.raises(ValueError, match="need at least"):
        cross_statistics(bags, other, Precomputed(np.ones((2, 1))))
    with pytest.raises(TypeError, match="cannot be evaluated at new points"):
        Precomputed(np.eye(2))(np.ones((1, 1)), np.ones((1, 1)))


@pytest.mark.filterwarnings("ignore:overflow")  # of plain Python; compiled code is silent
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_polynomials_that_overflow_are_refused(dtype):
    bags = Bags.from_list([[1e100, 2e100], [3e100, 1.0]])
    assert np.isfinite(bag_statistics(bags, Polynomial(1), dtype=dtype).naive_mse).all()
    for work in (
        lambda: bag_statistics(bags, Polynomial(3), dtype=dtype),
        lambda: cross_statistics(bags, bags, Polynomial(3), dtype=dtype),
        lambda: bag_statistics(Bags.from_list([[1e160], [1.0]]), Polynomial(1), dtype=dtype),
    ):
        with pytest.raises(
            ValueError, match=r"values of Polynomial\(degree=.* overflow .* Divide the points"
        ):
            work()


def test_bad_arguments_are_refused():
    bags = Bags.from_list([[1.0, 2.0], [3.0]])
    with pytest.raises(ValueError, match="the bags have 1 columns, the others 2"):
        cross_statistics(bags, Bags.from_list([[[1.0, 2.0]]]))
    for size in (0, 2.5, "many"):
        with pytest.raises(ValueError, match="block_size must be an integer of at least 1, found"):
            bag_statistics(bags, RBF(1.0), block_size=size)
    arrays = [[1.0, 2.0], [3.0]]
    for work in (
        lambda: bag_statistics(arrays),
        lambda: cross_statistics(arrays, bags),
        lambda: cross_statistics(bags, arrays),
        lambda: neighbor_averages(arrays, 1.0),
    ):
        with pytest.raises(TypeError, match=r"expected Bags.*, found list\. Make .* with Bags\.from_list"):
            work()
    with pytest.raises(ValueError, match="kernel must be a kernel object or one of"):
        bag_statistics(bags, "cubic")
    with pytest.raises(TypeError, match="no compiled sums"):
        bag_statistics(bags, stbmta.kernels.Kernel())


def test_summary_and_frame(rng):
    s = bag_statistics(Bags.from_list([rng.normal(size=(4, 2)) for _ in range(3)], labels=["a", "b", "c"]))
    assert "average squared MMD" in s.summary()
    frame = s.to_frame()
    assert frame.index.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(frame["naive_mse"], s.naive_mse)
    assert repr(s) == "BagStatistics(3 bags, 12 points, Linear())"
