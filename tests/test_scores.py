"""Estimators among the tools of scikit-learn: cloned, searched over, scored, and learned from."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stbmta import (
    RBF,
    STB,
    Bags,
    KernelMeans,
    NaiveMean,
)


def test_clone_pickle_and_set_params(table):
    bags = Bags.from_groups(*table)
    est = STB(RBF(1.0), zeta=1.0, gamma=0.1).fit(bags)
    again = pickle.loads(pickle.dumps(est))
    np.testing.assert_array_equal(again.gram_, est.gram_)
    assert clone(est).get_params() == est.get_params()
    assert est.set_params(zeta=2.0).zeta == 2.0


def test_pandas_output_and_metadata_routing(table):
    X, groups = table
    frame = pd.DataFrame(X, columns=["u", "v", "w"])
    with config_context(enable_metadata_routing=True):
        est = STB(zeta=1.0, gamma=0.1).set_fit_request(groups=True).set_transform_request(groups=True)
        pipe = make_pipeline(StandardScaler(), est).set_output(transform="pandas")
        out = pipe.fit(frame, groups=groups).transform(frame, groups=groups)
    assert list(out.columns) == ["u", "v", "w"]
    assert out.shape == X.shape


def test_grid_search_by_held_out_rows(table):
    X, groups = table
    with config_context(enable_metadata_routing=True):
        est = STB(gamma=0.0).set_fit_request(groups=True).set_score_request(groups=True)
        search = GridSearchCV(est, {"zeta": [0.0, 1.0, 100.0]}, cv=StratifiedKFold(3), error_score="raise")
        search.fit(X, groups, groups=groups)
    assert search.best_params_["zeta"] in (0.0, 1.0, 100.0)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("kernel", ["linear", RBF(1.0)])
def test_score_is_minus_the_held_out_loss(table, kernel, rng):
    X, groups = table
    est = STB(kernel, zeta=1.0, gamma=0.1).fit(X, groups=groups)
    Y, labels = X + rng.normal(size=X.shape), groups
    held_out = Bags.from_groups(Y, labels)
    position = [est.labels_.tolist().index(label) for label in held_out.labels]
    inner = est.embedding_.inner(KernelMeans(held_out, est.kernel_))
    loss = np.array([est.gram_[i, i] - 2 * inner[i, k] for k, i in enumerate(position)])
    if kernel == "linear":
        loss += (held_out.means() ** 2).sum(axis=1)
    assert est.score(Y, groups=labels) == pytest.approx(-np.mean(loss), rel=1e-12)


def test_a_list_cannot_be_scored(table):
    """Cross-validation hands out lists of some of the bags, without their labels."""
    bags = Bags.from_groups(*table)
    with pytest.raises(ValueError, match="a list does not say which of the fitted bags"):
        cross_val_score(NaiveMean(), bags, cv=2, error_score="raise")


def test_the_score_of_vectors_far_from_the_origin_loses_no_accuracy(rng):
    points, others = (np.round(rng.normal(size=(3, n, 4)) * 2**10) / 2**10 for n in (5, 7))
    scores = [NaiveMean().fit(list(points + c)).score(Bags.from_list(others + c)) for c in (0.0, 1e8)]
    assert scores[1] == pytest.approx(scores[0], rel=1e-7)


def test_distribution_regression_with_the_estimated_gram_matrix(rng):
    bags = [rng.normal(loc=m, size=(15, 2)) for m in np.linspace(-2, 2, 30)]
    est = STB(RBF(1.0), random_state=0).fit(bags)
    target = np.linspace(-2, 2, 30)
    fit = KernelRidge(alpha=1e-3, kernel="precomputed").fit(est.gram_, target)
    assert np.corrcoef(fit.predict(est.gram_), target)[0, 1] > 0.98
