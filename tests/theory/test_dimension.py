"""Traces and effective dimensions: brute-force U-statistics, unbiasedness, pooling, bad input."""

from itertools import permutations, product

import numpy as np
import pytest

from stbmta.theory import dimension, traces


def brute_force(gram, n_points, term):
    """Mean of a term over all ordered choices of distinct points."""
    choices = list(permutations(range(len(gram)), n_points))
    return sum(term(gram, *c) for c in choices) / len(choices)


def brute_trace_squared(k):
    return (
        brute_force(k, 2, lambda k, a, b: k[a, b] ** 2)
        - 2 * brute_force(k, 3, lambda k, a, b, c: k[a, b] * k[b, c])
        + brute_force(k, 4, lambda k, a, b, c, d: k[a, b] * k[c, d])
    )


def brute_trace_cubed(k):
    """tr (M - mu mu')^3, each mean over distinct points."""
    return (
        brute_force(k, 3, lambda k, a, b, c: k[a, b] * k[b, c] * k[c, a])
        - 3 * brute_force(k, 4, lambda k, a, b, c, d: k[a, b] * k[b, c] * k[c, d])
        + 3 * brute_force(k, 5, lambda k, a, b, c, d, e: k[a, b] * k[b, c] * k[d, e])
        - brute_force(k, 6, lambda k, a, b, c, d, e, f: k[a, b] * k[c, d] * k[e, f])
    )


@pytest.mark.parametrize("n", [6, 7])
@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_traces_are_the_brute_force_u_statistics(n, offset, rng):
    x = rng.exponential(size=(n, 3)) + offset
    k = x @ x.T
    centered = k - k.mean(0) - k.mean(1)[:, None] + k.mean()
    np.testing.assert_allclose(traces.trace_covariance(k), np.trace(np.cov(x.T)), rtol=1e-12)
    # the brute force on centered points is as accurate as doubles allow; the estimate does not depend on the center
    np.testing.assert_allclose(traces.trace_squared(k), brute_trace_squared(centered), rtol=1e-12)
    np.testing.assert_allclose(traces.trace_cubed(k), brute_trace_cubed(centered), rtol=1e-11)
    scale = np.abs(k).max()
    np.testing.assert_allclose(traces.trace_squared(k), brute_trace_squared(k), atol=1e-12 * scale**2)
    np.testing.assert_allclose(traces.trace_cubed(k), brute_trace_cubed(k), atol=1e-12 * scale**3)


def test_traces_are_unbiased_by_enumeration():
    """All samples from a law on three points in the plane, weighted by their probabilities."""
    support = np.array([[0.0, 1.0], [2.0, -1.0], [1.0, 4.0]])
    p = np.array([0.5, 0.2, 0.3])
    sigma = (support.T * p) @ support - np.outer(p @ support, p @ support)
    expected = dict.fromkeys(("one", "two", "three", "product", "mse", "u"), 0.0)
    for sample in product(range(3), repeat=6):
        chance, x = p[list(sample)].prod(), support[list(sample)]
        k = x @ x.T
        expected["one"] += chance * traces.trace_covariance(k)
        expected["two"] += chance * traces.trace_squared(k[:5, :5])
        expected["three"] += chance * traces.trace_cubed(k)
        expected["product"] += chance * traces.trace_product(k[:2, 2:5])
        expected["mse"] += chance * dimension.naive_mse(k[:3, :3])
        expected["u"] += chance * dimension.u_statistic(k[:2, :2], 4 * k[2:5, 2:5], 2 * k[:2, 2:5])
    mean = p @ support
    np.testing.assert_allclose(expected["one"], np.trace(sigma), rtol=1e-12)
    np.testing.assert_allclose(expected["two"], np.trace(sigma @ sigma), rtol=1e-12)
    np.testing.assert_allclose(expected["three"], np.trace(sigma @ sigma @ sigma), rtol=1e-11)
    np.testing.assert_allclose(expected["product"], np.trace(sigma @ sigma), rtol=1e-12)
    np.testing.assert_allclose(expected["mse"], np.trace(sigma) / 3, rtol=1e-12)
    np.testing.assert_allclose(expected["u"], mean @ mean, rtol=1e-12)  # means mu and 2 mu


def test_the_variance_of_u_by_enumeration():
    support, p = np.array([0.0, 1.0, 3.0]), np.array([0.5, 0.2, 0.3])
    values, chances = [], []
    for sample in product(range(3), repeat=5):
        x, y = support[list(sample[:3])], 2 * support[list(sample[3:])] + 1
        values.append(dimension.u_statistic(np.outer(x, x), np.outer(y, y), np.outer(x, y)))
        chances.append(p[list(sample)].prod())
    values, chances = np.array(values), np.array(chances)
    variance = chances @ values**2 - (chances @ values) ** 2
    mean, s = p @ support, p @ support**2 - (p @ support) ** 2
    gap = (2 * mean + 1 - mean) ** 2
    ours = dimension.u_variance(s**2, (4 * s) ** 2, 4 * s**2, 3, 2, gap * s, gap * 4 * s)
    np.testing.assert_allclose(ours, variance, rtol=1e-12)
    np.testing.assert_allclose(
        dimension.u_variance(1.0, 2.0, 3.0, 4, 5), 2 / 12 + 4 / 20 + 12 / 20, rtol=1e-12
    )


def test_u_statistic_by_hand(rng):
    x, y = rng.normal(size=(4, 2)), rng.normal(size=(3, 2))
    expected = (
        np.mean([x[a] @ x[b] for a, b in permutations(range(4), 2)])
        + np.mean([y[a] @ y[b] for a, b in permutations(range(3), 2)])
        - 2 * np.mean([a @ b for a in x for b in y])
    )
    np.testing.assert_allclose(dimension.u_statistic(x @ x.T, y @ y.T, x @ y.T), expected, rtol=1e-12)
    with pytest.raises(ValueError, match=r"gram_xy must have shape \(4, 3\); found \(3, 4\)"):
        dimension.u_statistic(x @ x.T, y @ y.T, y @ x.T)


def test_effective_dimensions_of_a_covariance():
    sigma = np.diag([4.0, 2.0, 1.0])
    assert dimension.effective_dimension(covariance=sigma) == pytest.approx(7 / 4)
    assert dimension.frobenius_dimension(covariance=sigma) == pytest.approx(49 / 21)
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    turned = rotation @ sigma @ rotation.T
    assert dimension.effective_dimension(covariance=turned) == pytest.approx(7 / 4)
    assert dimension.effective_dimension(covariance=np.eye(50)) == pytest.approx(50)
    for scale in (1e-200, 1e200):
        assert dimension.frobenius_dimension(covariance=scale * sigma) == pytest.approx(49 / 21)
        assert dimension.effective_dimension(covariance=scale * sigma) == pytest.approx(7 / 4)


@pytest.mark.parametrize("shape", [(30, 4), (5, 12)])
def test_samples_and_gram_matrices_agree(shape, rng):
    x = rng.normal(size=shape) + 2
    values = np.linalg.eigvalsh(np.cov(x.T))
    expected = values.sum() / values[-1]
    assert dimension.effective_dimension(samples=x) == pytest.approx(expected, rel=1e-10)
    assert dimension.effective_dimension(gram=x @ x.T) == pytest.approx(expected, rel=1e-10)
    square = traces.trace_squared(x @ x.T)
    ratio = np.trace(np.cov(x.T)) ** 2 / square if square > 0 else np.nan
    np.testing.assert_allclose(dimension.frobenius_dimension(samples=x), ratio, rtol=1e-9)
    np.testing.assert_allclose(dimension.frobenius_dimension(gram=x @ x.T), ratio, rtol=1e-9)
    np.testing.assert_allclose(dimension.naive_mse(x @ x.T), np.trace(np.cov(x.T)) / len(x), rtol=1e-12)


def test_dimensions_do_not_depend_on_the_unit(rng):
    x = rng.normal(size=(12, 3))
    for scale in (1e-3, 1e3):
        np.testing.assert_allclose(
            dimension.frobenius_dimension(samples=scale * x),
            dimension.frobenius_dimension(samples=x),
            rtol=1e-9,
        )
        np.testing.assert_allclose(
            dimension.pooled_dimension(samples=[scale * x]).d_frobenius,
            dimension.frobenius_dimension(samples=x),
            rtol=1e-9,
        )
    assert dimension.effective_dimension(samples=x[:2]) == pytest.approx(
        1
    )  # two points are enough for a line


def test_one_column_is_one_dimension(rng):
    x = rng.normal(size=9)
    assert dimension.effective_dimension(samples=x) == pytest.approx(1)
    assert dimension.effective_dimension(samples=x[:, None]) == pytest.approx(1)


def test_negative_estimates_give_nan():
    x = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    gram = x @ x.T  # orthogonal points: their products say that tr(Sigma^2) is not above 0
    assert traces.trace_squared(gram) <= 0
    assert np.isnan(dimension.frobenius_dimension(gram=gram))
    assert np.isnan(dimension.pooled_dimension(grams=[gram]).d_frobenius)


def test_pooling_weighs_bags_by_their_degrees_of_freedom(rng):
    bags = [rng.normal(size=(n, 5)) * scale for n, scale in ((3, 1.0), (4, 2.0), (11, 1.0))]
    grams = [x @ x.T for x in bags]
    pooled = dimension.pooled_dimension(samples=bags)
    again = dimension.pooled_dimension(grams=grams)
    degrees = np.array([2.0, 3.0, 10.0])
    one = np.array([np.trace(np.cov(x.T)) for x in bags])
    top = np.array([np.linalg.eigvalsh(np.cov(x.T))[-1] for x in bags])
    two = np.array([traces.trace_squared(k) for k in grams[1:]])
    for found in (pooled, again):
        np.testing.assert_allclose(found.trace, degrees @ one / 15, rtol=1e-10)
        np.testing.assert_allclose(found.op_norm, degrees @ top / 15, rtol=1e-10)
        np.testing.assert_allclose(found.trace_squared, degrees[1:] @ two / 13, rtol=1e-10)
        np.testing.assert_allclose(found.smallest, (one / top).min(), rtol=1e-10)
        np.testing.assert_allclose(found.d_eff, (degrees @ one) / (degrees @ top), rtol=1e-10)
        np.testing.assert_allclose(found.d_frobenius, found.trace**2 / found.trace_squared)
    assert "tr^2 / tr(Sigma^2)" in pooled.summary()
    assert len(pooled.to_frame()) == 6
    small = dimension.pooled_dimension(samples=bags[:1])
    assert np.isnan(small.trace_squared)
    assert np.isnan(small.d_frobenius)


def test_bags_may_be_stacked_in_one_array(rng):
    stacked = rng.normal(size=(5, 10, 3))
    assert dimension.pooled_dimension(samples=stacked) == dimension.pooled_dimension(samples=list(stacked))
    grams = stacked @ stacked.transpose(0, 2, 1)
    assert dimension.pooled_dimension(grams=grams) == dimension.pooled_dimension(grams=list(grams))
    assert dimension.pooled_dimension(samples=stacked[:, :2]).smallest == pytest.approx(1)


def test_the_plug_in_is_far_too_small_and_the_other_dimension_is_not():
    """200 directions, 20 points: the largest eigenvalue is far too large, the unbiased traces are right."""
    rng = np.random.default_rng(3)
    pooled = dimension.pooled_dimension(samples=[rng.normal(size=(20, 200)) for _ in range(100)])
    assert pooled.d_eff < 15
    assert pooled.d_frobenius == pytest.approx(200, rel=0.03)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dimension.effective_dimension(), "Pass exactly one of covariance, samples, gram"),
        (lambda: dimension.effective_dimension(samples=[[1.0], [2.0]], gram=[[1.0]]), "exactly one"),
        (
            lambda: dimension.effective_dimension(covariance=[[1.0, 0.0]]),
            r"covariance must be a square matrix",
        ),
        (
            lambda: dimension.effective_dimension(samples=[[1.0, 2.0]]),
            "samples must be a matrix of at least 2 rows; found shape",
        ),
        (lambda: dimension.effective_dimension(samples=np.ones((4, 2))), "The covariance is zero"),
        (lambda: dimension.frobenius_dimension(gram=np.eye(3)), "at least 4 rows; found shape"),
        (
            lambda: dimension.frobenius_dimension(samples=np.eye(3)),
            "samples must be a matrix of at least 4 rows",
        ),
        (
            lambda: dimension.naive_mse([[1.0, 0.5], [0.2, 1.0]]),
            r"gram must be symmetric; found 0.5 at \(0, 1\)",
        ),
        (lambda: dimension.effective_dimension(gram=[[1.0, 0.0], [0.2, 1.0]]), "gram must be symmetric"),
        (
            lambda: dimension.pooled_dimension(samples=[np.eye(3), [[1.0]]]),
            "bag 1: samples must be a matrix of at",
        ),
        (
            lambda: dimension.pooled_dimension(samples=[np.eye(3), np.ones((3, 3))]),
            "bag 1: The covariance is zero",
        ),
        (lambda: dimension.naive_mse([[1.0]]), "at least 2 rows"),
        (lambda: traces.trace_cubed(np.eye(5)), "at least 6 rows"),
        (lambda: traces.trace_squared(np.eye(5)[:, :4]), "must be a square matrix"),
        (lambda: traces.trace_squared(np.eye(5)[:4]), "must be a square matrix"),
        (lambda: traces.trace_product(np.eye(2)[:1]), "at least 2 rows and columns"),
        (lambda: dimension.pooled_dimension(samples=[]), "There is no bag"),
        (lambda: dimension.pooled_dimension(), "Pass exactly one of samples, grams"),
        (lambda: dimension.u_variance(1.0, 1.0, 1.0, 1, 2), "n_x must be at least 2"),
        (lambda: dimension.u_variance(1.0, 1.0, 1.0, 2, 1), "n_y must be at least 2"),
        (lambda: dimension.effective_dimension([]), "covariance must be a square matrix"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("function", [dimension.effective_dimension, dimension.frobenius_dimension])
def test_a_covariance_is_symmetric_and_not_negative(function):
    """But for rounding: one part in 1e10 of the largest entry or eigenvalue."""
    with pytest.raises(ValueError, match=r"symmetric; found 2 at \(0, 1\) and 0 at \(1, 0\)"):
        function([[1.0, 2.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="no negative eigenvalue; found -1"):
        function([[1.0, 0.0], [0.0, -1.0]])
    with pytest.raises(ValueError, match="no negative eigenvalue; found -1"):
        function([[-1.0, 0.0], [0.0, 0.0]])
    for part, fine in ((0.995e-10, True), (1.005e-10, False)):
        for matrix in ([[4.0, 1.0 + 4 * part], [1.0, 2.0]], [[5.0, 0.0], [0.0, -5 * part]]):
            if fine:
                assert 1 <= function(matrix) <= 2
            else:
                with pytest.raises(ValueError, match="covariance must"):
                    function(matrix)


NOT_CLOSE = [[1.0, 5.0, 0.0], [5.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
NO_TRIANGLE = (
    -np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 1.0], [9.0, 1.0, 0.0]]) / 2
)  # squared distances 1, 1 and 9


@pytest.mark.parametrize(
    "function",
    [
        lambda gram: dimension.effective_dimension(gram=gram),
        lambda gram: dimension.frobenius_dimension(gram=np.kron(np.eye(2), gram)),
        lambda gram: dimension.pooled_dimension(grams=[np.eye(3), gram]),
        dimension.naive_mse,
        dimension.trace_covariance,
    ],
)
def test_a_gram_matrix_holds_inner_products(function):
    for gram, square in ((NOT_CLOSE, -8), ([[1.0, 2.0], [2.0, 1.0]], -2)):
        with pytest.raises(
            ValueError,
            match=f"gram must hold inner products; found a squared distance of {square} between 0 and 1",
        ):
            function(gram)


def test_a_gram_matrix_has_no_negative_eigenvalue():
    """But for rounding: one part in a million of its largest entry."""
    with pytest.raises(
        ValueError, match=r"gram, once centered, must have no negative eigenvalue; found -0.41"
    ):
        dimension.effective_dimension(gram=NO_TRIANGLE)
    with pytest.raises(ValueError, match="bag 1: gram, once centered"):
        dimension.pooled_dimension(grams=[np.eye(3), NO_TRIANGLE])
    long, short = np.array([1.0, -1.0, 0.0]) / np.sqrt(2), np.array([1.0, 1.0, -2.0]) / np.sqrt(6)
    for part in (0.995e-6, 1.005e-6):
        gram = 4 * np.outer(long, long) - 4 * part * np.outer(short, short)  # its largest entry is 2
        if part < 1e-6:
            assert dimension.effective_dimension(gram=gram) == pytest.approx(1)
        else:
            with pytest.raises(ValueError, match="gram, once centered, must have no negative eigenvalue"):
                dimension.effective_dimension(gram=gram)


def test_gram_matrices_in_single_precision_are_fine(rng):
    x = (rng.normal(size=(300, 4)) + 30).astype(np.float32)
    gram = x @ x.T
    assert dimension.effective_dimension(gram=gram) == pytest.approx(
        dimension.effective_dimension(samples=x), rel=1e-3
    )
    assert dimension.naive_mse(gram) == pytest.approx(
        dimension.naive_mse(np.float64(x) @ np.float64(x).T), rel=1e-3
    )
