"""At the exact thresholds errors are as frequent as they may be: not more, and not much less."""

from dataclasses import replace

import numpy as np
import pytest

from stbmta.theory import gaussian

from .rates import rates


@pytest.fixture(scope="module")
def found():
    return list(rates(np.random.default_rng(11), 4000))


def test_error_rates_are_nominal(found):
    """Exactly for one pair, inner products and norms; nearly for A and B of all pairs, which share bags.

    There the mean number of errors is nominal (that is the rate of one pair), but errors come together: about
    15 % of the level is lost.
    """
    dependent = [rate for rate in found if rate.what in ("A, any pair", "B, any pair") and rate.n_bags > 2]
    assert len(dependent) == 2
    for rate in found:
        if rate in dependent:
            assert replace(rate, nominal=0.85 * rate.nominal).tight, rate
            assert rate.hits <= rate.nominal * rate.trials, rate
        else:
            assert rate.tight, rate


def test_a_wrong_threshold_would_be_seen(found):
    """Twice or half of the level is outside of the interval, on either side."""
    single = [r for r in found if r.tight and r.hits > 300]
    assert len(single) >= 4
    for rate in single:
        assert not replace(rate, nominal=rate.nominal / 1.5).tight
        assert not replace(rate, nominal=rate.nominal * 1.5).tight


def test_probabilities_without_underflow_for_many_bags():
    """Events as rare as 1e-17 for one bag still count when there are 1e12 bags."""
    tau = gaussian.exact_norm(1e12, 1e6, 1e-6)
    chances = gaussian.exact_event_probabilities(tau, 2.0, 1e12, 1e6)
    np.testing.assert_allclose(chances.C_prime, 1e-6, rtol=1e-6)
    c = gaussian.exact_inner(1e12, 1e9, 1e-6)
    np.testing.assert_allclose(gaussian.exact_event_probabilities(c, 2.0, 1e12, 1e9).C, 1e-6, rtol=1e-6)
