"""Certificates: against the sharp theorem, against the truth, and how often they hold."""

import numpy as np
import pytest

from stbmta import RBF, STB, Adaptive, Bags, NaiveMean, bag_statistics, datasets, known_means, squared_error
from stbmta.certificates import certified_weights, certify, upper_distances
from stbmta.theory import confidence, exact, sharp


def test_for_equal_bags_and_stb_it_is_the_sharp_theorem():
    """One neighborhood of all bags: Q of the theorem at the largest confidence bound, once all are set to it."""
    rng, B, d, alpha = np.random.default_rng(0), 12, 4000, 0.2
    s = bag_statistics(Bags.from_list(list(rng.normal(size=(B, 1, d)))))
    D = upper_distances(s, 1.0, alpha / 4)
    n = B + 1
    c, c_prime = float(exact.exact_inner(n, d, alpha / 4)), float(exact.exact_norm(n, d, alpha / 4))
    for gamma in (0.0, 0.4):
        W = (1 - gamma) / B * np.ones((B, B)) + gamma * np.eye(B)
        found = certify(W, s, 1.0, alpha).factors
        for i in range(B):
            root = (1 - gamma) * (D[i, :B] / np.sqrt(d)).sum() / B  # sum of w_j sqrt(tau_j)
            squares = (W[i] ** 2).sum()
            ell = float(sharp.cross_term(1.0, n, d, alpha / 4))
            expected = (1 + c_prime - c) * squares + c + root**2 + 2 * ell * root
            assert found[i] == pytest.approx(expected, rel=1e-9)
        # Putting every neighbor at the same tau gives the formula of the theorem.
        tau = float((D[:, :B] ** 2).max() / d)
        theorem = sharp.risk(gamma, tau, c, c_prime, float(sharp.cross_term(tau, n, d, alpha / 4)), B)
        assert (found <= theorem * (1 + 1e-9)).all()


def test_upper_distances_are_those_of_theory(rng):
    sizes = [1, 4, 9]
    bags = Bags.from_list([rng.normal(size=(n, 200)) for n in sizes])
    s = bag_statistics(bags)
    found = upper_distances(s, 2.0, 0.1)
    means = np.vstack([bags.means(), np.zeros(200)])
    for i in range(3):
        for j in range(4):
            if i == j:
                assert found[i, j] == 0
                continue
            noise = 2.0 * (1 / sizes[i] + (0 if j == 3 else 1 / sizes[j]))
            zeta = 2 * ((means[i] - means[j]) ** 2).sum() / (noise * 200)
            tau = confidence.upper_tau(zeta, 4, 200, 0.1)
            assert found[i, j] == pytest.approx(np.sqrt(tau * noise * 200 / 2), rel=1e-6)


@pytest.mark.parametrize("sizes", [[1] * 25, [1, 2, 4, 8, 16] * 5])
def test_coverage(sizes):
    """At alpha = 0.5 at most half of the draws may have any error above its bound, for weights fitted to the data."""
    rng, missed = np.random.default_rng(1), 0
    ratios = []
    for _ in range(10):
        means = np.repeat(rng.normal(size=(5, 300)), 5, axis=0)
        bags = Bags.from_list([rng.normal(size=(n, 300)) + m for n, m in zip(sizes, means, strict=True)])
        s, truth = bag_statistics(bags), known_means(means)
        missing = False
        for W in (
            certified_weights(s, 1.0, 0.5),
            STB(zeta=2.5, gamma=0.0, variance=1.0).fit(bags).weights_,
            0.9 * np.eye(25),
        ):
            ratio = squared_error(W, s, truth) / certify(W, s, 1.0, 0.5).bounds
            missing |= bool((ratio > 1).any())
            ratios.append(ratio.max())
        missed += missing
    assert missed <= 5
    assert max(ratios) > 0.7  # a bound that is far from the truth would pass anything


def test_a_wrong_variance_is_noticed():
    """The check above can fail: with a variance that is half the truth the bounds do not hold."""
    rng = np.random.default_rng(2)
    s = bag_statistics(Bags.from_list(list(rng.normal(size=(20, 1, 300)))))
    truth = known_means(np.zeros((20, 300)))
    bounds = certify(np.eye(20), s, 0.5, 0.5).bounds
    assert (squared_error(np.eye(20), s, truth) > bounds).any()


def test_estimators_give_certificates():
    sample = datasets.cluster(30, 3000, n_clusters=2, spread=0.0, rng=0)
    est = STB(variance=1.0, random_state=0).fit(sample.bags)
    certificate = est.certificate(0.1)
    np.testing.assert_array_equal(certificate.bounds, certify(est.weights_, est.statistics_, 1.0, 0.1).bounds)
    assert (certificate.factors < 0.7).all()
    assert "30 bags are guaranteed to gain" in certificate.summary()
    assert list(certificate.to_frame().columns) == ["bound", "naive_error", "factor"]
    assert "Certified factor:" in est.summary().as_text()
    assert NaiveMean().fit(sample.bags).certificate(variance=1.0).factors.min() > 1
    assert (Adaptive(variance=1.0, random_state=0).fit(sample.bags).certificate().bounds > 0).all()
    with pytest.raises(ValueError, match="needs the known variance"):
        NaiveMean().fit(sample.bags).certificate()
    halves = STB(zeta=2.5, gamma=0.0, variance=1.0, split=0.5, random_state=0)
    with pytest.raises(ValueError, match="parts of bags"):
        halves.fit(datasets.cluster(5, 10, bag_size=4, rng=0).bags).certificate()
    with pytest.raises(ValueError, match="needs the linear kernel"):
        NaiveMean(RBF(1.0)).fit(sample.bags).certificate(variance=1.0)
    with pytest.raises(ValueError, match="found shape"):
        certify(np.eye(3), est.statistics_, 1.0)
    spoiled = np.eye(30)
    spoiled[4, 7] = np.nan
    with pytest.raises(ValueError, match=r"weights must be finite numbers, found nan at \(4, 7\)"):
        certify(spoiled, est.statistics_, 1.0)


@pytest.mark.parametrize("alpha", [-0.1, 0.0, 1.0, 1.5, np.nan, "x", None, [0.05]])
def test_alpha_is_a_probability(alpha):
    est = NaiveMean().fit(datasets.cluster(4, 30, rng=0).bags)
    with pytest.raises(ValueError, match=r"alpha must be a probability between 0 and 1, found"):
        est.certificate(alpha, variance=1.0)
    with pytest.raises(ValueError, match=r"alpha must be a probability .*; 0\.05 gives bounds"):
        certified_weights(est.statistics_, 1.0, alpha)


def test_certified_weights_are_never_worse_than_naive():
    far = datasets.unif(20, 50, rng=0)
    s = bag_statistics(far.bags)
    W = certified_weights(s, 1.0)
    assert (certify(W, s, 1.0).bounds <= certify(np.eye(20), s, 1.0).bounds + 1e-9).all()


def test_without_weights_there_is_a_summary_but_no_certificate(rng):
    """In tiles the weights are not kept."""
    bags = [rng.normal(size=(3, 5)) for _ in range(300)]
    est = STB(zeta=2.5, gamma=0.0, variance=1.0, max_memory=400_000).fit(bags)
    assert est.large_ is not None
    text = est.summary().as_text()
    assert "Avg. estimated:" in text
    assert "Certified factor:" not in text
    with pytest.raises(ValueError, match=r"a certificate needs the weights, .* in tiles .* with max_memory"):
        est.certificate()
    assert "Certified factor:" in est.set_params(max_memory=None).fit(bags).summary().as_text()
