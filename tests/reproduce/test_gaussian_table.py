"""The Gaussian table: its trials against plain loops, its collection, and the paper's numbers."""

import numpy as np
import pytest

from stbmta import datasets
from stbmta.validation.reproduce import figures, gaussian_table
from stbmta.validation.reproduce.published import GAUSSIAN, GAUSSIAN_METHODS
from stbmta.validation.runner import generator

from .. import naive


def drawn(model, n_bags, seed=0, trial=0):
    name, arguments = (gaussian_table.MODELS | gaussian_table.READINGS)[model]
    rng = generator(seed, "gaussian-table", model, trial)
    sample = getattr(datasets, name)(n_bags, rng=rng, **arguments)
    return sample.bags.data, sample.means


def error(estimates, means):
    return ((estimates - means) ** 2).sum(axis=1).mean() / means.shape[1]


@pytest.mark.parametrize("model", ["SPARSE", "CLUSTER"])
def test_a_trial_agrees_with_plain_loops(model):
    """Tests, weights and errors written down again, one grid point at a time."""
    B = 60
    X, means = drawn(model, B)
    d = X.shape[1]
    found = gaussian_table.trial_errors(model, B, 0, 0)
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    zetas = [2 + 0.1 * k for k in range(21)]
    zero = [error(naive.stb(distances <= zeta * d, [0.0] * B) @ X, means) for zeta in zetas]
    np.testing.assert_allclose(found["STB-0"], zero, rtol=1e-9)
    zeta = zetas[int(np.argmin(zero))]
    assert found["excess"][0] == pytest.approx(zeta - 2)
    N = distances <= zeta * d
    laplacian = np.diag(N.sum(axis=1)) - N.astype(float)
    others = N.sum(axis=1) - 1
    for k in range(21):
        g, c, pull = 0.015 * k, 0.05 * k, 0.01 * k
        assert found["STB weight"][k] == pytest.approx(error(naive.stb(N, [g] * B) @ X, means), rel=1e-9)
        gammas = g * others / ((1 + g) * others + 1)
        assert found["STB theory"][k] == pytest.approx(error(naive.stb(N, gammas) @ X, means), rel=1e-9)
        assert found["MTA const"][k] == pytest.approx(
            error((1 - c) * X + c * X.mean(axis=0), means), rel=1e-9
        )
        pulled = np.linalg.solve(np.eye(B) + pull * laplacian, X)
        assert found["MTA stb"][k] == pytest.approx(error(pulled, means), rel=1e-8)
    kept = np.maximum(0, 1 - (d - 2) / (X**2).sum(axis=1))
    assert found["PPJS"] == pytest.approx(error(kept[:, None] * X, means), rel=1e-9)


def test_without_an_oracle_errors_are_those_at_the_chosen_parameters():
    B = 60
    X, means = drawn("CLUSTER", B)
    found = gaussian_table.trial_errors("CLUSTER", B, 0, 0)
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    U = np.maximum(distances - 2 * 1000, 0)
    np.fill_diagonal(U, 0.0)
    strength = 2 * 1000 / (U.sum() / (B * (B - 1)))
    constant = np.linalg.solve(np.eye(B) + strength * (np.eye(B) - np.full((B, B), 1 / B)), X)
    assert found["free"][0] == pytest.approx(error(constant, means), rel=1e-8)
    zeta = found["excess"][1] + 2
    N = distances <= zeta * 1000
    # The error is a parabola in gamma.
    ends = [error(naive.stb(N, [g] * B) @ X, means) for g in (0.0, 0.5, 1.0)]
    a, b, c = np.polyfit([0.0, 0.5, 1.0], ends, 2)
    least = np.polyval([a, b, c], np.clip(-b / (2 * a), 0, 1))
    assert least - 1e-9 <= found["free"][4] <= max(ends)
    assert found["free"][2] in found["STB-0"]


def test_sparse_has_the_numbers_of_the_paper():
    """One trial of the real size: a standard deviation of about .008 a trial."""
    found = gaussian_table.trial_errors("SPARSE", 2000, 0, 0)
    decrease = [1 - found[method].min() for method in GAUSSIAN_METHODS]
    np.testing.assert_allclose(decrease, GAUSSIAN["SPARSE"], atol=0.025)
    # Without an oracle no worse than the paper's oracle, which fixes the threshold first.
    assert 1 - found["free"][4] > GAUSSIAN["SPARSE"][5] - 0.02


def test_the_table_averages_curves_before_it_takes_the_best(tmp_path):
    table = gaussian_table.run(tmp_path / "t", n_trials=3, n_bags=30, jobs=1)
    trials = [gaussian_table.trial_errors("SPHERE", 30, 0, k) for k in range(3)]
    for m, method in enumerate(GAUSSIAN_METHODS):
        curves = np.array([np.atleast_1d(trial[method]) for trial in trials])
        best = curves[:, np.argmin(curves.mean(axis=0))]
        assert table.found[2, m] == pytest.approx(1 - best.mean(), rel=1e-12)
        assert table.standard_errors[2, m] == pytest.approx(best.std(ddof=1) / np.sqrt(3), rel=1e-9)
    np.testing.assert_allclose(table.free[2, 1:], 1 - np.mean([t["free"] for t in trials], axis=0))
    assert table.free[2, 0] == table.found[2, 0]
    np.testing.assert_allclose(table.differences()[2], table.found[2] - GAUSSIAN["SPHERE"])
    largest = np.abs(table.differences()).max()
    assert f"largest difference to the paper: {largest:.4f}" in table.summary()
    frame = table.to_frame()
    assert frame.loc[("UNIF", "paper"), "STB-0"] == 0.796
    assert frame.loc[("UNIF", "no oracle"), "MTA const"] == table.free[0, 1]
    figures.draw_gaussian(table, tmp_path / "f.png")
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")


def test_readings_and_resuming(tmp_path):
    table = gaussian_table.run(tmp_path / "t", n_trials=2, n_bags=20, readings=True, jobs=1)
    assert table.models == tuple(gaussian_table.READINGS)
    np.testing.assert_allclose(table.differences(), table.found - np.array(GAUSSIAN["CLUSTER"]))
    assert table.to_frame().loc[("CLUSTER, 10 centers", "paper"), "PPJS"] == 0.495
    again = gaussian_table.run(tmp_path / "t", n_trials=2, n_bags=20, readings=True, jobs=1, resume=True)
    np.testing.assert_array_equal(again.found, table.found)
    assert again.seconds == table.seconds
    figures.draw_gaussian(table, tmp_path / "f.png")
    means = drawn("CLUSTER, variance 0.1", 400)[1]
    close = np.sort(((means[:1] - means) ** 2).mean(axis=1))[1:10]
    np.testing.assert_allclose(close, 2 * 0.1, rtol=0.2)
