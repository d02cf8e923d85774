"""Displays: what they compute is right, and every one can be drawn."""

from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
import scipy.sparse

import stbmta
from stbmta import MTA, RBF, RKMSE, STB, Bags, JamesStein, NaiveMean, datasets, plotting
from stbmta.pairs import pair_pvalues
from stbmta.plotting import neighbors as neighbor_plots
from stbmta.theory import gaussian

mpl.use("Agg")


@pytest.fixture
def bags(rng):
    sizes = [8, 8, 12, 20, 20, 40, 40, 60]
    return Bags.from_list(
        [rng.normal(k // 4, 1.0, (n, 6)) for k, n in enumerate(sizes)], [f"bag {k}" for k in range(8)]
    )


def drawn(display):
    """Draw on axes of its own, and on given ones; the picture must not be empty."""
    from matplotlib.figure import Figure

    assert display.plot().ax_.figure is display.figure_
    ax = Figure().add_subplot()
    assert display.plot(ax=ax).ax_ is ax
    ax.figure.canvas.draw()
    assert ax.has_data()
    assert ax.get_title()
    return ax


def test_neighbors(bags):
    est = STB(zeta=1.0, gamma=0.0).fit(bags)
    display = plotting.NeighborsDisplay.from_estimator(est)
    ax = drawn(display)
    # The matrix on the picture is the matrix of neighbors, reordered; the diagonal has a color of its own.
    shown = np.asarray(ax.images[0].get_array())
    order = display.order_
    np.testing.assert_array_equal(shown > 0, est.neighbors_[np.ix_(order, order)])
    assert (np.diagonal(shown) == 2).all()
    assert [text.get_text() for text in ax.get_yticklabels()] == bags.labels[order].tolist()
    # The two clusters stand apart in the order.
    assert len(set((order[:4] // 4).tolist())) == 1
    assert display.plot(kind="graph").ax_.collections
    with pytest.raises(ValueError, match="kind must be"):
        display.plot(kind="tree")
    with pytest.raises(ValueError, match="RKMSE runs no similarity tests"):
        plotting.NeighborsDisplay.from_estimator(RKMSE().fit(bags))
    sparse = plotting.NeighborsDisplay(
        display.distances, scipy.sparse.csr_array(est.neighbors_), bags.labels, bags.sizes
    )
    np.testing.assert_array_equal(sparse.neighbors, est.neighbors_)


def test_a_graph_with_very_many_lines_shows_the_nearest(rng):
    x = rng.normal(size=(60, 2))
    distances = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    everybody = np.ones((60, 60), dtype=bool)
    everybody[0, 1:] = False  # bag 0 wants nobody, but others want it
    display = plotting.NeighborsDisplay(distances, everybody, np.arange(60), np.full(60, 5))
    ax = display.plot(kind="graph").ax_
    assert "(5 nearest shown)" in ax.get_title()
    assert sum(len(lines.get_segments()) for lines in ax.collections[:2]) <= 5 * 60
    drawn_pairs = {tuple(map(tuple, segment)) for segment in ax.collections[0].get_segments()}
    places = neighbor_plots.principal_directions(-distances / 2)
    for i in range(1, 60):
        near = next(j for j in np.argsort(distances[i]) if j not in (i, 0))
        pair = tuple(map(tuple, places[sorted([i, near])]))
        assert pair in drawn_pairs
    few = plotting.NeighborsDisplay(distances, np.eye(60, dtype=bool), np.arange(60), np.full(60, 5))
    assert "nearest" not in few.plot(kind="graph").ax_.get_title()


def test_labels_are_text_not_formulas(rng):
    """Dollars in names are dollars; a lone one is no error."""
    names = ["$5 to $10", "a$b", "$x_1$", r"$\frac", "$" * 30]
    bags = Bags.from_list([rng.normal(size=(8, 2)) for _ in names], names, columns=["$price$", "x_1"])
    est = STB(RBF(1.0), zeta=1.0, gamma=0.2).fit(bags)
    display = plotting.NeighborsDisplay.from_estimator(est)
    ax = drawn(display)
    shown = [text.get_text().replace(r"\$", "$") for text in ax.get_yticklabels()]
    assert shown == [names[k] if k < 4 else "$" * 12 + "…" + "$" * 12 for k in display.order_]
    display.plot(kind="graph").figure_.canvas.draw()
    witness = plotting.WitnessDisplay.from_estimator(est, "$x_1$", "$5 to $10", resolution=5)
    assert drawn(witness).get_xlabel() == r"\$price\$"


def test_principal_directions_keep_distances_of_planar_points(rng):
    x = rng.normal(size=(9, 2))
    squared = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    for gram in (x @ x.T, -squared / 2):
        places = neighbor_plots.principal_directions(gram)
        found = ((places[:, None] - places[None]) ** 2).sum(axis=2)
        np.testing.assert_allclose(found, squared, atol=1e-10)
    np.testing.assert_array_equal(neighbor_plots.principal_directions(np.ones((1, 1))), np.zeros((1, 2)))
    assert neighbor_plots.similarity_order(np.zeros((2, 2))).tolist() == [0, 1]


@pytest.mark.parametrize("estimator", [STB(zeta=1.0, gamma=0.3), RKMSE(), MTA(), JamesStein()])
def test_shrinkage_by_vectors_and_by_inner_products_agree(bags, estimator):
    """The linear kernel goes by the means, another kernel by the Gram matrix: same picture up to signs."""
    est = estimator.fit(bags)
    by_vectors = plotting.ShrinkageDisplay.from_estimator(est)
    from stbmta.plotting.shrinkage import _project_embeddings

    naive, estimate, share = _project_embeddings(est.statistics_.gram, est.weights_)
    signs = np.sign((naive * by_vectors.naive).sum(axis=0))
    np.testing.assert_allclose(naive * signs, by_vectors.naive, atol=1e-9)
    np.testing.assert_allclose(estimate * signs, by_vectors.estimate, atol=1e-9)
    assert share == pytest.approx(by_vectors.explained)
    drawn(by_vectors)


def test_shrinkage_of_embeddings_and_of_one_bag(bags, rng):
    display = plotting.ShrinkageDisplay.from_estimator(STB(RBF(2.0), zeta=1.0, gamma=0.0).fit(bags))
    drawn(display)
    assert 0 < display.explained <= 1
    one = plotting.ShrinkageDisplay.from_estimator(NaiveMean().fit([rng.normal(size=(5, 3))]))
    assert drawn(one).get_title() == "naive mean to estimate"  # no share of no variance
    np.testing.assert_allclose(one.naive, 0, atol=1e-12)
    one = plotting.ShrinkageDisplay.from_estimator(NaiveMean(RBF(1.0)).fit([rng.normal(size=(5, 3))]))
    np.testing.assert_allclose(one.naive, 0, atol=1e-12)
    halves = STB(RBF(1.0), zeta=1.0, gamma=0.0, split=0.5, cross_fit=True).fit(bags)
    with pytest.raises(ValueError, match="halves of bags"):
        plotting.ShrinkageDisplay.from_estimator(halves)


def test_shrinkage_of_two_bags_is_along_a_line(rng):
    """Rounding gives no second direction."""
    est = RKMSE().fit([rng.normal(size=(8, 3)) for _ in range(2)])
    display = plotting.ShrinkageDisplay.from_estimator(est)
    assert display.naive[:, 1].tolist() == display.estimate[:, 1].tolist() == [0.0, 0.0]
    assert np.ptp(display.naive[:, 0]) > 0.1


def test_equal_means_have_no_share_of_variance():
    display = plotting.ShrinkageDisplay.from_estimator(NaiveMean().fit([np.eye(3)] * 2))
    assert drawn(display).get_title() == "naive means to estimates (all equal)"


def test_numbers_below_the_shrinkage_of_one_bag_do_not_overlap():
    from matplotlib.figure import Figure

    ax = Figure(figsize=(4.4, 3.3), layout="constrained").add_subplot()
    naive, estimate = np.zeros((1, 2)), np.array([[-0.164, 0.0]])
    plotting.ShrinkageDisplay(naive, estimate, np.array(["a"]), np.nan).plot(ax=ax)
    ax.figure.draw_without_rendering()
    boxes = sorted((text.get_window_extent() for text in ax.get_xticklabels()), key=lambda box: box.x0)
    assert len(boxes) >= 3
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_errors_by_size(bags, rng):
    est = STB(zeta=1.0, gamma=0.0).fit(bags)
    display = plotting.ErrorBySizeDisplay.from_estimator(est)
    ax = drawn(display)
    naive = ax.lines[0]
    # Averages over the bags of each size.
    first = est.statistics_.naive_mse[:2].mean()
    assert naive.get_ydata()[0] == pytest.approx(first)
    assert naive.get_xdata()[0] == pytest.approx(8)
    many = plotting.ErrorBySizeDisplay(np.arange(5, 65), {"naive": 1 / np.arange(5, 65)})
    assert 2 <= len(drawn(many).lines[0].get_xdata()) <= 6
    equal = plotting.ErrorBySizeDisplay(np.full(4, 10), {"naive": np.array([-0.1, 0.1, 0.1, 0.1])})
    assert drawn(equal).get_yscale() == "linear"
    # Bags of one size stand side by side, not in one stripe: in the order of the first errors, with the average.
    errors = {"naive": np.array([0.3, 0.1, 0.2, 0.4]), "STB": np.array([0.03, 0.01, 0.02, 0.04])}
    ax = drawn(plotting.ErrorBySizeDisplay(np.full(4, 10), errors))
    for points, line, values in zip(ax.collections, ax.lines, errors.values(), strict=True):
        np.testing.assert_allclose(points.get_offsets(), np.column_stack([[3, 1, 2, 4], values]))
        np.testing.assert_allclose(line.get_ydata(), values.mean())
    assert ax.get_xlabel() == "bags of 10 points, by the error of naive"
    drawn(plotting.ErrorBySizeDisplay(np.array([5]), {"naive": np.array([0.5])}))
    with pytest.raises(ValueError, match="4 sizes, but errors of shape"):
        plotting.ErrorBySizeDisplay(np.full(4, 10), {"naive": np.ones(3)})
    with pytest.raises(ValueError, match="cannot be estimated"):
        plotting.ErrorBySizeDisplay.from_estimator(STB(zeta=1.0, gamma=0.0, split=0.5).fit(bags))


@pytest.mark.parametrize("sizes", [[3, 200], [40, 60], [5, 5000], [9, 10, 11], [100, 101]])
def test_ticks_are_plain_numbers(sizes):
    ax = drawn(plotting.ErrorBySizeDisplay(np.array(sizes), {"naive": 1 / np.array(sizes)}))
    for axis in (ax.xaxis, ax.yaxis):
        names = [text.get_text() for text in axis.get_ticklabels() + axis.get_ticklabels(minor=True)]
        assert 2 <= len(names) <= 8
        np.testing.assert_allclose([float(name) for name in names], axis.get_ticklocs(), rtol=1e-3)


def test_pairs(bags):
    pairs = pair_pvalues(bags, "linear")
    display = plotting.PairsDisplay.from_pvalues(pairs, correction="bonferroni", alpha=0.01)
    ax = drawn(display)
    order = display.order_
    np.testing.assert_allclose(
        np.asarray(ax.images[0].get_array()), np.sqrt(np.maximum(pairs.distances, 0)[np.ix_(order, order)])
    )
    # One dot for each ordered pair that is not told apart.
    assert len(ax.collections[0].get_offsets()) == (pairs.corrected("bonferroni") > 0.01).sum()
    assert "dot" not in drawn(plotting.PairsDisplay(pairs.distances, pairs.labels)).get_title()


def test_risk(bags):
    est = STB(random_state=0).fit(bags)
    display = plotting.RiskDisplay.from_estimator(est)
    ax = drawn(display)
    np.testing.assert_allclose(
        np.asarray(ax.collections[0].get_array()).min(), est.tuning_.risk.min(), rtol=1e-12
    )
    only_zeta = plotting.RiskDisplay.from_tuning(stbmta.tune_stb(bags, gamma=0.0, rng=0))
    curve = drawn(only_zeta).lines[0].get_ydata()
    assert curve.min() == pytest.approx(only_zeta.risk.min())
    only_gamma = plotting.RiskDisplay.from_tuning(stbmta.tune_stb(bags, zeta=1.0, rng=0))
    assert drawn(only_gamma).get_xlabel() == "shrinkage gamma"
    theory = plotting.RiskDisplay.from_tuning(stbmta.tune_stb(bags, gamma="theory", rng=0))
    assert drawn(theory).get_xlabel() == "shrinkage c"
    rng = np.random.default_rng(0)
    equal = Bags.from_list([rng.normal(size=(9, 5)) for _ in range(6)])
    everybody = stbmta.tune_stb(equal, zetas=[0.0, np.inf], n_draws=1, rng=0)
    assert np.isinf(everybody.zeta)
    drawn(plotting.RiskDisplay.from_tuning(everybody))
    high = drawn(
        plotting.RiskDisplay.from_tuning(stbmta.tune_stb(equal, zetas=[1.5, 2.0, 4.0, np.inf], rng=0))
    )
    assert high.get_ylim()[0] > 1.0  # nothing is shown below the smallest threshold
    with pytest.raises(ValueError, match="nothing was tuned"):
        plotting.RiskDisplay.from_estimator(STB(zeta=1.0, gamma=0.0).fit(bags))


def test_covering():
    sample = datasets.cluster(60, 20, n_clusters=5, spread=0.01, rng=0)
    display = plotting.CoveringDisplay.from_points(sample.means)
    drawn(display)
    # Five tight clusters: five balls suffice over a wide range of radii.
    assert (display.profile.upper == 5).sum() > 10
    est = NaiveMean().fit(sample.bags)
    assert "estimated means" in drawn(plotting.CoveringDisplay.from_estimator(est)).get_title()
    given = plotting.CoveringDisplay.from_points(sample.means, radii=[1.0, 2.0])
    assert given.profile.radii.tolist() == [1.0, 2.0]


def test_threshold_curves_cross_the_level_at_the_exact_tau():
    display = plotting.ThresholdDisplay.from_gaussian(100, 1000, alpha=0.05)
    ax = drawn(display)
    # The legend stands above the axes, clear of the curves.
    assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1 - 5
    tau = float(gaussian.exact_tau(100, 1000, 0.05))
    type_1 = np.interp(tau, display.taus, display.type_1)
    type_2 = np.interp(tau / 3, display.taus, display.type_2)
    assert max(type_1, type_2) == pytest.approx(0.05, rel=0.05)
    loose = plotting.ThresholdDisplay.from_gaussian(100, 3, zeta=2.0)
    drawn(loose)
    assert loose.type_2[0] == 1.0


def test_witness(bags):
    rng = np.random.default_rng(0)
    for dim in (1, 2, 5):
        est = STB(RBF(1.0), zeta=1.0, gamma=0.0).fit(
            Bags.from_list([rng.normal(3 * k, 1, (15, dim)) for k in range(2)], ["low", "high"])
        )
        display = plotting.WitnessDisplay.from_estimator(est, "low", "high", resolution=12)
        drawn(display)
        # Where the points of the first bag lie, the function is positive.
        near = est.embedding_.witness(0, 1, est.bags_.bag("low"))
        assert (near > 0).all()
        assert display.witness.max() > 0 > display.witness.min()
    with pytest.raises(KeyError, match="there is no bag 'middle'"):
        plotting.WitnessDisplay.from_estimator(est, "low", "middle")
    named = Bags.from_list([rng.normal(size=(5, 2))] * 2, columns=["mass", "length"])
    ax = drawn(plotting.WitnessDisplay.from_estimator(NaiveMean(RBF(1.0)).fit(named), 0, 1, resolution=5))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mass", "length")


def test_figure_of_an_estimate_leaves_out_what_there_is_not(bags):
    whole = plotting.estimate_figure(STB(zeta=1.0, gamma=0.0).fit(bags))
    assert len(whole.axes) == 3
    # The matrix has the height of both others, so that its names can be read.
    whole.draw_without_rendering()
    heights = [ax.get_position().height for ax in whole.axes]
    assert heights[0] > 1.8 * max(heights[1:])
    titles = [ax.get_title() for ax in plotting.estimate_figure(MTA().fit(bags)).axes]
    assert titles[0] == "weights of 8 bags"
    halves = STB(RBF(1.0), zeta=1.0, gamma=0.0, split=0.5, cross_fit=True).fit(bags)
    assert len(plotting.estimate_figure(halves).axes) == 1  # only the neighbors can be shown


def test_long_labels_are_shortened_on_matrices(bags):
    long = bags.relabel([("a very long name", "of a bag", k) for k in range(8)])
    ax = drawn(plotting.NeighborsDisplay.from_estimator(STB(zeta=1.0, gamma=0.0).fit(long)))
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert set(names) == {f"a very long …of a bag / {k}" for k in range(8)}


def test_matrices_without_room_for_names_have_no_numbers(rng):
    """Numbers would be places in the order of the picture, not bags."""
    many = Bags.from_list([rng.normal(size=(4, 3)) for _ in range(90)])
    est = STB(zeta=1.0, gamma=0.0).fit(many)
    for display in (
        plotting.NeighborsDisplay.from_estimator(est),
        plotting.WeightsDisplay.from_estimator(est),
        plotting.PairsDisplay.from_pvalues(pair_pvalues(many, "linear", method="normal")),
    ):
        ax = drawn(display)
        assert ax.get_xticks().tolist() == ax.get_yticks().tolist() == []


def test_weights(bags):
    est = MTA().fit(bags)
    display = plotting.WeightsDisplay.from_estimator(est)
    shown = np.asarray(drawn(display).images[0].get_array())
    np.testing.assert_allclose(shown, est.weights_[np.ix_(display.order_, display.order_)])
    est.weights_ = scipy.sparse.csr_array(est.weights_)
    np.testing.assert_allclose(plotting.WeightsDisplay.from_estimator(est).weights, display.weights)
    own = [np.diag(np.full(8, share)) + 0.1 for share in (0.02, 0.9)]
    bars = [
        plotting.WeightsDisplay(W, display.distances, display.labels).plot().figure_.axes[1].get_ylabel()
        for W in own
    ]
    assert bars == ["weight", "weight (own weight: off the scale)"]
    with pytest.raises(ValueError, match="other means than the naive ones"):
        plotting.WeightsDisplay.from_estimator(JamesStein(target=np.ones(6)).fit(bags))


def test_of_very_many_bags_some_are_shown(rng, monkeypatch):
    monkeypatch.setattr("stbmta.plotting._style._MOST_BAGS", 5)
    many = Bags.from_list([rng.normal(size=(4, 3)) for _ in range(12)])
    for kernel in ("linear", RBF(1.0)):
        est = STB(kernel, zeta=1.0, gamma=0.2).fit(many)
        display = plotting.NeighborsDisplay.from_estimator(est)
        drawn(display)
        np.testing.assert_array_equal(
            display.neighbors, est.neighbors_[np.ix_(display.labels, display.labels)]
        )
        assert display.labels.tolist() == [0, 2, 5, 8, 11]
        shrinkage = plotting.ShrinkageDisplay.from_estimator(est)
        assert shrinkage.naive.shape == (5, 2)
        drawn(shrinkage)
        assert plotting.WeightsDisplay.from_estimator(est).weights.shape == (5, 5)


def test_new_figures_belong_to_pyplot_where_it_is_in_use(bags):
    import matplotlib.pyplot as plt

    plt.close("all")
    plotting.ShrinkageDisplay.from_estimator(NaiveMean().fit(bags)).plot()
    assert len(plt.get_fignums()) == 1
    plt.close("all")
