"""Local clusters of processes, and what they work on."""

import pytest

from stbmta.scale.stream import BagStream

dask = pytest.importorskip("dask", reason="dask is an extra")
distributed = pytest.importorskip("distributed", reason="dask is an extra")

CLUSTER_MARKS = [
    pytest.mark.slow_without_jit,
    # Dask's own threads and sockets end a little after the cluster does.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


def start(n_workers):
    cluster = distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit="2GB"
    )
    return cluster, distributed.Client(cluster)


def dask_stream(frame, n_parts):
    import dask.dataframe as dd

    return BagStream.from_dask(dd.from_pandas(frame, npartitions=n_parts, sort=False), by="who")
