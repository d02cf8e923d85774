"""The same bits on a cluster of processes, whatever the number of workers."""

import time
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest

from stbmta import (
    RBF,
    STB,
    Bags,
    Laplacian,
    NaiveMean,
    Polynomial,
    Precomputed,
    bag_statistics,
    cross_statistics,
    sums,
)
from stbmta.blocks import Side
from stbmta.linear import neighbor_averages
from stbmta.neighbor_test import NeighborTest
from stbmta.scale import cost, distributed_linear, distributed_sums, shuffle
from stbmta.scale.distributed import ordered_results
from stbmta.scale.distributed_linear import Layout
from stbmta.scale.distributed_sums import block_rows, cut_blocks, most_blocks
from stbmta.scale.features import RandomFourier
from stbmta.scale.means import mean_statistics
from stbmta.scale.readers import Partition
from stbmta.scale.stream import BagStream
from stbmta.tuning import tune_stb

from .clusters import CLUSTER_MARKS, dask_stream, start

pytestmark = CLUSTER_MARKS

KERNELS = [RBF(1.5), RBF(0.05), Laplacian(2.0), Polynomial(3, 0.3), Precomputed(RBF(1.5))]


@pytest.mark.parametrize("kernel", KERNELS, ids=["rbf", "rbf narrow", "laplacian", "polynomial", "function"])
def test_statistics_have_the_same_bits(client, bags, kernel):
    here, there = bag_statistics(bags, kernel), bag_statistics(bags, kernel, client=client)
    np.testing.assert_array_equal(there.gram, here.gram)
    np.testing.assert_array_equal(there.scatter, here.scatter)


def test_cross_statistics_folds_and_estimators_have_the_same_bits(client, bags):
    kernel, other = RBF(1.5), bags[::3]
    np.testing.assert_array_equal(
        cross_statistics(bags, other, kernel, client=client), cross_statistics(bags, other, kernel)
    )
    some = bags.drop_small(5)
    np.testing.assert_array_equal(
        tune_stb(some, kernel, rng=0, client=client).risk, tune_stb(some, kernel, rng=0).risk
    )
    here, there = (STB(kernel, random_state=0, client=c).fit(some) for c in (None, client))
    np.testing.assert_array_equal(there.gram_, here.gram_)
    np.testing.assert_array_equal(
        NaiveMean(kernel, client=client).fit(some).gram_, NaiveMean(kernel).fit(some).gram_
    )


def test_connections_are_shared_by_clones_and_left_out_of_pickles(client):
    import pickle

    from sklearn.base import clone

    est = STB(RBF(1.0), client=client)
    assert clone(est).client is client
    assert pickle.loads(pickle.dumps(est)).client is None
    assert est.client is client


@pytest.fixture
def nothing_is_read_here(monkeypatch):
    """Workers read partitions as the results of tasks; calling one reads it in this process."""

    def read(self):
        raise AssertionError("a partition was read by the client")

    monkeypatch.setattr(Partition, "__call__", read)


@pytest.mark.parametrize("kernel", KERNELS[:4], ids=["rbf", "rbf narrow", "laplacian", "polynomial"])
@pytest.mark.usefixtures("nothing_is_read_here")
def test_streams_are_compared_without_collecting_them(client, frame, kernel, monkeypatch):
    monkeypatch.setattr(shuffle, "MOST_PARTS", 3)  # of five: one alone, twice two together
    expected = bag_statistics(Bags.from_frame(frame, by="who"), kernel)
    found = bag_statistics(dask_stream(frame, 5), kernel, client=client)
    np.testing.assert_array_equal(found.gram, expected.gram)
    np.testing.assert_array_equal(found.scatter, expected.scatter)
    assert found.labels.tolist() == expected.labels.tolist()


@pytest.mark.parametrize("width", [3.0, 300.0])
def test_streams_in_single_precision_have_the_same_bits(client, frame, width):
    """Also where values are computed in double precision after all."""
    expected = bag_statistics(Bags.from_frame(frame, by="who"), RBF(width), dtype="float32")
    found = bag_statistics(dask_stream(frame, 2), RBF(width), dtype="float32", client=client)
    np.testing.assert_array_equal(found.gram, expected.gram)


@pytest.mark.usefixtures("nothing_is_read_here")
def test_estimators_read_no_partition_here(client, frame):
    """Means, exact kernels, features and the choice of parameters: the workers look at the rows."""
    bags, stream = Bags.from_frame(frame, by="who"), dask_stream(frame, 4)
    for options in ({"random_state": 0}, {"zeta": 1.0, "gamma": 0.1}):
        there = STB(client=client, **options).fit(stream)
        here = STB(**options).fit(BagStream.from_bags(bags))
        assert there.zeta_ == here.zeta_
        np.testing.assert_allclose(there.means_, here.means_, rtol=1e-12, atol=1e-14)
        there, here = STB(RBF(1.0), client=client, **options).fit(stream), STB(RBF(1.0), **options).fit(bags)
        np.testing.assert_array_equal(there.weights_, here.weights_)
        np.testing.assert_array_equal(there.gram_, here.gram_)
        np.testing.assert_array_equal(there.embedding_.mmd2(), here.embedding_.mmd2())
        assert there.approximation_.startswith("exact")
        assert "40 means" in there.summary().as_text()
    assert repr(there.embedding_) == "DistantMeans(40 means, RBF(bandwidth=1.0))"
    for work in (lambda: there.embedding_.evaluate(bags.data[:2]), lambda: there.score(bags)):
        with pytest.raises(ValueError, match="the points of this stream stayed on the cluster"):
            work()
    with pytest.raises(ValueError, match="a split needs bags in memory"):
        STB(RBF(1.0), split=0.5, client=client).fit(stream)
    options = {"zeta": 1.0, "gamma": 0.1, "approximation": 64, "random_state": 0}
    there = STB(RBF(1.0), client=client, **options).fit(stream)
    here = STB(RBF(1.0), **options).fit(bags)
    np.testing.assert_allclose(there.large_.means, here.large_.means, rtol=1e-12, atol=1e-14)
    assert there.approximation_error(stream).deviation < 0.1


@pytest.mark.parametrize("together", [False, True], ids=["each part alone", "several parts together"])
def test_parquet_parts_are_read_where_the_work_is(client, frame, together, tmp_path, monkeypatch):
    if together:
        monkeypatch.setattr(shuffle, "MOST_PARTS", 3)
    for k in range(4):
        frame[k * 700 : (k + 1) * 700 if k < 3 else None].to_parquet(tmp_path / f"{k}.parquet")
    for name in ("+", "9"):  # parts without rows, the first and the last, do no harm
        frame[:0].to_parquet(tmp_path / f"{name}.parquet")
    stream = BagStream.from_parquet(tmp_path, by="who")
    expected = bag_statistics(Bags.from_frame(frame, by="who"), RBF(1.0))
    np.testing.assert_array_equal(bag_statistics(stream, RBF(1.0), client=client).gram, expected.gram)
    features = RandomFourier.draw(RBF(1.0), 3, 64, rng=0)
    for options in ({}, {"features": features}):
        here, there = mean_statistics(stream, **options), mean_statistics(stream, **options, client=client)
        np.testing.assert_array_equal(there.means, here.means)
        np.testing.assert_array_equal(there.scatter, here.scatter)
        assert there.labels.tolist() == here.labels.tolist()
    linear = bag_statistics(stream, client=client)
    np.testing.assert_allclose(
        linear.gram, bag_statistics(Bags.from_frame(frame, by="who")).gram, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("shared", [False, True], ids=["each part its own bags", "all bags in every part"])
def test_thousands_of_bags_in_several_parts(client, shared, tmp_path):
    rng = np.random.default_rng(2)
    for k in range(3):
        who = np.arange(4000) % 2000 + (0 if shared else 2000 * k)
        frame = pd.DataFrame(rng.normal(size=(4000, 3)), columns=["a", "b", "c"]).assign(who=who)
        frame.to_parquet(tmp_path / f"{k}.parquet")
    stream = BagStream.from_parquet(tmp_path, by="who")
    features = RandomFourier.draw(RBF(1.0), 3, 64, rng=0)
    for options in ({}, {"features": features}):
        here, there = mean_statistics(stream, **options), mean_statistics(stream, **options, client=client)
        np.testing.assert_array_equal(there.means, here.means)
        np.testing.assert_array_equal(there.scatter, here.scatter)
        assert there.labels.tolist() == here.labels.tolist() == list(range(2000 if shared else 6000))
    here, there = (STB(zeta=1.0, gamma=0.1, client=c).fit(stream) for c in (None, client))
    np.testing.assert_array_equal(there.means_, here.means_)


def test_means_of_bags_in_memory_have_the_same_bits(client):
    bags = Bags.from_list(np.random.default_rng(3).normal(size=(4000, 3, 2)))
    for options in ({}, {"features": RandomFourier.draw(RBF(1.0), 2, 64, rng=0)}):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("stbmta.scale.readers.PART", 6000)  # several tasks
            there = mean_statistics(bags, **options, client=client)
        np.testing.assert_array_equal(there.means, mean_statistics(bags, **options).means)


def test_neighbor_averages_have_the_same_bits(client, monkeypatch):
    for name, value in {"MOST_ROWS": 64, "TASK": 1, "MOST_TASKS": 30}.items():
        monkeypatch.setattr(distributed_linear, name, value)
    layout = Layout.of(300, 7, threads=2)
    assert (layout.n_blocks, layout.run, layout.together) == (
        5,
        32,
        2,
    )  # chains of several tasks, two to a block
    rng = np.random.default_rng(0)
    bags = Bags.from_list([rng.normal(size=(n, 7)) for n in rng.integers(2, 9, 300)])
    here, there = neighbor_averages(bags, 2.0), neighbor_averages(bags, 2.0, client=client)
    np.testing.assert_array_equal(there.averages, here.averages)
    np.testing.assert_array_equal(there.counts, here.counts)
    with pytest.raises(ValueError, match="neighbors are kept on one machine only"):
        neighbor_averages(bags, 2.0, client=client, keep_neighbors=True)


def test_tasks_and_blocks_are_of_bounded_number_on_every_machine():
    """Rows come in multiples that vectors of any width divide, so nothing depends on the caller's CPU."""
    for n_bags, dim, threads in ((1, 1, 0), (10, 5, 100), (300, 7, 2), (10**6, 10**4, 1600), (10**7, 10, 64)):
        layout = Layout.of(n_bags, dim, threads)
        assert layout.n_tasks <= 20_000
        assert layout.n_blocks <= 256
        assert layout.block % 32 == layout.run % 32 == 0
        assert layout.block < n_bags + 32  # what is empty is no task
    assert 32 % distributed_linear.WIDTH == 0
    for n_points in (1, 800, 10**7, 10**9):
        assert most_blocks(n_points, 1, 12, threads=1600) <= 402 + n_points / 4e6  # pieces of 4096 points


def test_blocks_that_were_packed_for_other_vectors_are_packed_again(rng):
    """A worker with vectors of 8 numbers may fetch a block from one with vectors of 32."""
    means = rng.normal(size=(40, 3))
    test = NeighborTest.of(means, np.ones(40), np.ones(40))
    limits = (test.limits[0], test.limits[1])
    block = distributed_linear._make_block(
        means, test.errors, test.thresholds, *limits, test.center, test.scale
    )
    other = replace(block, width=4, panels=np.zeros_like(block.panels))
    expected = distributed_linear._continue(None, block, 0, 40, [block], test.center)
    found = distributed_linear._continue(None, other, 0, 40, [other], test.center)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_one_worker_or_three_make_no_difference(bags):
    expected = bag_statistics(bags, RBF(1.5)).gram
    for n_workers in (1, 3):
        cluster, client = start(n_workers)
        with cluster, client:
            np.testing.assert_array_equal(bag_statistics(bags, RBF(1.5), client=client).gram, expected)


def test_errors_of_a_task_reach_the_caller(client, frame):
    wrong = frame.assign(a=np.where(frame.index == 2000, np.nan, frame["a"]))
    with pytest.raises(ValueError, match="contains nan in column 'a'") as held:
        bag_statistics(dask_stream(wrong, 9), RBF(1.0), client=client)
    deadline = time.monotonic() + 20
    while (left := client.run_on_scheduler(number_of_tasks)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left, held  # the workers let go of the rows, though the error is still here
    with pytest.raises(ValueError, match="a precomputed matrix is here already"):
        bag_statistics(Bags.from_list([[1.0, 2.0]]), Precomputed(np.eye(2)), client=client)
    for source in (Bags.from_list([[1.0, 2.0]]), dask_stream(frame, 2)):
        with pytest.raises(TypeError, match=r"client must be a dask.distributed.Client, found 'tcp://x:1'"):
            bag_statistics(source, RBF(1.0), client="tcp://x:1")
    with pytest.raises(ValueError, match="rows of a stream have no place in a precomputed matrix"):
        bag_statistics(dask_stream(frame, 2), Precomputed(np.eye(3000)), client=client)
    with pytest.raises(ValueError, match="the stream has 0 rows"):
        bag_statistics(dask_stream(frame[:0], 1), RBF(1.0), client=client)
    blocks = BagStream.from_iterable((frame[["a"]], frame["who"]) for _ in range(1))
    with pytest.raises(ValueError, match="an iterator cannot be sent to a cluster"):
        mean_statistics(blocks, client=client)


def test_columns_of_a_dask_frame_are_checked_first(frame):
    import dask.dataframe as dd

    there = dd.from_pandas(frame, npartitions=2)
    with pytest.raises(KeyError, match="Did you mean 'who'"):
        BagStream.from_dask(there, "Who")
    with pytest.raises(TypeError, match="expected a Dask data frame, found DataFrame"):
        BagStream.from_dask(frame, "who")


def test_arrays_go_to_workers_in_small_messages(client, frame, monkeypatch):
    monkeypatch.setattr("stbmta.scale.distributed.MOST_NUMBERS", 500)
    sizes, submit = [], client.submit

    def watched(function, *arguments, **options):
        flat = [x for some in arguments for x in (some if isinstance(some, list) else [some])]
        sizes.extend(x.nbytes for x in flat if isinstance(x, np.ndarray))
        return submit(function, *arguments, **options)

    monkeypatch.setattr(client, "submit", watched)
    stream = BagStream.from_arrays(frame[["a", "b", "c"]].to_numpy(), np.array(frame["who"], dtype="U3"))
    there, here = mean_statistics(stream, client=client), mean_statistics(stream)
    np.testing.assert_array_equal(there.means, here.means)
    assert there.labels.tolist() == here.labels.tolist()
    assert 2000 < max(sizes) <= 8 * 500


def test_rows_are_sorted_into_blocks_by_few_tasks_a_few_at_a_time(client, frame, monkeypatch):
    """Of many parts: a task for each piece of a few sorted ones, told of runs of rows and not of each row."""
    monkeypatch.setattr("stbmta.scale.distributed_sums.MOST_POINTS", 200)
    monkeypatch.setattr("stbmta.scale.distributed._AHEAD", 1)
    monkeypatch.setattr(shuffle, "MOST_PARTS", 4)
    rows, reaches, n_tasks, told, waiting = frame[["a", "b", "c"]].to_numpy(), [], 0, 0, 0
    submit, who = client.submit, np.array(frame["who"], dtype="U3")

    def watched(function, *arguments, **options):
        nonlocal n_tasks, told, waiting
        future = submit(function, *arguments, **options)
        if function in (shuffle._take, shuffle._put_together):
            told += sum(x.nbytes for x in arguments if isinstance(x, np.ndarray))
        if function is shuffle._reach:
            reaches.append(future)
            waiting = max(waiting, sum(not some.done() for some in reaches))
        n_tasks += function is not distributed_sums._table
        return future

    monkeypatch.setattr(client, "submit", watched)
    parts = [
        part
        for k in range(0, 3000, 100)
        for part in BagStream.from_arrays(rows[k : k + 100], who[k : k + 100]).parts
    ]
    found = bag_statistics(BagStream(parts), RBF(1.0), client=client)
    np.testing.assert_array_equal(found.gram, bag_statistics(Bags.from_frame(frame, by="who"), RBF(1.0)).gram)
    n_blocks = len(reaches)
    assert n_blocks >= 8
    assert waiting <= 3  # blocks under way: one a thread, and the one that is submitted
    assert n_tasks <= shuffle.shuffle_tasks(len(parts), n_blocks)
    assert told < 8 * len(rows)  # one number a row would be more


def number_of_tasks(dask_scheduler):
    return len(dask_scheduler.tasks)


def test_stopping_early_cancels_what_is_under_way(client):
    results = ordered_results(
        client, (partial(client.submit, time.sleep, 0.2 + k / 1000, pure=False) for k in range(50))
    )
    next(results)
    results.close()
    deadline = time.monotonic() + 20
    while any(client.processing().values()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(client.processing().values())


def test_blocks_are_of_whole_pieces_and_groups_of_whole_bags():
    pieces = np.r_[0, np.cumsum([10, 10, 3, 4, 2, 9])]
    blocks, groups = cut_blocks(pieces, np.array([0, 0, 1, 2, 3, 4]), 12)
    assert blocks == [(0, 1), (1, 2), (2, 5), (5, 6)]
    assert groups == [(0, 2), (2, 4)]
    assert sums.PIECE == 4096


@pytest.mark.parametrize("size", [1, 50, 8000, 10_500, 25_000, 40_001, 300_000])
@pytest.mark.parametrize("n_points", [90_000, 8_000_000])
def test_blocks_are_balanced_and_as_many_as_planned(n_points, size):
    """A small rest of a bag costs as many tasks as a full block."""
    n_bags = -(-n_points // size)
    offsets = np.arange(n_bags + 1) * size
    side = Side.cut(np.empty((0, 12)), np.empty(0), offsets, np.arange(n_bags), sums.longest_piece(12))
    rows = block_rows(int(offsets[-1]), 12, threads=2)
    blocks, _ = cut_blocks(side.pieces, side.bag, rows)
    sizes = np.array([side.pieces[b] - side.pieces[a] for a, b in blocks])
    assert sizes.sum() == offsets[-1]
    assert sizes.max() <= 1.5 * rows + sums.PIECE
    if size > 1:  # of bags of one point a block has so many, whatever the points
        assert sizes[:-1].min() >= 0.75 * rows - sums.PIECE
    assert len(blocks) <= most_blocks(int(offsets[-1]), n_bags, 12, threads=2)
    job = cost.Job(kind="kernel", n_bags=n_bags, n_points=int(offsets[-1]), dim=12)
    planned = cost.plan_compute(job, workers=2, threads=1).tasks
    assert len(blocks) * (len(blocks) + 1) // 2 + shuffle.shuffle_tasks(3, len(blocks)) <= planned
    if size > 50:  # so many bags have no room for their statistics
        assert planned <= 110_000
