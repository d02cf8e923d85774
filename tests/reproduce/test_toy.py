"""The toy figures: parameters, errors and tables against plain formulas, and the reference figures."""

import itertools

import matplotlib
import numpy as np
import pytest

from stbmta import RBF, bag_statistics, datasets, squared_error
from stbmta.validation.reproduce import figures, toy, toy_trials
from stbmta.validation.reproduce.methods import FREE, method_weights
from stbmta.validation.reproduce.published import TOY, TOY_METHODS
from stbmta.validation.reproduce.toy_trials import METHODS, SETTINGS, Setting
from stbmta.validation.runner import generator

from .. import naive


def setting(name):
    return next(s for s in SETTINGS if s.name == name)


SMALL = Setting(figure="c", value=0, sizes=(4, 4, 6, 6, 6, 9), radius=0.0)


def test_the_settings_are_those_of_the_paper():
    assert [len([s for s in SETTINGS if s.figure == f]) for f in "abcd"] == [17, 17, 1, 21]
    assert {s.name for s in SETTINGS if s.known} == {f"{f}-{v:g}" for f, v in TOY}
    imbalanced = setting("c-0").sizes
    assert (len(imbalanced), min(imbalanced), max(imbalanced)) == (50, 10, 300)
    assert set(setting("b-300").sizes) == {50}
    assert set(setting("a-300").sizes) == {300}
    assert setting("d-2.5").radius == 2.5


def test_clusters_stand_on_a_circle():
    sample = datasets.rotated_gaussians(50, 5, radius=3.0, rng=0)
    angles = np.unique(np.degrees(np.arctan2(sample.means[:, 1], sample.means[:, 0])).round(6) % 360)
    np.testing.assert_allclose(angles, [0, 72, 144, 216, 288])
    np.testing.assert_allclose(np.linalg.norm(sample.means, axis=1), 3.0)


def test_fresh_bags_have_the_same_distributions():
    sample = datasets.rotated_gaussians(3, 2, radius=4.0, rng=1)
    bags = sample.draw(40_000, rng=2)
    for bag, mean, covariance in zip(bags, sample.means, sample.covariances, strict=True):
        np.testing.assert_allclose(bag.mean(axis=0), mean, atol=0.08)
        np.testing.assert_allclose(np.cov(bag.T), covariance, atol=0.3)


@pytest.mark.parametrize("proxy", [False, True])
def test_grids_hold_the_errors_of_the_methods(proxy):
    """Sums over two trials, at a few points of each grid, by plain loops."""
    found = toy_trials.model_part(SMALL, 0, 0, 2, proxy)
    expected = dict.fromkeys(("weight", "theory", "const", "mta"), 0.0)
    for trial in range(2):
        rng = generator(0, "toy", "c-0", "model", trial)
        sample = datasets.rotated_gaussians(6, SMALL.sizes, rng=rng)
        kernel, lists = naive.rbf(2.25), list(sample.bags)
        G, U, mse = naive.gram(kernel, lists), naive.mmd2(kernel, lists), naive.naive_mse(kernel, lists)
        if proxy:
            _, _, truth = toy_trials.draw(SMALL, generator(0, "toy", "c-0", "model", trial), True)
            cross, norms = truth.cross, truth.norms
        else:
            cross, norms = exact(sample)

        def average(W, G=G, cross=cross, norms=norms):
            errors = naive.squared_error(W, G, cross, norms)
            return np.mean(np.maximum(errors, 0.0) if proxy else errors)

        N = naive.neighbors(U, mse, 1.2)
        expected["weight"] += average(naive.stb(N, [0.25] * 6))
        expected["theory"] += average(naive.stb(N, naive.gamma_theory(N, 1.2, 0.04)))
        distance = np.maximum(U, 0).sum() / 30
        expected["const"] += average(naive.mta(np.full((6, 6), 2 / distance), mse, 1.5))
        expected["mta"] += average(naive.mta(naive.neighbors(U, mse, 0.75).astype(float), mse, 500.0))
    assert found["STB weight"][12, 5] == pytest.approx(expected["weight"], rel=1e-8)
    assert found["STB theory"][12, 4] == pytest.approx(expected["theory"], rel=1e-8)
    assert found["MTA const"][0, 12] == pytest.approx(expected["const"], rel=1e-8)
    assert found["MTA stb"][3, 2] == pytest.approx(expected["mta"], rel=1e-8)


def exact(sample):
    """Inner products with the true embeddings, point by point from the formula."""
    B, w2 = len(sample.bags), 2.25**2
    cross, norms = np.empty((B, B)), np.empty(B)
    for i in range(B):
        S = sample.covariances[i]
        scale = np.linalg.det(np.eye(2) + S / w2) ** -0.5
        inverse = np.linalg.inv(S + w2 * np.eye(2))
        norms[i] = np.linalg.det(np.eye(2) + 2 * S / w2) ** -0.5
        for j in range(B):
            rest = sample.bags[j] - sample.means[i]
            cross[j, i] = np.mean([scale * np.exp(-0.5 * x @ inverse @ x) for x in rest])
    return cross, norms


def test_the_authors_grid_is_part_of_the_wider_one():
    errors = {
        "STB weight": np.ones((51, 21)),
        "STB theory": np.ones((51, 28)),
        "MTA const": np.ones((1, 41)),
        "MTA stb": np.ones((13, 41)),
    }
    errors["STB weight"][40, 3], errors["STB weight"][30, 2], errors["STB weight"][7, 0] = 0.1, 0.2, 0.3
    errors["STB theory"][5, 1], errors["STB theory"][6, 3] = 0.1, 0.2
    errors["MTA const"][0, 8], errors["MTA stb"][2, 5] = 0.5, 0.5
    assert toy_trials.choose(errors) == {
        "STB-0": (0.7, 0.0),
        "STB weight": (3.0, 0.1),
        "STB theory": (0.6, 0.02),
        "STB-0, wider grid": (0.7, 0.0),
        "STB weight, wider grid": (4.0, 0.15),
        "STB theory, wider grid": (0.5, 0.005),
        "MTA const": (pytest.approx(np.nan, nan_ok=True), 1.0),
        "MTA stb": (0.5, 1250.0),
    }


@pytest.mark.parametrize("proxy", [False, True])
def test_final_errors_are_those_of_the_weights_by_bag_size(proxy):
    choice = dict.fromkeys(METHODS, (1.1, 0.3))
    found = toy_trials.final_part(SMALL, 0, 3, 5, proxy, choice)["errors"]
    assert found.shape == (2, len(METHODS), 3)
    _, s, truth = toy_trials.draw(SMALL, generator(0, "toy", "c-0", "final", 4), proxy)
    for name in METHODS[:-1]:
        errors = squared_error(method_weights(name, s, choice), s, truth)
        if proxy:
            errors = np.maximum(errors, 0)
        expected = [errors[:2].mean(), errors[2:5].mean(), errors[5]]
        np.testing.assert_allclose(found[1, METHODS.index(name)], expected, rtol=1e-9)
    assert (found[:, METHODS.index(FREE)] > 0).all() or proxy


def test_decreases_pool_all_bags_and_scores_compare_with_the_reference():
    rng = np.random.default_rng(0)
    point = setting("a-20")
    clipped = setting("a-300")
    errors = {s.name: rng.random((7, len(METHODS), 1)) for s in (point, clipped)}
    errors["c-0"] = rng.random((7, len(METHODS), 3))
    found = toy.Toy(
        settings=(point, clipped, SMALL),
        choices={s: {} for s in errors},
        errors=errors,
        proxy=False,
        n_trials=(1, 7),
        seconds=0.0,
    )
    pooled = (2 * errors["c-0"][:, :, 0] + 3 * errors["c-0"][:, :, 1] + errors["c-0"][:, :, 2]) / 6
    value, spread = found.decrease(SMALL, "STB-0")
    ratio = pooled[:, 2].mean() / pooled[:, 0].mean()
    assert value == pytest.approx(100 * (1 - ratio))
    rest = pooled[:, 2] - ratio * pooled[:, 0]
    assert spread == pytest.approx(100 * rest.std(ddof=1) / np.sqrt(7) / pooled[:, 0].mean())
    one = errors["c-0"][:, :, 1].mean(axis=0)
    assert found.decrease(SMALL, "MTA stb", 6)[0] == pytest.approx(100 * (1 - one[6] / one[0]))
    value, spread = found.decrease(point, "MTA const")
    assert found.score(point, "MTA const") == pytest.approx((value - 56.89) / np.hypot(spread, 0.25))
    assert np.isnan(found.score(point, FREE))
    assert np.isnan(found.score(clipped, "STB-0"))
    assert "reference, clipped  0.34+-0.04" in found.summary()
    narrow, wide = found.summary(80), found.summary()
    assert max(map(len, narrow.splitlines())) <= 80 < max(map(len, wide.splitlines()))
    assert set(narrow.split()) == set(wide.split()) | {"-" * 20}


def test_the_reference_figures_are_met(tmp_path):
    """Standard errors of about half a point."""
    settings = (setting("a-20"), setting("d-2"))
    found = toy.run(tmp_path / "t", settings=settings, n_trials=(30, 60), jobs=1)
    scores = [found.score(s, method) for s in settings for method in TOY_METHODS]
    assert np.abs(scores).max() < 3.7
    for s in settings:
        spread = [found.decrease(s, method)[1] for method in TOY_METHODS]
        assert max(spread) < 1.2
        # Without an oracle K-fold comes close to the best.
        assert found.decrease(s, FREE)[0] > found.decrease(s, "STB weight")[0] - 4


def test_proxies_of_the_truth_tell_the_same():
    """The same bags, judged by 1000 more points of each: little differs where nothing is clipped."""
    choice = dict.fromkeys(METHODS, (1.0, 0.05)) | {"MTA const": (np.nan, 1.0), "MTA stb": (0.5, 1000.0)}
    exact, proxied = (
        toy_trials.final_part(setting("a-20"), 0, 0, 5, proxy, choice)["errors"][:, :-1, 0]
        for proxy in (False, True)
    )
    difference = (proxied - exact) / exact[:, :1].mean()
    np.testing.assert_allclose(difference.mean(axis=0), 0.0, atol=0.025)
    assert np.abs(difference).min() > 1e-5


def test_a_run_can_be_resumed_and_tells_everything(tmp_path):
    settings = (setting("a-10"), setting("b-10"), setting("c-0"), setting("d-0.25"))
    found = toy.run(tmp_path / "t", settings=settings, n_trials=(2, 3), jobs=1)
    again = toy.run(tmp_path / "t", settings=settings, n_trials=(2, 3), jobs=1, resume=True)
    np.testing.assert_array_equal(again.errors["c-0"], found.errors["c-0"])
    assert again.choices == found.choices
    frame = found.to_frame()
    by_size = frame[frame["size"].notna()]
    assert set(by_size["figure"]) == {"c"}
    assert len(frame) - len(by_size) == 4 * (len(METHODS) - 1)
    row = frame[(frame["figure"] == "b") & (frame["method"] == "STB theory")].iloc[0]
    assert (row["reference"], row["reference_error"]) == (49.99, 0.78)
    assert row["z"] == found.score(settings[1], "STB theory")
    text = found.summary()
    for piece in ("(a) Different Bag Sizes", "(d) Clustered Bags", "(c) by bag size", "18 compared", FREE):
        assert piece in text
    sizes = settings[2].sizes
    lines = text.splitlines()
    place = next(k for k, line in enumerate(lines) if line.startswith("10 ") and "(" in line)
    value, error = found.decrease(settings[0], "R-KMSE")
    assert lines[place].split()[1] == f"{value:.2f}+-{error:.2f}"
    assert lines[place + 1].split()[:3] == ["reference", "7.50+-0.19", "70.45+-0.23"]
    average = sum(found.decrease(settings[2], "STB weight", size)[0] for size in sizes) / 50
    assert f"{average:.1f} (61.5)" in text
    figures.draw_toy(found, tmp_path / "f.png")
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="holds results of other settings"):
        toy.run(tmp_path / "t", settings=settings, n_trials=(2, 3), proxy=True, jobs=1, resume=True)


def test_without_reference_there_is_nothing_to_compare(tmp_path):
    found = toy.run(tmp_path / "t", settings=[setting("d-0.25")], n_trials=(1, 2), jobs=1)
    assert "compared" not in found.summary()
    figures.draw_toy(found, tmp_path / "f.png")


def test_drawing_leaves_pyplot_alone(tmp_path, monkeypatch):
    """Whoever draws in a notebook keeps the backend that shows pictures there."""
    monkeypatch.setattr(matplotlib, "use", lambda *_: pytest.fail("the backend was changed"))
    figures.draw_toy(
        toy.Toy(settings=(), choices={}, errors={}, proxy=False, n_trials=(1, 2), seconds=0.0),
        tmp_path / "f.png",
    )
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")


def test_long_experiments_come_in_parts_of_some_seconds():
    parts = toy._parts(setting("b-300"), "model", toy_trials.model_part, 100, (False,), 0)
    trials = [part.arguments[2:4] for part in parts]
    assert trials[0][0] == 0
    assert trials[-1][1] == 100
    assert all(a[1] == b[0] for a, b in itertools.pairwise(trials))
    assert len({part.name for part in parts}) == len(parts) > 40


def test_the_kernel_is_that_of_the_paper():
    assert RBF(2.25) == toy_trials.KERNEL
    s = bag_statistics(datasets.rotated_gaussians(2, 5, rng=0).bags, toy_trials.KERNEL)
    assert method_weights("NE", s, {}).tolist() == [[1, 0], [0, 1]]
