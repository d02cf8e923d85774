"""Estimated embeddings: values, inner products, distances, and files."""

import numpy as np
import pytest
import scipy.sparse

from stbmta import RBF, Bags, KernelMeans, Laplacian, Linear, Polynomial, Precomputed


@pytest.fixture
def arrays(rng):
    return [rng.normal(size=(n, 2)) for n in (3, 5, 2)]


@pytest.fixture
def W(rng):
    return rng.normal(size=(2, 3))


def test_everything_follows_from_kernel_values(arrays, W, rng):
    kernel = RBF(1.2)
    means = KernelMeans(Bags.from_list(arrays), kernel, W, labels=["p", "q"])
    points = rng.normal(size=(4, 2))
    coefficients = np.repeat(W / [3, 5, 2], [3, 5, 2], axis=1)  # of each point in each estimate
    X = np.vstack(arrays)
    np.testing.assert_allclose(
        means.evaluate(points), coefficients @ kernel(X, points), rtol=1e-12, atol=1e-14
    )
    gram = coefficients @ kernel(X, X) @ coefficients.T
    np.testing.assert_allclose(means.gram, gram, rtol=1e-12)
    np.testing.assert_array_equal(means.gram, means.gram.T)
    distance = gram[0, 0] + gram[1, 1] - 2 * gram[0, 1]
    np.testing.assert_allclose(means.mmd2(), [[0, distance], [distance, 0]], rtol=1e-11)
    np.testing.assert_allclose(
        means.witness(0, 1, points),
        (coefficients[0] - coefficients[1]) @ kernel(X, points),
        rtol=1e-11,
        atol=1e-14,
    )
    assert len(means) == 2
    assert repr(means) == "KernelMeans(2 means of 3 bags, RBF(bandwidth=1.2))"


def test_between_two_collections(arrays, W, rng):
    kernel = Laplacian(1.0)
    left = KernelMeans(Bags.from_list(arrays), kernel, W, labels=["p", "q"])
    right = KernelMeans(Bags.from_list([rng.normal(size=(4, 2))]), kernel)
    both = KernelMeans(
        Bags.from_list([*arrays, right.bags[0]]),
        kernel,
        scipy.sparse.block_diag([W, [[1.0]]], format="csr"),
        labels=[0, 1, 2],
    )
    np.testing.assert_allclose(left.inner(right), both.gram[:2, 2:], rtol=1e-12)
    np.testing.assert_allclose(left.mmd2(right), both.mmd2()[:2, 2:], rtol=1e-11)
    assert left.inner(left) is left.gram
    with pytest.raises(ValueError, match="different kernels"):
        left.inner(KernelMeans(right.bags, RBF(1.0)))


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.5), Laplacian(2.0), Polynomial(2, 0.5, 1.0)], ids=repr)
@pytest.mark.parametrize("sparse", [False, True])
def test_save_and_load(arrays, W, kernel, sparse, tmp_path):
    weights = scipy.sparse.csr_array(W) if sparse else W
    means = KernelMeans(Bags.from_list(arrays, labels=["a", "b", "c"]), kernel, weights, labels=["p", "q"])
    means.save(tmp_path / "m.npz")
    again = KernelMeans.load(tmp_path / "m.npz")
    assert again.kernel == kernel
    assert again.labels.tolist() == ["p", "q"]
    assert again.bags == means.bags
    assert scipy.sparse.issparse(again.weights) == sparse
    np.testing.assert_array_equal(again.gram, means.gram)


def test_refusals(arrays, W, tmp_path):
    bags = Bags.from_list(arrays)
    with pytest.raises(ValueError, match=r"weights have shape \(2, 3\); one row for each of 3 labels"):
        KernelMeans(bags, RBF(1.0), W)
    with pytest.raises(TypeError, match="precomputed kernel cannot be saved"):
        KernelMeans(bags, Precomputed(lambda X, Y: X @ Y.T)).save(tmp_path / "m.npz")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="weights must be finite"):
        KernelMeans(bags, RBF(1.0), [[1.0, 0.0, np.nan]], labels=["p"])
    bags.save(tmp_path / "bags.npz")
    (tmp_path / "broken.npz").write_bytes((tmp_path / "bags.npz").read_bytes()[:100])
    np.save(tmp_path / "array.npy", np.ones(3))
    for name in ("bags.npz", "broken.npz", "array.npy"):
        with pytest.raises(ValueError, match=rf"{name}' is no file that KernelMeans\.save wrote"):
            KernelMeans.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        KernelMeans.load(tmp_path / "nothing.npz")


def test_linear_distances_far_from_the_origin_lose_no_accuracy(rng):
    points = np.round(rng.normal(size=(3, 5, 4)) * 2**10) / 2**10  # a grid: adding the offset rounds nothing
    W = np.array([[0.5, 0.25, 0.25], [0, 1, 0], [0.125, 0.375, 0.5]])
    near, far = (KernelMeans(Bags.from_list(points + shift), "linear", W) for shift in (0.0, 1e8))
    gram = near.gram
    expected = np.diag(gram)[:, None] + np.diag(gram) - 2 * gram
    np.testing.assert_allclose(near.mmd2(), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(far.mmd2(), expected, rtol=1e-7, atol=1e-15)
    np.testing.assert_allclose(
        far.mmd2(KernelMeans(far.bags[:2], "linear")),
        near.mmd2(KernelMeans(near.bags[:2], "linear")),
        rtol=1e-7,
        atol=1e-15,
    )
