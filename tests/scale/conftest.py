"""A cluster of two processes, and what it works on."""

import numpy as np
import pandas as pd
import pytest

from stbmta import Bags


@pytest.fixture(scope="module")
def client():
    from .clusters import start  # skips where there is no Dask

    cluster, client = start(2)
    yield client
    client.close()
    cluster.close()


@pytest.fixture(scope="module")
def bags():
    rng = np.random.default_rng(5)
    return Bags.from_list([rng.normal(size=(n, 4)) for n in [5000, *rng.integers(1, 90, 60)]])


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(6)
    who = rng.choice([f"g{k}" for k in range(40)], 3000, p=np.r_[0.4, np.full(39, 0.6 / 39)])
    return pd.DataFrame(rng.normal(size=(3000, 3)), columns=["a", "b", "c"]).assign(who=who)
