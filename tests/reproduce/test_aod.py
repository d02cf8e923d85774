"""The satellite table, on a small made-up file of the same format."""

import numpy as np
import pytest
import scipy.io

from stbmta import datasets
from stbmta.validation.reproduce import aod, figures
from stbmta.validation.reproduce.published import AOD
from stbmta.validation.runner import generator

from .. import naive


@pytest.fixture
def file(tmp_path):
    return write(tmp_path / "MISR1.mat", n_bags=10, n_pixels=60)


def write(path, n_bags, n_pixels, name="MISR1"):
    """Bag number, 12 reflectances in two clusters, 4 features that are constant in a bag, optical depth."""
    rng = np.random.default_rng(5)
    rows = []
    for bag in range(n_bags):
        pixels = 2.0 * (bag % 2) + rng.normal(size=(n_pixels, 12)) * 0.7
        constant = np.tile(rng.normal(size=4), (n_pixels, 1))
        rows.append(
            np.column_stack([np.full(n_pixels, bag + 1), pixels, constant, np.full(n_pixels, 0.1 * bag)])
        )
    scipy.io.savemat(path, {name: np.vstack(rows)})
    return path


def plain_errors(W, G, cross, norms, clip):
    errors = naive.squared_error(W, G, cross, norms)
    return np.mean(np.maximum(errors, 0) if clip else errors)


@pytest.mark.parametrize("whole", [False, True])
def test_a_trial_agrees_with_plain_loops(file, whole, monkeypatch):
    """Draw, choose on one half, evaluate on the other; the same again with loops on small grids."""
    zetas, gammas, cs, constants, pulls = (
        [0.0, 0.75, 4.0],
        [0.0, 0.35],
        [0.1, 0.5],
        [0.5, 2.0],
        [100.0, 2000.0],
    )
    for name, values in zip(
        ("ZETAS", "GAMMAS", "CS", "CONSTANTS", "PULLS"), (zetas, gammas, cs, constants, pulls), strict=True
    ):
        monkeypatch.setattr(aod, name, np.array(values))
    found = aod.trial_errors(str(file), 3, 1, whole)

    bags = datasets.load_misr1(file, varying_only=True)
    rng = generator(3, "aod", 1)
    drawn = bags.subsample(20, rng)
    order = rng.permutation(10)
    kernel = naive.rbf(1.0)

    def half(which):
        small, large = [list(drawn[i]) for i in which], [list(bags[i]) for i in which]
        G = naive.gram(kernel, small)
        norms = np.diag(naive.gram(kernel, large))
        if not whole:
            norms = norms - naive.naive_mse(kernel, large)
        facts = naive.mmd2(kernel, small), naive.naive_mse(kernel, small)
        return G, naive.gram(kernel, small, large), norms, *facts, naive.rkmse(kernel, small)

    def candidates(U, mse):
        B = len(U)
        N = {zeta: naive.neighbors(U, mse, zeta) for zeta in zetas}
        distance = np.maximum(U, 0).sum() / (B * (B - 1))
        return {
            "STB-0": [naive.stb(N[z], [0.0] * B) for z in zetas if z <= 3],
            "MTA const": [naive.mta(np.full((B, B), 2 / distance), mse, g) for g in constants],
            "MTA stb": [naive.mta(N[z].astype(float), mse, g) for z in zetas for g in pulls],
            "STB theory": [naive.stb(N[z], naive.gamma_theory(N[z], z, c)) for z in zetas for c in cs],
            "STB weight": [naive.stb(N[z], [g] * B) for z in zetas for g in gammas],
        }

    G, cross, norms, U, mse, _ = half(np.sort(order[:5]))
    best = {
        name: int(np.argmin([plain_errors(W, G, cross, norms, not whole) for W in weights]))
        for name, weights in candidates(U, mse).items()
    }
    G, cross, norms, U, mse, shrunk = half(np.sort(order[5:]))
    evaluated = {name: weights[best[name]] for name, weights in candidates(U, mse).items()}
    evaluated |= {"NE": np.eye(5), "R-KMSE": shrunk}
    for name, W in evaluated.items():
        expected = plain_errors(W, G, cross, norms, not whole)
        assert found["errors"][aod.METHODS.index(name)] == pytest.approx(expected, rel=1e-7), name


def test_the_grids_are_those_of_the_authors():
    assert (len(aod.ZETAS), aod.ZETAS[1], aod.ZETAS[-1]) == (41, 0.25, 10.0)
    assert (len(aod.CS), aod.CS[0], aod.CS[1], aod.CS[-1]) == (41, 0.1, 0.25, 10.0)
    assert (len(aod.PULLS), aod.PULLS[1], aod.PULLS[-1]) == (41, 250.0, 10000.0)
    assert (len(aod.GAMMAS), len(aod.CONSTANTS), aod.CONSTANTS[-1]) == (21, 41, 10.0)


def test_the_table_stands_beside_the_paper(file, tmp_path):
    table = aod.run(tmp_path / "t", file, n_trials=2, jobs=1)
    frame = table.to_frame()
    assert frame["paper"].dropna().to_dict() == AOD
    value, spread = table.decrease("STB weight")
    e = table.errors
    assert value == pytest.approx(100 * (1 - e[:, 6].mean() / e[:, 0].mean()))
    assert spread > 0
    assert frame.loc["STB weight", "difference"] == pytest.approx(value - 22.73)
    assert "without k(y, y), clipped" in table.summary()
    figures.draw_aod(table, tmp_path / "f.png")
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")
    again = aod.run(tmp_path / "t", file, n_trials=2, jobs=1, resume=True)
    np.testing.assert_array_equal(again.errors, e)
    whole = aod.run(tmp_path / "w", file, n_trials=2, whole=True, jobs=1)
    assert "against the whole bag\n" in whole.summary()
    assert (whole.errors[:, 0] > e[:, 0]).all()


def test_other_pixels_do_not_mix_with_results(file, tmp_path):
    other = write(tmp_path / "other.mat", n_bags=10, n_pixels=60)
    for path, signs in ((file, [1, -1]), (other, [-1, 1])):  # standardized, they have the same sums
        matrix = scipy.io.loadmat(path)["MISR1"]
        matrix[:, 1:13] = np.tile(signs, 300)[:, None]
        scipy.io.savemat(path, {"MISR1": matrix})
    aod.run(tmp_path / "t", file, n_trials=2, jobs=1)
    with pytest.raises(ValueError, match="data differ"):
        aod.run(tmp_path / "t", other, n_trials=2, jobs=1, resume=True)


def test_bad_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="github.com/Han1Mar/stb_kme"):
        aod.run(tmp_path / "t", tmp_path / "MISR1.mat")
    few = write(tmp_path / "few.mat", n_bags=3, n_pixels=24)
    with pytest.raises(ValueError, match="3 bags; two halves need at least 4"):
        aod.run(tmp_path / "t", few)
    scarce = write(tmp_path / "scarce.mat", n_bags=6, n_pixels=25)
    with pytest.raises(ValueError, match=r"a bag has 25 pixels.*its decrease is undefined. Use --whole"):
        aod.run(tmp_path / "t", scarce)
    small = write(tmp_path / "small.mat", n_bags=6, n_pixels=20)
    with pytest.raises(ValueError, match="20 row"):
        aod.run(tmp_path / "t", small)
    assert not (tmp_path / "t").exists()
