"""Estimators: scikit-learn's own checks, and what they add to the weights."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from stbmta import (
    MTA,
    RBF,
    RKMSE,
    STB,
    Bags,
    JamesStein,
    KernelMeans,
    NaiveMean,
    Precomputed,
    SpectralKMSE,
    bag_statistics,
    gaussian_neighbors,
    neighbors,
    threads,
    weights,
)

ESTIMATORS = [
    NaiveMean(),
    RKMSE(),
    STB(),
    STB(zeta=1.0, gamma="theory"),
    STB(zeta=1.0, gamma=0.2, split=0.5, random_state=0),
    STB(zeta=1.0, gamma=0.2, split=0.5, cross_fit=True, random_state=0),
    MTA(),
    MTA(similarity="stb", random_state=0),
    JamesStein(),
    JamesStein("mean"),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_every_way_in_gives_the_same_estimate(table):
    X, groups = table
    bags = Bags.from_groups(X, groups)
    est = STB(zeta=1.0, gamma=0.1)
    expected = est.fit(bags).means_
    np.testing.assert_array_equal(est.fit(X, groups=groups).means_, expected)
    np.testing.assert_array_equal(est.fit(list(bags)).means_, expected)
    np.testing.assert_array_equal(est.fit(pd.DataFrame(X), groups=pd.Series(groups)).means_, expected)
    np.testing.assert_allclose(expected, est.weights_ @ bags.means(), rtol=1e-14)
    with pytest.raises(ValueError, match="these are bags already"):
        est.fit(bags, groups=groups)


def test_fitted_attributes_are_those_of_the_steps(table):
    bags = Bags.from_groups(*table)
    s = bag_statistics(bags)
    N = neighbors(s, 0.8)
    np.testing.assert_array_equal(STB(zeta=0.8, gamma=0.3).fit(bags).weights_, weights.stb(N, 0.3))
    theory = STB(zeta=0.8, gamma="theory", c=0.5).fit(bags)
    np.testing.assert_array_equal(theory.weights_, weights.stb_theory(N, 0.8, 0.5))
    assert theory.gamma_.shape == (4,)
    np.testing.assert_array_equal(theory.neighbors_, N)
    np.testing.assert_array_equal(RKMSE().fit(bags).weights_, weights.rkmse(s))
    np.testing.assert_array_equal(MTA(gamma=0.5).fit(bags).weights_, weights.mta_constant(s, 0.5))
    printed = MTA(gamma=0.5, constant="mean").fit(bags).weights_
    np.testing.assert_array_equal(printed, weights.mta_constant(s, 0.5, constant="mean"))
    stb = MTA(similarity="stb", zeta=0.8, gamma=2.0).fit(bags)
    np.testing.assert_array_equal(stb.weights_, weights.mta_stb(s, N, 2.0))
    assert stb.labels_.tolist() == bags.labels.tolist()
    assert STB(zeta=0.8, gamma=0.3).fit(bags).tuning_ is None


def test_known_variance(table):
    bags = Bags.from_groups(*table)
    s = bag_statistics(bags)
    N = gaussian_neighbors(s, 2.5, 1.2)
    est = STB(zeta=2.5, gamma=0.0, variance=1.2).fit(bags)
    np.testing.assert_array_equal(est.weights_, weights.stb(N))
    mse = 3 * 1.2 / bags.sizes
    np.testing.assert_array_equal(MTA(variance=1.2).fit(bags).weights_, weights.mta_constant(s, mse=mse))
    both = MTA(similarity="stb", zeta=2.5, gamma=1.0, variance=1.2).fit(bags)
    np.testing.assert_array_equal(both.weights_, weights.mta_stb(s, N, 1.0, mse=mse))
    np.testing.assert_allclose(est.to_frame()["naive_error"], mse)
    singles = Bags.from_list([[[0.0, 1.0, 2.0]], [[0.1, 1.0, 2.0]]])
    assert STB(zeta=2.9, gamma=0.0, variance=1.0).fit(singles).neighbors_.all()
    assert MTA(similarity="stb", variance=1.0, random_state=0).fit(bags).gamma_ > 0


def test_split_uses_one_part_for_tests_and_the_other_for_estimates(table):
    bags = Bags.from_groups(*table)
    est = STB(zeta=1.0, gamma=0.2, split=0.5, random_state=3).fit(bags)
    first, second = bags.split(0.5, np.random.default_rng(3))
    N = neighbors(bag_statistics(first), 1.0)
    np.testing.assert_array_equal(est.neighbors_, N)
    np.testing.assert_allclose(est.means_, weights.stb(N, 0.2) @ second.means(), rtol=1e-13)
    both = STB(zeta=1.0, gamma=0.2, split=0.5, cross_fit=True, random_state=3).fit(bags)
    swapped = weights.stb(neighbors(bag_statistics(second), 1.0), 0.2) @ first.means()
    np.testing.assert_allclose(both.means_, (est.means_ + swapped) / 2, rtol=1e-13)
    np.testing.assert_allclose(np.diag(both.gram_), (both.means_**2).sum(axis=1), rtol=1e-12)
    assert both.weights_.shape == (4, 8)
    with pytest.raises(ValueError, match=r"give split=0\.5"):
        STB(cross_fit=True).fit(bags)


@pytest.mark.parametrize("options", [{}, {"split": 0.5}, {"split": 0.5, "cross_fit": True}])
def test_a_kernel_matrix_gives_what_its_kernel_gives(table, options):
    X, groups = table
    matrix, kernel = (
        STB(k, zeta=1.0, gamma=0.1, random_state=0, **options).fit(X, groups=groups)
        for k in (Precomputed(RBF(1.0)(X, X)), RBF(1.0))
    )
    np.testing.assert_allclose(matrix.gram_, kernel.gram_, rtol=1e-12)
    bags = Bags.from_groups(X, groups)
    assert matrix.score(bags) == pytest.approx(kernel.score(bags), rel=1e-12)


def test_a_kernel_matrix_is_not_used_for_other_points(table):
    X, groups = table
    K = Precomputed(RBF(1.0)(X, X))
    bags = Bags.from_groups(X, groups)
    half, rest = bags.split(0.5, rng=0)
    est = NaiveMean(K).fit(half)
    assert est.score(rest) == pytest.approx(NaiveMean(RBF(1.0)).fit(half).score(rest), rel=1e-12)
    with pytest.raises(TypeError, match="cannot be evaluated at new points"):
        est.embedding_.evaluate(X[:1])
    with pytest.raises(ValueError, match="these points are not rows of the data that were fitted"):
        est.score(X + 1, groups=groups)
    for method in (NaiveMean(K), STB(K, zeta=1.0, gamma=0.0)):
        with pytest.raises(
            ValueError, match=r"the kernel matrix has shape \(27, 27\), but the data has 20 rows"
        ):
            method.fit(X[:20], groups=groups[:20])


SAVED = {
    "cross-fitted": STB(zeta=1.0, gamma=0.1, split=0.5, cross_fit=True, random_state=0),
    "toward a vector": JamesStein([0.5, -0.5, 1.0]),
}


@pytest.mark.parametrize("method", SAVED)
def test_every_estimate_can_be_saved(method, table, tmp_path):
    est = SAVED[method].fit(Bags.from_groups(*table))
    est.embedding_.save(tmp_path / "means.npz")
    again = KernelMeans.load(tmp_path / "means.npz")
    np.testing.assert_array_equal(again.gram, est.gram_)
    assert again.labels.tolist() == est.labels_.tolist()


@pytest.mark.parametrize("options", [{"gamma": "theory"}, {}, {"cross_fit": True}], ids=str)
def test_a_split_keeps_the_choice_away_from_the_estimates(rng, options):
    """Change only the points that are averaged: neither the threshold nor the tests may notice."""
    bags = Bags.from_list([rng.normal(size=(12, 5)) + i % 2 for i in range(12)])
    est = STB(split=0.5, random_state=0, **options).fit(bags)
    _, second = bags.split(0.5, np.random.default_rng(0))
    data = bags.data.copy()
    data[second.rows] += 3 * rng.normal(size=second.data.shape)
    other = STB(split=0.5, random_state=0, **options).fit(Bags.from_offsets(data, bags.offsets))
    assert other.zeta_ == est.zeta_
    np.testing.assert_array_equal(other.gamma_, est.gamma_)
    np.testing.assert_array_equal(other.neighbors_, est.neighbors_)


def test_small_bags_are_named_with_the_size_that_helps(rng):
    bags = Bags.from_list([rng.normal(size=(n, 2)) for n in (2, 9, 16)], labels=["u", "v", "w"])
    with pytest.raises(ValueError, match=r"'u' .* has 2 rows .* needs at least 3\. .*drop_small\(3\)"):
        STB(zeta=1.0, gamma=0.0, split=0.5).fit(bags)
    STB(zeta=1.0, gamma=0.0, split=0.5).fit(bags.drop_small(3))
    with pytest.raises(ValueError, match=r"'u' .* has 2 rows .*drop_small\(16\)"):
        STB(zeta=1.0, gamma=0.0, split=0.9, cross_fit=True).fit(bags)
    STB(zeta=1.0, gamma=0.0, split=0.9, cross_fit=True).fit(bags.drop_small(16))
    assert STB(zeta=2.5, gamma=0.0, split=0.5, variance=1.0).fit(bags).weights_.shape == (3, 3)
    four = Bags.from_list([rng.normal(size=(4, 2)) for _ in range(3)])
    with pytest.raises(ValueError, match="for the tests have 2 rows at most; .* folds needs 3 in one bag"):
        STB(split=0.5).fit(four)
    assert STB(zeta=1.0, gamma=0.0, split=0.5).fit(four).zeta_ == 1.0


def test_mta_takes_small_bags_and_bags_without_spread(rng):
    arrays = [rng.normal(size=(n, 2)) for n in (2, 9, 12)]
    assert MTA(similarity="stb", random_state=0).fit(arrays).gamma_ > 0
    one = MTA(similarity="stb", variance=1.0, random_state=0).fit([arrays[0][:1], *arrays[1:]])
    assert one.gamma_ > 0
    still = MTA(similarity="stb", random_state=0).fit([np.ones((3, 2)), np.zeros((4, 2))])
    assert still.gamma_ == 0
    np.testing.assert_array_equal(still.weights_, np.eye(2))


def test_kernel_estimates(table):
    bags = Bags.from_groups(*table)
    est = STB(RBF(1.0), zeta=1.0, gamma=0.1).fit(bags)
    with pytest.raises(AttributeError, match="see embedding_ and gram_"):
        _ = est.means_
    assert not hasattr(est, "means_")
    expected = KernelMeans(bags, RBF(1.0), est.weights_)
    np.testing.assert_allclose(est.gram_, expected.gram, rtol=1e-13)
    np.testing.assert_allclose(
        est.embedding_.evaluate([[0, 0, 0]]), expected.evaluate([[0, 0, 0]]), rtol=1e-13
    )
    est.set_params(kernel="rbf").fit(bags)
    assert est.kernel_.bandwidth == RBF("median").resolve(bags).bandwidth
    assert est.gram_.shape == (4, 4)


def test_refitting_forgets_the_old_estimate(table):
    bags = Bags.from_groups(*table)
    est = NaiveMean().fit(bags)
    old = est.means_
    assert not np.allclose(est.fit(bags[[1, 0, 2, 3]]).means_, old)


def test_mta_forgets_the_tests_of_an_earlier_fit(table):
    X, groups = table
    est = MTA(similarity="stb", zeta=1.0, gamma=1.0).fit(X, groups=groups)
    assert est.neighbors_.any()
    est.set_params(similarity="constant").fit(X, groups=groups)
    assert not hasattr(est, "neighbors_")
    assert not hasattr(est, "zeta_")
    assert "zeta" not in est.summary().as_text()


@pytest.mark.parametrize("kernel", ["linear", RBF(1.0)])
def test_everything_after_a_fit_runs_on_its_threads(table, kernel, monkeypatch):
    def given(n_threads=None):
        if n_threads is None:
            raise AssertionError("threads of its own choice")
        return n_threads

    X, groups = table
    for estimator in (STB(kernel, random_state=0), SpectralKMSE(kernel, random_state=0)):
        with monkeypatch.context() as patch:
            patch.setattr(threads, "get_num_threads", given)
            est = estimator.set_params(n_threads=1).fit(X, groups=groups)
            est.score(X, groups=groups)
            if kernel != "linear":  # inner products of means are a matter of BLAS
                assert est.gram_.shape == (4, 4)
            est.embedding_.evaluate(X[:2])
            with pytest.raises(AssertionError, match="its own choice"):
                estimator.set_params(n_threads=None).fit(X, groups=groups)


def test_james_stein_toward_a_vector_is_linear_with_one_more_column(table):
    bags = Bags.from_groups(*table)
    nu = np.array([0.5, -0.5, 1.0])
    est = JamesStein(nu).fit(bags)
    W = weights.james_stein(bag_statistics(bags), target=nu)
    np.testing.assert_allclose(est.means_, nu + W @ (bags.means() - nu), rtol=1e-12)
    assert est.weights_.shape == (4, 5)
    np.testing.assert_allclose(est.gram_, est.means_ @ est.means_.T, rtol=1e-12)


def test_transform_gives_each_row_the_estimate_of_its_bag(table):
    X, groups = table
    est = STB(zeta=1.0, gamma=0.1).fit(X, groups=groups)
    rows = est.transform(X, groups=groups)
    for label, mean in zip(est.labels_, est.means_, strict=True):
        np.testing.assert_array_equal(
            rows[groups == label], np.broadcast_to(mean, ((groups == label).sum(), 3))
        )
    bags = Bags.from_groups(X, groups)
    np.testing.assert_array_equal(est.transform(bags), np.repeat(est.means_, bags.sizes, axis=0))
    with pytest.raises(ValueError, match="4 bags were fitted; say which bag each row belongs to"):
        est.transform(X)
    with pytest.raises(ValueError, match="bag 'z' .* was not fitted"):
        est.transform(X[:1], groups=["z"])
    with pytest.raises(ValueError, match="X has 2 rows, but groups has 1 labels"):
        est.transform(X[:2], groups=["a"])
    with pytest.raises(ValueError, match="the bags have 2 columns, but 3 were fitted"):
        est.transform(Bags.from_list([np.ones((2, 2))], labels=["a"]))


def test_summary_and_frame(table):
    X, groups = table
    frame = pd.DataFrame(X, columns=["u", "v", "w"])
    est = STB(random_state=0).fit(frame, groups=groups)
    table_of_bags = est.to_frame()
    assert list(table_of_bags.columns) == [
        "size",
        "neighbors",
        "naive_error",
        "estimated_error",
        "u",
        "v",
        "w",
    ]
    assert table_of_bags.index.tolist() == est.labels_.tolist()
    np.testing.assert_array_equal(table_of_bags[["u", "v", "w"]], est.means_)
    text = est.summary().as_text()
    for word in (
        "STB",
        "Bag sizes:",
        "Avg. estimated:",
        "No. bags:",
        "zeta:",
        "Avg. neighbors:",
        "Avg. naive error:",
        "neighbors",
    ):
        assert word in text
    kernel = NaiveMean(RBF(1.0)).fit(Bags.from_list([[1.0]] * 20))
    assert list(kernel.to_frame().columns) == ["size"]
    assert "12 of 20 bags are shown" in kernel.summary().as_text()
    assert "estimated_error" not in kernel.summary().as_text()  # there is none to speak about
    theory = STB(zeta=1.0, gamma="theory").fit(frame, groups=groups)
    assert "(average)" in theory.summary().as_text()
    assert (
        "estimated_error"
        not in STB(zeta=1.0, gamma=0.0, split=0.5, random_state=0).fit(X, groups=groups).to_frame()
    )


def test_bad_parameters(table):
    bags = Bags.from_groups(*table)
    for name in ("gram_", "means_"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(STB(), name)
    with pytest.raises(ValueError, match="gamma must be a number, 'theory' or None, found array"):
        STB(zeta=1.0, gamma=np.full(4, 0.5)).fit(bags)
    with pytest.raises(ValueError, match="constant must be 'inverse'"):
        MTA(constant="other").fit(bags)
    with pytest.raises(ValueError, match="gamma must be a number, 'theory' or None"):
        STB(gamma="best").fit(bags)
    with pytest.raises(ValueError, match="similarity must be 'constant', 'minimax' or 'stb'"):
        MTA(similarity="other").fit(bags)
    with pytest.raises(ValueError, match="bag 'b' .* has 1 row .*drop_small"):
        STB(zeta=1.0).fit(Bags.from_list([[1.0, 2.0], [1.0]], labels=["a", "b"]))


ATTRIBUTES = """
import pkgutil, sys
import stbmta

inner = ("cli", "container", "estimator_base", "estimator_mta", "files", "inputs", "jit", "labels", "memory",
         "progress", "report", "sums", "blocks", "vectors", "_")
names = [m.name for m in pkgutil.iter_modules(stbmta.__path__[:1]) if not m.name.startswith(inner)]
assert len(names) > 30
late = {"aggregation", "calibration", "certificates", "comparators", "fission", "spectral", "stacking", "unequal"}
assert late <= set(names)
assert not [name for name in late | {"tuning", "risk", "grid"} if f"stbmta.{name}" in sys.modules]
print([name for name in names if not hasattr(stbmta, name)])
"""


def test_every_public_module_is_found_in_the_package():
    done = subprocess.run(
        [sys.executable, "-c", ATTRIBUTES], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout == "[]\n", done.stderr


def test_mta_chooses_by_split_noise_where_a_bag_is_a_single_point():
    rng = np.random.default_rng(0)
    means = 3 * rng.normal(size=(5, 50))[rng.integers(5, size=100)]
    for sizes in ([1] * 100, [1] * 99 + [20]):
        bags = Bags.from_list([m + rng.normal(size=(n, 50)) for m, n in zip(means, sizes, strict=True)])
        est = MTA(similarity="stb", variance=1.0, random_state=0).fit(bags)
        assert 1.9 < est.zeta_ < 4
        assert ((est.means_ - means) ** 2).sum() < 0.1 * ((bags.means() - means) ** 2).sum()
    # The strength is one of a grid: near the best where all are alike, and the least where nothing is.
    strengths = np.geomspace(0.02, 200.0, 17) * 20 / 50
    for spread, most in ((0.5, 1.05), (20.0, 1.0)):
        means = spread * rng.normal(size=(20, 50))
        bags = Bags.from_list([m + rng.normal(size=(1, 50)) for m in means])
        all_alike = MTA(similarity="stb", zeta=np.inf, variance=1.0, random_state=0)
        chosen, *others = (
            ((clone(all_alike).set_params(gamma=gamma).fit(bags).means_ - means) ** 2).sum()
            for gamma in (None, *strengths)
        )
        assert chosen <= most * min(others)


def test_mta_says_what_to_do_about_bags_that_are_too_small(rng):
    single, pair = (Bags.from_list(list(rng.normal(size=(5, n, 2)))) for n in (1, 2))
    for similarity in ("stb", "constant"):
        with pytest.raises(
            ValueError, match=r"1 row .*its variance needs at least 2.* give .* variance=\.\.\."
        ):
            MTA(similarity=similarity).fit(single)
    for options in ({}, {"zeta": 1.0}, {"gamma": 1.0}):
        with pytest.raises(
            ValueError, match=r"3 rows that choosing .* give zeta and gamma, or .* variance=\.\.\."
        ):
            MTA(similarity="stb", **options).fit(pair)
    assert MTA(similarity="stb", zeta=1.0, gamma=1.0).fit(pair).gamma_ == 1.0
