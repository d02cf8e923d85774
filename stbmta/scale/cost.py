r"""What a computation will cost, before it is run: arithmetic, bytes, memory, tasks and time.

A job is a list of phases. Each phase has a number of operations with a rate of its own; rates are those of one core,
measured (:func:`measure_rates`) or the ones that were measured when this was written. Times are those of a machine
that does nothing else; they are right to within a factor of about 1.5.

=====================  =================================================  ==========================
phase                  operations                                         rate
=====================  =================================================  ==========================
reading                8 n d bytes, of each machine                       ``disk``
means                  n d additions                                      ``rows``
kernel values          n^2 / 2 values of 15 + d operations each           ``kernel``
Fourier features       n m sines and cosines of 24 + d operations each    ``fourier``
comparing means        B^2 D multiply-adds in single precision            ``compare``
averaging neighbors    B v D additions                                    ``average``
moving                 bytes between machines, and the tasks              ``network``
=====================  =================================================  ==========================
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from ..container import format_bytes
from ..threads import available_threads
from . import distributed_linear, distributed_sums
from .shuffle import shuffle_tasks

__all__ = ["Job", "Phase", "Plan", "Rates", "matrix_bytes", "measure_rates", "plan_compute"]

Kind = Literal["linear", "kernel", "features"]

# Operations of an exponential, and of a sine with its cosine, counted like multiply-adds.
EXP_OPERATIONS = 15
SINE_OPERATIONS = 24
# Seconds that Dask spends on a task beside its work.
TASK_OVERHEAD = 0.003
# Bytes of a bag beside its mean: label, place in the order, errors.
BAG_BYTES = 350
# Bytes of a part of a stream.
PART_BYTES = 2**28
# B x B numbers that an estimate of the usual kind holds at a time: statistics, distances, tests, weights.
_MATRICES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Operations a second of one core, bytes a second of one machine from disk and to others.

    The defaults were measured on one core of a 2-core machine with AVX-512. Fourier features are those of points in
    random order among many bags, whose sums no cache holds; where points come bag by bag, the rate is three times
    as high.
    """

    rows: float = 5e8
    kernel: float = 6e10
    fourier: float = 1.1e10
    compare: float = 7e10
    average: float = 6e9
    disk: float = 5e8
    network: float = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is to be computed.

    Attributes
    ----------
    kind : {"linear", "kernel", "features"}
        Means; exact kernel values between all points; means of random Fourier features.
    n_bags, n_points, dim : float
    n_features : float
        For "features".
    neighbors : float
        Neighbors of a bag, on average.
    """

    kind: Kind
    n_bags: float
    n_points: float
    dim: float
    n_features: float = 1024
    neighbors: float = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One phase of a job: operations of one kind, and the seconds they take on all cores."""

    name: str
    operations: float
    seconds: float

    @property
    def unit(self) -> str:
        """What is counted."""
        return "bytes" if self.name in ("reading", "moving") else "operations"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The cost of a job.

    Attributes
    ----------
    job : Job
    phases : tuple of Phase
    memory : float
        Bytes that the caller holds.
    worker_memory : float
        Bytes that a machine of the cluster should have: what it fetches is then kept.
    moved : float
        Bytes that go between machines.
    tasks : int
        On a cluster, at most; 0 on one machine.
    workers, threads : int
        Machines, and cores of each.
    """

    job: Job
    phases: tuple[Phase, ...]
    memory: float
    worker_memory: float
    moved: float
    tasks: int
    workers: int
    threads: int

    @property
    def seconds(self) -> float:
        """Time of the whole job."""
        return sum(phase.seconds for phase in self.phases)

    def to_dict(self) -> dict[str, Any]:
        """Return everything that a program may want to read.

        Returns
        -------
        dict of str to Any
            The attributes and `seconds`; the job and each phase are dicts of their fields.
        """
        return {
            "job": {field.name: getattr(self.job, field.name) for field in fields(self.job)},
            "phases": [
                {field.name: getattr(phase, field.name) for field in fields(phase)} for phase in self.phases
            ],
            "seconds": self.seconds,
            "memory": self.memory,
            "worker_memory": self.worker_memory,
            "moved": self.moved,
            "tasks": self.tasks,
            "workers": self.workers,
            "threads": self.threads,
        }

    def summary(self) -> str:
        """Return the plan as text.

        Returns
        -------
        str
            One line a phase, then time and memory together; for a cluster also what goes between its machines.
        """
        lines = [
            f"{phase.name:<22}{phase.operations:>10.2g} {phase.unit:<12}{_time(phase.seconds):>10}"
            for phase in self.phases
        ]
        where = (
            f"{self.workers} machines of {self.threads} cores"
            if self.workers > 1
            else f"{self.threads} cores"
        )
        lines.append(f"{'together':<22}{'':>23}{_time(self.seconds):>10}  on {where}")
        lines.append(f"memory                {format_bytes(int(self.memory))}")
        if self.workers > 1:
            lines.append(f"memory of a worker    {format_bytes(int(self.worker_memory))}")
            lines.append(f"between machines      {format_bytes(int(self.moved))} in {self.tasks} tasks")
        return "\n".join(lines)


def matrix_bytes(n_bags: float) -> float:
    """Return the bytes of matrices of all pairs of bags that an estimate of the usual kind holds at a time.

    Returns
    -------
    float
        Four matrices of B x B numbers of 8 bytes.

    Examples
    --------
    >>> matrix_bytes(10_000) / 1e9
    3.2
    """
    return 8.0 * _MATRICES * float(n_bags) ** 2


def plan_compute(
    job: Job, *, workers: int = 1, threads: int | None = None, rates: Rates | None = None
) -> Plan:
    """Work out what a job costs.

    Parameters
    ----------
    job : Job
        What is to be computed.
    workers : int, default=1
        Machines of a cluster.
    threads : int, optional
        Cores of each; those of this machine by default.
    rates : Rates, optional
        None means the defaults of :class:`Rates`.

    Returns
    -------
    Plan
        Phases with their times, and memory; for several machines also what goes between them.

    Examples
    --------
    >>> plan = plan_compute(Job(kind="kernel", n_bags=800, n_points=80_000, dim=12), threads=2)
    >>> [phase.name for phase in plan.phases]
    ['kernel values']
    """
    if job.kind not in ("linear", "kernel", "features"):
        raise ValueError(f"kind must be 'linear', 'kernel' or 'features', found {job.kind!r}.")
    rates = Rates() if rates is None else rates
    threads = available_threads() if threads is None else threads
    cores = workers * threads
    B, n, d = job.n_bags, job.n_points, job.dim
    n_parts = max(1, int(8 * n * d / PART_BYTES))
    if job.kind == "kernel":
        operations = [("kernel values", n * (n + 1) / 2 * (EXP_OPERATIONS + d), rates.kernel * cores)]
        table = kept = 8 * n * d
        # A stream takes the most: its rows are sorted into blocks, by workers that pass them on twice.
        blocks = distributed_sums.most_blocks(int(n), int(B), int(d), cores)
        tasks = blocks * (blocks + 1) // 2 + shuffle_tasks(n_parts, blocks)
        moved = (workers + 2) * table + 8 * B * B
        memory = 4 * table + matrix_bytes(B)
    else:
        width = d if job.kind == "linear" else job.n_features
        table = 8 * B * width
        sums = (
            ("means", n * d, rates.rows * cores)
            if job.kind == "linear"
            else ("Fourier features", n * width / 2 * (SINE_OPERATIONS + d), rates.fourier * cores)
        )
        operations = [
            ("reading", 8 * n * d, rates.disk * workers),
            sums,
            ("comparing means", B * B * width, rates.compare * cores),
            ("averaging neighbors", B * job.neighbors * width, rates.average * cores),
        ]
        kept = 1.5 * table  # in double and in single precision
        comparison = distributed_linear.Layout.of(int(B), int(width), cores)
        tasks = n_parts + comparison.n_tasks
        moved = workers * kept + 2 * table
        memory = 2.5 * table + BAG_BYTES * B  # means, panels in single precision, averages
    phases = [Phase(name=name, operations=count, seconds=count / rate) for name, count, rate in operations]
    if workers > 1:
        moving = moved / workers / rates.network + tasks * TASK_OVERHEAD
        phases.append(Phase(name="moving", operations=moved, seconds=moving))
    return Plan(
        job=job,
        phases=tuple(phases),
        memory=memory,
        worker_memory=kept + 2**30,
        moved=moved if workers > 1 else 0.0,
        tasks=tasks if workers > 1 else 0,
        workers=workers,
        threads=threads,
    )


def measure_rates() -> Rates:
    """Measure the rates of one core of this machine, in some seconds.

    Returns
    -------
    Rates
        All rates but those of disk and network, which keep their defaults.
    """
    from ..bags import Bags
    from ..kernels import RBF
    from ..linear import neighbor_averages
    from ..statistics import bag_statistics
    from .features import RandomFourier
    from .means import mean_statistics
    from .stream import BagStream

    rng = np.random.default_rng(0)
    points = rng.standard_normal((50_000, 12))
    bags = Bags.from_offsets(points[:20_000], np.arange(0, 20_001, 50))
    mixed = BagStream.from_arrays(points, rng.integers(0, 5000, len(points)))
    features = RandomFourier.draw(RBF(3.0), 12, 1024, rng=0)
    # Nobody is a neighbor of anybody, so that pairs are compared only; and everybody of everybody.
    means = np.repeat(10 * rng.standard_normal((3000, 400)), 2, axis=0)
    wide = Bags.from_offsets(means + rng.standard_normal(means.shape), np.arange(0, len(means) + 1, 2))
    near = Bags.from_offsets(np.repeat(means[:1], 2000, axis=0), np.arange(0, 2001, 2))
    far, same, n = mean_statistics(wide), mean_statistics(near), len(bags.data)
    rows = wide.data.size / _seconds(lambda: mean_statistics(wide, n_threads=1))
    pairs = n * (n + 1) / 2 * (EXP_OPERATIONS + 12)
    kernel = pairs / _seconds(lambda: bag_statistics(bags, RBF(3.0), n_threads=1))
    waves = len(points) * 512 * (SINE_OPERATIONS + 12)
    fourier = waves / _seconds(lambda: mean_statistics(mixed, features=features, n_threads=1))
    compare = len(far) ** 2 * 400 / _seconds(lambda: neighbor_averages(far, 0.0, n_threads=1))
    average = len(same) ** 2 * 400 / _seconds(lambda: neighbor_averages(same, np.inf, n_threads=1))
    return Rates(rows=rows, kernel=kernel, fourier=fourier, compare=compare, average=average)


def _seconds(work: Callable[[], object], rounds: int = 3) -> float:
    work()  # compile
    best = np.inf
    for _ in range(rounds):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return max(best, 1e-9)


def _time(seconds: float) -> str:
    for unit, size in (("years", 31_557_600.0), ("days", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
