"""The estimators beyond the paper: scikit-learn's own checks, and what they report."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from stbmta import (
    MTA,
    RBF,
    Adaptive,
    Bags,
    ClusteredMTA,
    ConvexAggregation,
    Precomputed,
    SpectralKMSE,
    SpectralShrinkage,
    WaterFilling,
    bag_statistics,
    threads,
    unequal,
)
from stbmta.aggregation import aggregation, noise_dimension
from stbmta.spectral import denoised_distances, spectral
from stbmta.unequal import water_filling

from . import slow

ESTIMATORS = [
    Adaptive(),
    ClusteredMTA(),
    ConvexAggregation(),
    MTA(similarity="minimax"),
    SpectralKMSE(),
    SpectralShrinkage(),
    WaterFilling(),
    WaterFilling(geometry="spectral"),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def bags(rng):
    return Bags.from_list([rng.normal(size=(n, 3)) + 0.5 * n for n in (4, 6, 9, 5, 12)])


def test_fitted_attributes_are_those_of_the_weights(bags):
    s = bag_statistics(bags)
    d = noise_dimension(bags)
    est = ConvexAggregation(kappa=0.5, ridge=2.0).fit(bags)
    np.testing.assert_array_equal(est.weights_, aggregation(s, 0.5, 2.0, dimension=d))
    assert est.dimension_ == d
    np.testing.assert_array_equal(WaterFilling(scale=0.5).fit(bags).weights_, water_filling(s, 0.5))
    np.testing.assert_allclose(
        WaterFilling(scale=1.0, geometry="spectral").fit(bags).weights_,
        water_filling(s, squared_distances=denoised_distances(s, spectral(s, dimension=d))),
    )
    for rank in (0, 2):
        np.testing.assert_allclose(SpectralShrinkage(rank=rank).fit(bags).weights_, spectral(s, rank))
    np.testing.assert_allclose(SpectralShrinkage(rank="optimal").fit(bags).weights_, spectral(s, dimension=d))
    known = SpectralShrinkage(variance=1.5).fit(bags)
    np.testing.assert_allclose(known.weights_, spectral(s, mse=3 * 1.5 / s.sizes))
    assert known.stacking_ is None


def test_choices_are_the_best_of_their_scores(bags):
    est = WaterFilling(random_state=0).fit(bags)
    assert est.stacking_.names[int(est.stacking_.weights.argmax())] == f"scale {est.scale_:g}"
    est = SpectralShrinkage(random_state=0).fit(bags)
    assert est.stacking_.weights.sum() == 1
    apart = [bag + 100.0 * i for i, bag in enumerate(bags)]
    est = WaterFilling(random_state=0).fit(apart)
    assert est.scale_ == np.inf
    np.testing.assert_array_equal(est.weights_, np.eye(5))


def test_water_filling_takes_the_threads_it_is_given(bags, monkeypatch):
    found = []
    monkeypatch.setattr(
        unequal, "run", lambda jobs, n_threads: found.append(n_threads) or threads.run(jobs, n_threads)
    )
    for scale in (1.0, None):
        WaterFilling(scale=scale, n_threads=1, random_state=0).fit(bags)
    assert set(found) == {1}


@pytest.mark.parametrize("dim", [20, 100])
@pytest.mark.parametrize("variance", [None, 1.0])
@pytest.mark.parametrize("estimator", [SpectralShrinkage(), WaterFilling(geometry="spectral")], ids=repr)
def test_a_common_offset_does_no_harm(rng, estimator, variance, dim):
    means = np.repeat(3 * rng.normal(size=(5, dim)), 8, axis=0)
    points = means[:, None] + rng.normal(size=(40, 10, dim))
    naive = ((points.mean(axis=1) - means) ** 2).sum()

    def gain(offset):
        est = clone(estimator).set_params(variance=variance, random_state=0).fit(list(points + offset))
        return 1 - ((est.means_ - offset - means) ** 2).sum() / naive

    expected = gain(1e4)  # a direction of its own, unlike no offset
    assert expected > 0.6
    for offset in (1e7, 1e8, 1e10):
        assert gain(offset) == pytest.approx(expected, abs=0.01)


def test_spectral_shrinkage_leaves_means_of_full_rank_alone(rng):
    bags = [rng.normal(size=(4, 60)) + 3 * rng.normal(size=60) for _ in range(60)]
    est = SpectralShrinkage(random_state=0).fit(bags)
    assert est.stacking_.shares() == {"naive": 1.0}
    np.testing.assert_array_equal(est.weights_, np.eye(60))
    np.testing.assert_array_equal(est.kept_, np.ones(60))


def test_spectral_shrinkage_of_one_mean_by_itself(bags):
    est = SpectralKMSE(penalty=0.1).fit(bags)
    for i, bag in enumerate(bags):
        np.testing.assert_allclose(est.means_[i], slow.spectral_mean(bag, 0.1), rtol=1e-8)
    np.testing.assert_allclose(est.gram_, est.means_ @ est.means_.T, rtol=1e-9)
    matrix = Precomputed(bags.data @ bags.data.T)
    np.testing.assert_allclose(SpectralKMSE(matrix, penalty=0.1).fit(bags).gram_, est.gram_, rtol=1e-9)
    assert SpectralKMSE(RBF(1.0), random_state=0).fit([np.ones((1, 2))] * 2).penalty_ == 0.0


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_a_kernel_matrix_is_as_good_as_its_kernel(estimator, bags):
    matrix = Precomputed(RBF(2.0)(bags.data, bags.data))
    part = bags.select([3, 1, 4, 0])  # points keep their rows of the matrix
    seed = {"random_state": 0} if "random_state" in estimator.get_params() else {}
    found, expected = (
        clone(estimator).set_params(kernel=kernel, **seed).fit(part) for kernel in (matrix, RBF(2.0))
    )
    np.testing.assert_allclose(found.gram_, expected.gram_, rtol=5e-3)  # aggregation stops early


def test_bad_parameters(bags):
    with pytest.raises(ValueError, match="geometry must be 'naive' or 'spectral'"):
        WaterFilling(geometry="flat").fit(bags)
    with pytest.raises(ValueError, match="rank must be a number of components"):
        SpectralShrinkage(rank="many").fit(bags)
    for estimator in (Adaptive, WaterFilling, SpectralShrinkage, SpectralKMSE):
        for n_folds in (1, 2.5):
            with pytest.raises(
                ValueError, match=f"n_folds must be an integer of at least 2, found {n_folds}"
            ):
                estimator(n_folds=n_folds).fit(bags)
