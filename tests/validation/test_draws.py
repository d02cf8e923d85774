"""What the checks draw has the law that they claim."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import chi2, kstest

from stbmta.theory import laws
from stbmta.validation.bounded_laws import LAWS, TwoPoint, off_diagonal, rademacher, u_statistics
from stbmta.validation.gaussian_runs import Setting, draw_naive, neighbors, sq_distances
from stbmta.validation.models import FAR, MODELS, draw_means
from stbmta.validation.wishart import compressed_noise

SETTING = {"n_bags": 12, "dim": 5000}


def test_compressed_noise_has_the_inner_products_of_noise():
    rng, dim, trials = np.random.default_rng(0), 40, 4000
    grams = np.empty((trials, 3, 3))
    for k in range(trials):
        e = compressed_noise(rng, 3, dim, spanned=1)
        grams[k] = e @ e.T
    for i in range(3):
        assert kstest(grams[:, i, i], chi2(dim).cdf).pvalue > 1e-3
    for i, j in ((0, 1), (0, 2), (1, 2)):

        def cdf(x):
            tail = np.exp(laws.inner_product_logsf(np.abs(x), float(dim)))
            return np.where(x > 0, 1 - tail, tail)

        assert kstest(grams[:, i, j], cdf).pvalue > 1e-3
    # Distances, which mix rows of the factor with few and with many entries.
    distances = (grams[:, 1, 1] + grams[:, 2, 2] - 2 * grams[:, 1, 2]) / 2
    assert kstest(distances, chi2(dim).cdf).pvalue > 1e-3


def test_compressed_noise_in_few_dimensions():
    e = compressed_noise(np.random.default_rng(0), 10, 4, spanned=1)
    assert e.shape == (10, 4)
    assert np.linalg.matrix_rank(e) == 4
    with pytest.raises(ValueError, match="spanned must be at most dim"):
        compressed_noise(np.random.default_rng(0), 2, 3, spanned=4)


@pytest.mark.parametrize("model", MODELS)
def test_models_lie_in_the_space(model):
    means = draw_means(model, np.random.default_rng(0), **SETTING, tau=0.5, tau_prime=0.2)
    assert len(means) == SETTING["n_bags"]
    assert means.shape[1] <= SETTING["dim"]
    assert np.isfinite(means).all()


def test_adversarial_means_stand_where_they_should():
    def distances(model):
        means = draw_means(model, np.random.default_rng(0), **SETTING, tau=0.5, tau_prime=0.2)
        return sq_distances(means) / SETTING["dim"]

    pairs = np.triu_indices(SETTING["n_bags"], 1)
    np.testing.assert_allclose(distances("simplex at tau")[pairs], 0.5)
    np.testing.assert_allclose(distances("simplex at tau'")[pairs], 0.2)
    np.testing.assert_allclose(distances("apart")[pairs], FAR)
    assert (distances("equal") == 0).all()
    assert set(np.round(distances("two clusters")[pairs], 9)) == {0.0, 0.5}
    assert np.allclose(distances("one direction")[0, 1:], 0.999 * 0.5)
    crowd = distances("imbalance")
    assert (crowd[:9, :9] == 0).all()
    assert np.allclose(crowd[0, 9], 0.2)
    assert crowd[0, -1] > FAR / 2


def test_the_papers_models_look_the_same_in_every_dimension():
    for model in ("unif", "sphere", "sparse", "cluster"):
        scaled = []
        for dim in (1000, 10**7):
            means = draw_means(model, np.random.default_rng(1), 30, dim, tau=0.5, tau_prime=0.1)
            scaled.append(np.median(sq_distances(means)[np.triu_indices(30, 1)]) / dim)
        assert scaled[0] == pytest.approx(scaled[1], rel=0.15)


def test_unknown_models_are_named():
    with pytest.raises(ValueError, match="there is no model 'unfi'; choose one of unif"):
        draw_means("unfi", np.random.default_rng(0), 2, 10, 0.1, 0.1)


def test_settings_scale_with_the_bag_size():
    rng = np.random.default_rng(0)
    setting = Setting.make(5, 10**6, 0.05, "exact", bag_size=9)
    naive, means = draw_naive(rng, setting, setting.means("equal", rng))
    np.testing.assert_allclose(((naive - means) ** 2).sum(axis=1), setting.sigma**2, rtol=0.01)
    assert neighbors(setting, naive).all()


@pytest.mark.parametrize(("n", "p"), [(1, 0.5), (3, 0.2), (6, 0.9)])
def test_two_point_laws_against_all_samples(n, p):
    law = TwoPoint(n=n, p=p, low=-0.5, high=1.0)
    means, squares = {}, {}
    for draws in product((0, 1), repeat=n):
        points = np.where(draws, law.low, law.high)
        weight = p ** sum(draws) * (1 - p) ** (n - sum(draws))
        means[sum(draws)] = points.mean()
        squares[sum(draws)] = (points**2).mean()
        law_weight = dict(zip(law.counts, law.probabilities, strict=True))[sum(draws)]
        assert weight <= law_weight * (1 + 1e-9)
    np.testing.assert_allclose(law.means, [means[k] for k in range(n + 1)])
    np.testing.assert_allclose(law.mean_squares, [squares[k] for k in range(n + 1)])
    assert law.probabilities.sum() == pytest.approx(1)
    assert law.means @ law.probabilities == pytest.approx(law.mean)
    assert ((law.means - law.mean) ** 2) @ law.probabilities == pytest.approx(law.variance / n)
    assert law.L == 1.0


@pytest.mark.parametrize("name", LAWS)
def test_bounded_laws_know_their_moments(name):
    law, n, trials = LAWS[name](), 10, 20000
    means, squares = law.draw(np.random.default_rng(0), trials, n)
    np.testing.assert_allclose(means.mean(axis=0), law.mean, atol=5 * np.sqrt(law.trace / n / trials) + 1e-12)
    covariance = np.atleast_2d(np.cov(means.T)) * n
    assert np.trace(covariance) == pytest.approx(law.trace, rel=0.05, abs=1e-12)
    assert np.linalg.eigvalsh(covariance)[-1] == pytest.approx(law.op_norm, rel=0.3, abs=1e-12)
    assert squares.max() <= law.L**2 * (1 + 1e-9)
    assert squares.mean() == pytest.approx(law.trace + law.mean @ law.mean, rel=0.02)
    u = u_statistics(law, np.random.default_rng(1), trials, n)
    assert abs(u.mean()) <= 5 * u.std() / np.sqrt(trials) + 1e-12


def test_off_diagonal_means_against_a_double_loop():
    x = np.random.default_rng(0).normal(size=(4, 3))
    slow = sum(x[k] @ x[m] for k in range(4) for m in range(4) if k != m) / 12
    found = off_diagonal(x.mean(axis=0)[np.newaxis], (x**2).sum(axis=1).mean()[np.newaxis], 4)
    np.testing.assert_allclose(found, slow)


def test_point_mass_has_infinite_effective_dimension():
    assert np.isinf(LAWS["point mass"]().d_eff)
    assert rademacher(10).d_eff == pytest.approx(10)
