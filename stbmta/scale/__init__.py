"""More data than B x B matrices or one machine allow: streams, features, tiles, clusters, and what they cost.

==================  ==================================================================================
`stream`            bags that come by in blocks, from files or anything else
`readers`           where they come from: arrays, Parquet and Arrow files, CSV, Dask
`arrow`             Parquet and Arrow files in batches, and what that takes
`sample`            what has to be known of them before the work
`means`             one pass over them: sizes, means and scatter, in memory O(B D)
`features`          random Fourier features and landmarks in place of a kernel
`samplers`          those of scikit-learn, as features
`fourier`           exact features of the RBF kernel in few dimensions
`approximate`       exact values or features, and how far off the features are
`large`             STB estimates from means or features, compared in tiles
`distributed`       the same on a Dask cluster (with `distributed_sums`, `distributed_linear`, `shuffle`)
`cost`              what a computation will cost, before it is run
==================  ==================================================================================
"""

import importlib as _importlib
from typing import Any as _Any


def __getattr__(name: str) -> _Any:
    try:
        return _importlib.import_module(f".{name}", __name__)
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":  # the module is there, and what it needs is not
            raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
