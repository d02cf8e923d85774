"""Agreement with the outputs of the paper authors' public code, to the tolerances of rounding."""

from pathlib import Path

import numpy as np
import pytest

from stbmta import RBF, Bags, bag_statistics, cross_statistics, neighbors, proxy_truth, squared_error, weights

FILE = Path(__file__).parent / "data" / "conformance.npz"


@pytest.fixture(params=[f"p{k:02d}" for k in range(8)])
def problem(request):
    with np.load(FILE, allow_pickle=False) as file:
        start = request.param + "_"
        return {name.removeprefix(start): file[name] for name in file.files if name.startswith(start)}


@pytest.fixture
def bags(problem):
    return Bags.from_offsets(problem["points"], problem["offsets"])


@pytest.fixture
def proxy(problem):
    return Bags.from_offsets(problem["test_points"], problem["test_offsets"])


@pytest.fixture
def kernel(problem):
    return RBF(float(problem["kernel_width"]))


@pytest.fixture
def s(bags, kernel):
    return bag_statistics(bags, kernel)


@pytest.fixture
def W(problem, s):
    N = neighbors(s, float(problem["zeta"]))
    number = {
        name: float(problem[name]) for name in ("zeta", "gamma", "c", "gamma_mta_const", "gamma_mta_stb")
    }
    return {
        "ne": weights.naive(s),
        "rkmse": weights.rkmse(s),
        "stb0": weights.stb(N),
        "stb_weight": weights.stb(N, number["gamma"]),
        "stb_theory": weights.stb_theory(N, number["zeta"], number["c"]),
        "mta_const": weights.mta_constant(s, number["gamma_mta_const"]),
        "mta_stb": weights.mta_stb(s, N, number["gamma_mta_stb"]),
    }


def test_sums(problem, s, bags, proxy, kernel):
    counts = np.outer(s.sizes, s.sizes)
    np.testing.assert_array_equal(s.sizes, problem["num_obs"])
    np.testing.assert_allclose(s.gram * counts, problem["sum_K"], rtol=1e-12)
    without_diagonal = np.diagonal(s.gram) * s.sizes**2 - s.diagonal * s.sizes
    np.testing.assert_allclose(without_diagonal, problem["sum_no_diag"], rtol=1e-12)
    cross = cross_statistics(bags, proxy, kernel) * np.outer(bags.sizes, proxy.sizes)
    np.testing.assert_allclose(cross, problem["cross_sum"], rtol=1e-12)


def test_errors_of_the_naive_means_and_distances(problem, s):
    np.testing.assert_allclose(s.naive_mse, problem["task_mse"], rtol=0, atol=1e-13)
    off = ~np.eye(len(s), dtype=bool)
    np.testing.assert_allclose(s.mmd2()[off], problem["mmd2_raw"][off], rtol=0, atol=1e-13)
    np.testing.assert_allclose(s.mmd2(clip=True)[off], problem["mmd2_clipped"][off], rtol=0, atol=1e-13)


def test_neighbors(problem, s):
    np.testing.assert_array_equal(neighbors(s, float(problem["zeta"])), problem["neighbors"])


def test_weights(problem, W, request):
    rtol = 1e-6 if "p07" in request.node.name else 1e-9  # the differences of p07 cancel
    for name in W.keys() - {"ne"}:
        np.testing.assert_allclose(W[name], problem[f"W_{name}"], rtol=rtol, atol=1e-15, err_msg=name)


def test_squared_errors(problem, s, W, bags, proxy, kernel):
    truth = proxy_truth(bags, proxy, kernel)
    for name in W:
        error = squared_error(W[name], s, truth)
        np.testing.assert_allclose(error, problem[f"err_{name}"], rtol=0, atol=1e-13, err_msg=name)
        np.testing.assert_allclose(np.maximum(error, 0), problem[f"err_clipped_{name}"], rtol=0, atol=1e-13)
