"""Estimate many means at once.

Bags of points go in, and each bag's mean (or kernel mean embedding) comes out, shrunk toward the
bags that a test finds similar: ``estimate = W @ naive``.

Examples
--------
>>> import numpy as np
>>> import stbmta
>>> rng = np.random.default_rng(0)
>>> bags = stbmta.Bags.from_list([rng.normal(size=(8, 20)) for _ in range(10)])
>>> est = stbmta.STB(zeta=1.0, gamma=0.0).fit(bags)
>>> est.means_.shape
(10, 20)
"""

import importlib as _importlib
from pathlib import Path as _Path
from typing import TYPE_CHECKING
from typing import Any as _Any

__version__ = "0.1.0"

# In a checkout theory/ and validation/ stand beside this folder; let them be found as subpackages there too.
_root = _Path(__file__).resolve().parent.parent
if (_root / "setup.cfg").is_file() and (_root / "theory").is_dir():
    __path__.append(str(_root))

from . import weights
from .bags import Bags
from .kernels import RBF, Laplacian, Linear, Polynomial, Precomputed
from .similarity import gaussian_neighbors, neighbors
from .statistics import BagStatistics, bag_statistics, cross_statistics
from .threads import get_num_threads, set_num_threads

if TYPE_CHECKING:
    from .embedding import KernelMeans
    from .linear import NeighborAverages, neighbor_averages
    from .truth import gaussian_gram, gaussian_truth, known_means, proxy_truth, squared_error
    from .tuning import tune_stb, tune_stb_fission, tune_stb_large_bags, tune_stb_unbiased

# Loaded when first used: what needs scikit-learn, statsmodels, pandas or matplotlib, and what not everybody needs.
_LAZY = {
    "Adaptive": "adaptive",
    "ClusteredMTA": "comparators",
    "ConvexAggregation": "estimators_beyond",
    "gaussian_gram": "truth",
    "gaussian_truth": "truth",
    "JamesStein": "estimators",
    "KernelMeans": "embedding",
    "known_means": "truth",
    "MTA": "estimators",
    "NaiveMean": "estimators",
    "neighbor_averages": "linear",
    "NeighborAverages": "linear",
    "pair_pvalues": "pairs",
    "PairPValues": "pairs",
    "proxy_truth": "truth",
    "RKMSE": "estimators",
    "SpectralKMSE": "comparators",
    "SpectralShrinkage": "estimators_beyond",
    "squared_error": "truth",
    "STB": "estimators",
    "tune_stb": "tuning",
    "tune_stb_fission": "fission",
    "tune_stb_large_bags": "calibration",
    "tune_stb_unbiased": "calibration",
    "WaterFilling": "estimators_beyond",
}
_LAZY_MODULES = {
    "adaptive",
    "aggregation",
    "calibration",
    "candidates",
    "certificates",
    "comparators",
    "datasets",
    "embedding",
    "estimator_large",
    "estimators",
    "estimators_beyond",
    "fission",
    "grid",
    "grid_mta",
    "linear",
    "pairs",
    "plotting",
    "realdata",
    "risk",
    "scale",
    "spectral",
    "stacking",
    "theory",
    "truth",
    "tuning",
    "tuning_sample",
    "unequal",
    "validation",
    "views",
    "warmup",
}

__all__ = [
    "MTA",
    "RBF",
    "RKMSE",
    "STB",
    "Adaptive",
    "BagStatistics",
    "Bags",
    "ClusteredMTA",
    "ConvexAggregation",
    "JamesStein",
    "KernelMeans",
    "Laplacian",
    "Linear",
    "NaiveMean",
    "NeighborAverages",
    "PairPValues",
    "Polynomial",
    "Precomputed",
    "SpectralKMSE",
    "SpectralShrinkage",
    "WaterFilling",
    "bag_statistics",
    "cross_statistics",
    "datasets",
    "gaussian_gram",
    "gaussian_neighbors",
    "gaussian_truth",
    "get_num_threads",
    "known_means",
    "neighbor_averages",
    "neighbors",
    "pair_pvalues",
    "plotting",
    "proxy_truth",
    "set_num_threads",
    "squared_error",
    "theory",
    "tune_stb",
    "tune_stb_fission",
    "tune_stb_large_bags",
    "tune_stb_unbiased",
    "validation",
    "weights",
]


def __getattr__(name: str) -> _Any:
    if name in _LAZY:
        return getattr(_importlib.import_module(f".{_LAZY[name]}", __name__), name)
    if name in _LAZY_MODULES:
        return _importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'stbmta' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
