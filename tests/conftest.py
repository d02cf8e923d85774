"""Shared settings and fixtures."""

import os
import sys

if "PYTEST_XDIST_WORKER" in os.environ:  # every core has a process already
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hypothesis
import numpy as np
import pytest
from numba import config

# The machines are shared and noisy: time never decides a test. With the JIT off everything is slow.
hypothesis.settings.register_profile(
    "default", deadline=None, max_examples=8 if config.DISABLE_JIT else 40, derandomize=True
)
hypothesis.settings.register_profile("long", deadline=None, max_examples=500)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture
def rng():
    return np.random.default_rng(20210415)


@pytest.fixture
def table(rng):
    """Return rows of four bags, mixed, and the bag of each."""
    groups = np.repeat(["c", "a", "b", "d"], [6, 9, 5, 7])
    X = rng.normal(size=(len(groups), 3)) + (groups == "a")[:, None]
    order = rng.permutation(len(groups))
    return X[order], groups[order]


@pytest.fixture(autouse=True)
def _close_figures():
    """Displays draw into figures of pyplot where it is loaded; those stay open until they are closed."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
