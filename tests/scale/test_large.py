"""STB in tiles and from streams: the estimates of the ordinary way, in less memory."""

import warnings

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem as SklearnNystroem
from sklearn.kernel_approximation import PolynomialCountSketch, RBFSampler

from stbmta import (
    RBF,
    STB,
    Bags,
    Laplacian,
    Linear,
    NaiveMean,
    Polynomial,
    bag_statistics,
    datasets,
    gaussian_neighbors,
    neighbor_averages,
    neighbors,
)
from stbmta.scale.approximate import approximation_error, choose_features
from stbmta.scale.features import Nystroem, RandomFourier
from stbmta.scale.large import FeatureMeans, exact_memory, large_statistics
from stbmta.scale.means import mean_statistics
from stbmta.scale.sample import stream_sample
from stbmta.scale.stream import BagStream


@pytest.fixture
def bags(rng):
    centers = rng.normal(size=(4, 6)) * 2
    return Bags.from_list(
        [rng.normal(size=(n, 6)) + centers[k % 4] for k, n in enumerate(rng.integers(3, 12, 60))]
    )


@pytest.mark.parametrize("gamma", [0.2, "theory"])
def test_tiles_give_the_estimates_of_the_full_matrix(bags, gamma):
    full = STB(zeta=1.0, gamma=gamma).fit(bags)
    tiles = STB(zeta=1.0, gamma=gamma, max_memory="100kB").fit(bags)
    assert not hasattr(full, "large_")
    np.testing.assert_allclose(tiles.means_, full.means_, rtol=1e-12, atol=1e-13)
    frame, expected = tiles.to_frame(), full.to_frame()
    assert frame.columns.tolist() == expected.columns.tolist()
    np.testing.assert_array_equal(frame["neighbors"], expected["neighbors"])
    np.testing.assert_allclose(frame["naive_error"], expected["naive_error"], rtol=1e-12)
    assert "No. points:" in tiles.summary().as_text()
    with pytest.raises(AttributeError, match="weights_ is not kept where estimates are made in tiles"):
        _ = tiles.weights_
    rows = tiles.transform(bags)
    np.testing.assert_array_equal(rows, np.repeat(tiles.means_, bags.sizes, axis=0))
    # and back again
    tiles.set_params(max_memory=None).fit(bags)
    np.testing.assert_array_equal(tiles.weights_, full.weights_)
    assert not hasattr(tiles, "large_")


def test_known_variance_in_tiles():
    sample = datasets.cluster(100, 30, n_clusters=5, rng=0)
    full = STB(zeta=2.6, gamma=0.1, variance=1.0).fit(sample.bags)
    tiles = STB(zeta=2.6, gamma=0.1, variance=1.0, max_memory="200kB").fit(sample.bags)
    np.testing.assert_allclose(tiles.means_, full.means_, rtol=1e-12, atol=1e-13)


def test_a_stream_gives_the_estimates_of_bags_in_memory(bags):
    full = STB(zeta=1.0, gamma=0.1).fit(bags)
    stream = STB(zeta=1.0, gamma=0.1).fit(BagStream.from_bags(bags, rows=7))
    np.testing.assert_allclose(stream.means_, full.means_, rtol=1e-12, atol=1e-13)
    assert stream.labels_.tolist() == full.labels_.tolist()
    assert stream.n_features_in_ == 6


def test_parameters_are_chosen_on_the_same_sample_in_any_amount_of_memory(bags, monkeypatch):
    monkeypatch.setattr("stbmta.tuning_sample.TUNING_BAGS", 25)
    for options in ({}, {"gamma": "theory", "c": None}, {"variance": 1.0}):
        full = STB(random_state=0, **options).fit(bags)
        tiles = STB(random_state=0, max_memory="10MB", **options)
        monkeypatch.setattr("stbmta.estimator_large.exact_memory", lambda *_: 1e12)
        tiles.fit(bags)
        stream = STB(random_state=0, **options).fit(BagStream.from_bags(bags, rows=7))
        monkeypatch.undo()
        monkeypatch.setattr("stbmta.tuning_sample.TUNING_BAGS", 25)
        assert full.tuning_.n_scored <= 25
        assert not hasattr(full, "large_")
        for est in (tiles, stream):
            assert hasattr(est, "large_")
            assert (est.zeta_, est.c_) == (full.zeta_, full.c_)
            np.testing.assert_array_equal(est.gamma_, full.gamma_)
            np.testing.assert_array_equal(est.tuning_.risk, full.tuning_.risk)
            np.testing.assert_allclose(est.means_, full.means_, rtol=1e-12, atol=1e-13)


@pytest.mark.slow_without_jit
def test_tiles_where_the_matrices_leave_no_room_to_choose_parameters(rng):
    """The matrices of all pairs would fit, and the choice of parameters by itself, but not both."""
    bags = Bags.from_list([rng.normal(size=(3, 4)) for _ in range(1000)])
    full = STB(random_state=0).fit(bags)
    tiles = STB(random_state=0, max_memory="56MB").fit(bags)
    assert hasattr(tiles, "large_")
    assert (tiles.zeta_, tiles.gamma_) == (full.zeta_, full.gamma_)
    assert not hasattr(STB(zeta=1.0, gamma=0.1, max_memory="56MB").fit(bags), "large_")


def test_a_sample_of_a_stream_has_whole_bags(bags):
    stream = BagStream.from_bags(bags, rows=9)
    some = stream_sample(stream, [40, 3, 17])
    assert some.labels.tolist() == [3, 17, 40]
    for label, bag in zip(some.labels.tolist(), some, strict=True):
        np.testing.assert_array_equal(bag, bags[label])


@pytest.mark.parametrize("variance", [None, 1.0])
def test_ties_are_decided_alike_in_tiles_and_in_full(variance, rng):
    """Small integers: many pairs lie exactly on the threshold, and rounding must not decide which."""
    for _ in range(40):
        dim = int(rng.integers(1, 6))
        arrays = [
            rng.integers(-2, 3, size=(int(n), dim)) + 1000.0 for n in rng.integers(2, 5, rng.integers(2, 30))
        ]
        bags, zeta = Bags.from_list(arrays), float(rng.choice([0.0, 0.5, 1.0, 3.0]))
        s = bag_statistics(bags)
        full = neighbors(s, zeta) if variance is None else gaussian_neighbors(s, zeta, variance)
        tiles = neighbor_averages(bags, zeta, variance=variance, keep_neighbors=True)
        np.testing.assert_array_equal(tiles.neighbors.toarray(), full)
        from_means = neighbor_averages(mean_statistics(bags), zeta, variance=variance)
        np.testing.assert_array_equal(from_means.averages, tiles.averages)


@pytest.mark.parametrize("kernel", [RBF(2.0), Laplacian(6.0)], ids=["rbf", "laplacian"])
def test_features_come_close_to_the_exact_embedding(bags, kernel):
    exact = STB(kernel, zeta=1.0, gamma=0.1).fit(bags)
    rough = STB(kernel, zeta=1.0, gamma=0.1, approximation=8192).fit(bags)
    assert isinstance(rough.embedding_, FeatureMeans)
    assert rough.embedding_.kernel == kernel
    assert np.abs(rough.gram_ - exact.gram_).max() < 0.05
    z = bags.data[:5]
    assert np.abs(rough.embedding_.evaluate(z) - exact.embedding_.evaluate(z)).max() < 0.05
    assert "as asked for" in rough.large_.approximation
    assert "neighbors" in rough.to_frame()
    landmarks = Nystroem.draw(kernel, bags.data, len(bags.data), rng=0)  # all points: exact
    near = STB(kernel, zeta=1.0, gamma=0.1, approximation=landmarks).fit(bags)
    np.testing.assert_allclose(near.gram_, exact.gram_, atol=1e-9)


def test_auto_prefers_exact_values_for_small_data(bags):
    est = STB(RBF(2.0), zeta=1.0, gamma=0.1, approximation="auto").fit(bags)
    np.testing.assert_array_equal(est.weights_, STB(RBF(2.0), zeta=1.0, gamma=0.1).fit(bags).weights_)
    stream = STB(RBF(2.0), zeta=1.0, gamma=0.1, approximation="auto").fit(BagStream.from_bags(bags))
    np.testing.assert_array_equal(stream.gram_, est.gram_)
    for found in (est, stream):
        assert found.approximation_.startswith("exact: about")
        assert "approximation: exact: about" in found.summary().as_text()
    assert STB(zeta=1.0, gamma=0.1, approximation=64).fit(bags).approximation_.startswith("exact: the linear")
    assert not hasattr(est.set_params(approximation=None).fit(bags), "approximation_")


def test_features_say_what_they_are_and_how_far_off(bags):
    est = STB(RBF(2.0), zeta=1.0, gamma=0.1, approximation=256, random_state=1).fit(bags)
    assert est.approximation_ == "256 features (RandomFourier), as asked for"
    assert 0 < est.approximation_error_.deviation < 0.1
    text = est.summary().as_text()
    assert "approximation: 256 features" in text
    assert "error bar: inner products of features are off by" in text
    for source in (bags, BagStream.from_bags(bags)):
        error = est.approximation_error(source)
        assert 0.5 < error.deviation / est.approximation_error_.deviation < 2
    with pytest.raises(ValueError, match="the estimates are exact"):
        STB(zeta=1.0, gamma=0.1).fit(bags).approximation_error(bags)
    other = STB(RBF(2.0), zeta=1.0, gamma=0.1, approximation=256, random_state=2).fit(bags)
    again = STB(RBF(2.0), zeta=1.0, gamma=0.1, approximation=256, random_state=1).fit(bags)
    assert not np.array_equal(other.large_.means, est.large_.means)
    np.testing.assert_array_equal(again.large_.means, est.large_.means)


@pytest.mark.slow_without_jit
def test_samplers_of_scikit_learn_are_features(bags):
    kernel = RBF(2.0)
    exact = STB(kernel, zeta=1.0, gamma=0.1).fit(bags)
    fitted = SklearnNystroem(gamma=1 / 8, n_components=len(bags.data), random_state=0).fit(bags.data)
    for sampler, tolerance in (
        (RBFSampler(gamma=1 / 8, n_components=4000, random_state=0), 0.1),
        (fitted, 1e-6),
    ):
        for source in (bags, BagStream.from_bags(bags)):
            est = STB(kernel, zeta=1.0, gamma=0.1, approximation=sampler).fit(source)
            assert est.kernel_ == kernel
            assert np.abs(est.gram_ - exact.gram_).max() < tolerance
    for kind, other in (("laplacian", Laplacian(8.0)), ("poly", Polynomial(3, 1 / 8))):
        sampler = SklearnNystroem(kind, gamma=1 / 8, n_components=len(bags.data), random_state=0).fit(
            bags.data
        )
        est = STB(other, zeta=1.0, gamma=0.1, approximation=sampler).fit(bags)
        scale = np.abs(est.gram_).max()
        np.testing.assert_allclose(
            est.gram_, STB(other, zeta=1.0, gamma=0.1).fit(bags).gram_, atol=1e-6 * scale
        )


WRONG = {
    "truth value": (True, "approximation must be 'auto', features"),
    "fraction": (64.0, "approximation must be 'auto', features"),
    "another sampler": (PolynomialCountSketch(), "approximation must be 'auto', features"),
    "not fitted": (SklearnNystroem(gamma=1 / 8), "fit the Nystroem sampler on a sample"),
    "another width": (RBFSampler(gamma=1.0), r"this RBFSampler approximates RBF\(bandwidth=0.7.*, not RBF"),
    "another kernel": (
        SklearnNystroem("sigmoid", n_components=2).fit(np.ones((5, 6))),
        "this Nystroem approximates 'another kernel', not RBF",
    ),
    "features of another kernel": (
        RandomFourier.draw(RBF(1.0), 6, 64, rng=0),
        r"these features approximate RBF\(bandwidth=1.0\), not RBF\(bandwidth=2.0\)",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_approximation_of_the_kernel_is_refused(bags, case):
    approximation, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        STB(RBF(2.0), zeta=1.0, gamma=0.1, approximation=approximation).fit(bags)


def test_one_pass_is_enough_where_nothing_is_to_be_chosen(bags):
    """A generator can be read once: fits with known parameters must not ask for more."""
    blocks = list(BagStream.from_bags(bags, rows=50).parts[0]())
    features = RandomFourier.draw(RBF(2.0), 6, 64, rng=0)
    for kernel, approximation in (("linear", None), (RBF(2.0), 64), (RBF(2.0), features)):
        est = STB(kernel, zeta=1.0, gamma=0.1, approximation=approximation, random_state=0)
        expected = est.fit(BagStream.from_iterable(blocks)).large_.means
        once = est.fit(BagStream.from_iterable(iter(blocks)))
        np.testing.assert_array_equal(once.large_.means, expected)
    with pytest.raises(RuntimeError, match="was read once"):
        STB(random_state=0).fit(BagStream.from_iterable(iter(blocks)))
    with pytest.raises(ValueError, match="the stream has 0 rows"):
        STB(RBF(2.0), zeta=1.0, gamma=0.1, approximation=64).fit(BagStream.from_iterable(iter([])))


@pytest.mark.slow_without_jit
def test_scores_and_inner_products_after_a_large_fit(bags, rng):
    other = Bags.from_list([bag + 0.1 * rng.normal(size=bag.shape) for bag in bags])
    full = STB(zeta=1.0, gamma=0.1).fit(bags)
    stream = STB(zeta=1.0, gamma=0.1).fit(BagStream.from_bags(bags))
    np.testing.assert_allclose(stream.score(other), full.score(other), rtol=1e-11)
    np.testing.assert_allclose(stream.score(BagStream.from_bags(other)), full.score(other), rtol=1e-11)
    with pytest.raises(ValueError, match="a list does not say which of the fitted bags"):
        stream.score(list(other))
    np.testing.assert_allclose(stream.gram_, full.gram_, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(
        stream.embedding_.evaluate(other.data[:3]), full.means_ @ other.data[:3].T, rtol=1e-9
    )
    assert stream.embedding_.kernel == Linear()
    exact = STB(RBF(2.0), zeta=1.0, gamma=0.1).fit(bags)
    rough = STB(RBF(2.0), zeta=1.0, gamma=0.1, approximation=8192, random_state=0).fit(bags)
    assert abs(rough.score(other) - exact.score(other)) < 0.01


def test_streams_are_for_stb(bags):
    stream = BagStream.from_bags(bags)
    with pytest.raises(TypeError, match=r"NaiveMean needs bags in memory here; pass stream.to_bags\(\)"):
        NaiveMean().fit(stream)
    with pytest.raises(TypeError, match="STB needs bags in memory here"):
        STB(zeta=1.0, gamma=0.1).fit(stream).transform(stream)
    with pytest.raises(TypeError, match="expected Bags or a BagStream, found ndarray"):
        bag_statistics(bags.data)


@pytest.mark.parametrize(
    ("kernel", "n_points", "chosen"),
    [
        (RBF(1.0), 10_000, False),
        (RBF(1.0), 10**7, True),
        (Polynomial(), 10**7, False),
        (Linear(), 10**9, False),
    ],
)
def test_the_choice_follows_the_cost(kernel, n_points, chosen):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        features, reason = choose_features(kernel, 1000, n_points, 12, approximation="auto")
    assert [w for w in caught if "Nystroem.draw" in str(w.message)] == (
        caught if isinstance(kernel, Polynomial) else []
    )
    assert (features is not None) == chosen
    assert (reason.startswith("1024 random Fourier features")) == chosen


def test_the_choice_knows_no_threads(monkeypatch):
    """Kernel values of about 23 s of one core, and of 51 s."""
    found = []
    for threads in (1, 64):
        monkeypatch.setattr("stbmta.scale.cost.available_threads", lambda n=threads: n)
        sizes = (400_000, 600_000)
        found.append([choose_features(RBF(1.0), 1000, n, 2, approximation="auto")[1] for n in sizes])
    assert found[0] == found[1]
    assert [reason.startswith("exact") for reason in found[0]] == [True, False]


@pytest.mark.parametrize(("n_bags", "chosen"), [(10_000, False), (60_000, True)])
def test_the_choice_follows_the_matrices_of_all_pairs(n_bags, chosen, monkeypatch):
    """Few points, whose kernel values take a second, in so many bags that their matrices do not fit."""
    monkeypatch.setattr("stbmta.memory.available_memory", lambda: 1)  # which changes nothing
    features, reason = choose_features(RBF(1.0), n_bags, 2 * n_bags, 2, approximation="auto")
    assert (features is not None) == chosen
    assert ("and 115 GB for all pairs of bags" in reason) == chosen
    if chosen:
        with pytest.warns(UserWarning, match=r"115 GB for all pairs of bags; Polynomial.* would take less"):
            assert (
                choose_features(Polynomial(gamma=1.0), n_bags, 2 * n_bags, 2, approximation="auto")[0] is None
            )


def test_the_memory_of_statistics_made_elsewhere():
    """Beside the matrices, a number for each bag of each part."""
    assert exact_memory(1000, 0, 12, RBF(1.0)) == 32e6 + 200 * 32 * 1000
    assert exact_memory(1000, 10**5, 12, RBF(1.0)) == 32e6 + 8 * 3.5 * 12e5
    assert exact_memory(1000, 10**5, 12, Linear()) == 32e6 + 8 * 3 * 12e3


def test_streams_need_numbers_as_parameters(bags):
    with pytest.raises(ValueError, match="for a stream give numbers"):
        bag_statistics(BagStream.from_bags(bags), "rbf")
    with pytest.raises(ValueError, match="for a stream give numbers"):
        large_statistics(BagStream.from_bags(bags), Polynomial())
    s = bag_statistics(BagStream.from_bags(bags), RBF(1.0))
    np.testing.assert_array_equal(s.gram, bag_statistics(bags, RBF(1.0)).gram)


def test_what_cannot_be_done_at_this_size_is_refused(bags):
    with pytest.raises(ValueError, match="a split needs bags in memory"):
        STB(zeta=1.0, gamma=0.0, split=0.5, max_memory="1kB").fit(bags)
    with pytest.raises(MemoryError, match="comparing 60 means with 6 columns needs about"):
        STB(zeta=1.0, gamma=0.0, max_memory="6kB").fit(bags)
    with pytest.raises(ValueError, match="needs the linear kernel"):
        STB(RBF(1.0), zeta=1.0, gamma=0.0, variance=1.0, approximation=64).fit(bags)
    with pytest.raises(ValueError, match="approximation must be 'auto', features"):
        STB(RBF(1.0), zeta=1.0, gamma=0.0, approximation="fourier").fit(bags)
    with pytest.raises(ValueError, match="has no random Fourier features"):
        STB(Polynomial(gamma=1.0), zeta=1.0, gamma=0.0, approximation=64).fit(bags)
    with pytest.raises(ValueError, match="the stream has 0 rows"):
        STB(RBF(1.0), zeta=1.0, gamma=0.0, approximation=64).fit(BagStream.from_iterable([]))


def test_full_statistics_that_do_not_fit_are_refused_before_they_are_made(bags, monkeypatch):
    monkeypatch.setattr("stbmta.statistics.available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match="comparing 60 bags of .* points in full needs about .* kB"):
        bag_statistics(bags, RBF(1.0))


def test_the_error_of_features_is_measured_on_bags_drawn_at_random(rng):
    bags = Bags.from_list([rng.normal(size=(40, 2)) for _ in range(200)])
    s = mean_statistics(bags, features=RandomFourier.draw(RBF(0.7), 2, 256, rng=3))
    error = approximation_error(s, bags, rng=0)
    assert error.n_pairs == 24 * 23 // 2
    other = approximation_error(s, bags, n_bags=100, rng=1)  # other pairs are off by as much
    assert 0.5 < other.deviation / error.deviation < 2
    assert other.largest < 6 * error.deviation
    assert "root mean square" in error.summary()
    with pytest.raises(ValueError, match="means of points are exact"):
        approximation_error(mean_statistics(bags), bags)
    with pytest.raises(ValueError, match="at least two bags"):
        approximation_error(s, bags[:1])
