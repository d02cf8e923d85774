"""The estimators beyond the paper: scikit-learn's own checks, and what they report."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from stbmta import (
    MTA,
    Adaptive,
    ClusteredMTA,
    ConvexAggregation,
    SpectralKMSE,
    SpectralShrinkage,
    WaterFilling,
)

ESTIMATORS = [
    Adaptive(),
    ClusteredMTA(),
    ConvexAggregation(),
    MTA(similarity="minimax"),
    SpectralKMSE(),
    SpectralShrinkage(),
    WaterFilling(),
    WaterFilling(geometry="spectral"),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
