"""Hypothesis strategies: ragged bags."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

coordinates = st.floats(-4, 4, allow_nan=False, width=64).map(lambda x: round(x, 6))


@st.composite
def ragged(draw, min_size=1, max_bags=5, max_size=6, max_dim=5):
    """A list of arrays of different lengths and one dimension."""
    dim = draw(st.integers(1, max_dim))
    sizes = draw(st.lists(st.integers(min_size, max_size), min_size=1, max_size=max_bags))
    return [draw(arrays(np.float64, (size, dim), elements=coordinates)) for size in sizes]
