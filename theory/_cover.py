"""Compiled searches for covers and packings, in memory O(B) beyond the points.

The score of a pair is its squared distance minus the offsets of both points (zero, or the noise of naive
means). Data are points or a Gram matrix. Points that many rows are compared with are packed first, 32 side
by side, so that one loop runs over them in vector registers. Oracles in the tests: cdist and milp.
"""

import numpy as np
from numpy.typing import NDArray

from ._jit import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LANES = 32
SAMPLE = 1024  # points a round of the greedy search looks at; a multiple of 64


@compiled
def pack(data: Floats, is_gram: bool, members: Ints) -> Floats:
    """Copy points into blocks of LANES columns."""
    if is_gram:
        return np.empty((0, 0, 0))
    dim = data.shape[1]
    blocks = (len(members) + LANES - 1) // LANES
    packed = np.zeros((blocks, dim, LANES))
    for m in range(len(members)):
        for k in range(dim):
            packed[m // LANES, k, m % LANES] = data[members[m], k]
    return packed


@compiled
def block_scores(
    data: Floats,
    is_gram: bool,
    offsets: Floats,
    packed: Floats,
    members: Ints,
    i: int,
    start: int,
    out: Floats,
) -> int:
    """Scores of point i against the members from start on, at most LANES; returns how many."""
    count = min(LANES, len(members) - start)
    if is_gram:
        for lane in range(count):
            j = members[start + lane]
            out[lane] = data[i, i] + data[j, j] - 2 * data[i, j]
    else:
        block = packed[start // LANES]
        dim = data.shape[1]
        whole = dim // 4 * 4
        out[:] = 0.0
        for k in range(0, whole, 4):
            a, b, c, d = data[i, k], data[i, k + 1], data[i, k + 2], data[i, k + 3]
            for lane in range(LANES):
                e = block[k, lane] - a
                f = block[k + 1, lane] - b
                g = block[k + 2, lane] - c
                h = block[k + 3, lane] - d
                out[lane] += (e * e + f * f) + (g * g + h * h)
        for k in range(whole, dim):
            a = data[i, k]
            for lane in range(LANES):
                e = block[k, lane] - a
                out[lane] += e * e
    for lane in range(count):
        out[lane] -= offsets[i] + offsets[members[start + lane]]
    return count


@compiled
def near_any(
    data: Floats, is_gram: bool, offsets: Floats, rows: Ints, members: Ints, limit: float
) -> NDArray[np.bool_]:
    """Whether each row has a score within the limit to some member, or is one."""
    packed = pack(data, is_gram, members)
    near = np.zeros(len(rows), np.bool_)
    out = np.empty(LANES)
    for start in range(0, len(members), LANES):  # outer loop, so that a block stays in the cache
        for r in range(len(rows)):
            if near[r]:
                continue
            count = block_scores(data, is_gram, offsets, packed, members, rows[r], start, out)
            for lane in range(count):
                if out[lane] <= limit or members[start + lane] == rows[r]:
                    near[r] = True
    return near


@compiled
def sequential_packing(
    data: Floats, is_gram: bool, offsets: Floats, chunk: Ints, limit: float
) -> NDArray[np.bool_]:
    """Walk through a chunk and keep each point whose scores to all kept ones exceed the limit."""
    packed = pack(data, is_gram, chunk)
    kept = np.ones(len(chunk), np.bool_)
    out = np.empty(LANES)
    for r in range(len(chunk)):
        if not kept[r]:
            continue
        for start in range(r // LANES * LANES, len(chunk), LANES):
            count = block_scores(data, is_gram, offsets, packed, chunk, chunk[r], start, out)
            for lane in range(count):
                if start + lane > r and out[lane] <= limit:
                    kept[start + lane] = False
    return kept


@compiled
def incidence(
    data: Floats, is_gram: bool, offsets: Floats, candidates: Ints, sample: Ints, limit: float
) -> NDArray[np.uint64]:
    """Bit s of row c says whether candidate c covers point s of the sample."""
    packed = pack(data, is_gram, sample)
    bits = np.zeros((len(candidates), -(-len(sample) // 64)), np.uint64)
    out = np.empty(LANES)
    for c in range(len(candidates)):
        for start in range(0, len(sample), LANES):
            count = block_scores(data, is_gram, offsets, packed, sample, candidates[c], start, out)
            word = np.uint64(0)
            for lane in range(count):
                if out[lane] <= limit or sample[start + lane] == candidates[c]:
                    word |= np.uint64(1) << np.uint64(lane + start % 64)
            bits[c, start // 64] |= word
    return bits


@compiled
def ones(word: np.uint64) -> int:
    """Count the bits of a word."""
    count = 0
    while word:
        word &= word - np.uint64(1)
        count += 1
    return count


@compiled
def greedy_choice(bits: NDArray[np.uint64], n_sample: int) -> Ints:
    """Candidates chosen one by one, each covering the most of the sample that is not covered yet.

    Counts can only fall, so an old count is an upper bound: a candidate is counted again only when its
    old count is the largest.
    """
    n, words = bits.shape
    uncovered = np.zeros(words, np.uint64)
    for s in range(n_sample):
        uncovered[s // 64] |= np.uint64(1) << np.uint64(s % 64)
    counts = np.empty(n, np.int64)
    for c in range(n):
        counts[c] = 0
        for w in range(words):
            counts[c] += ones(bits[c, w])
    chosen = np.empty(n_sample, np.int64)
    n_chosen = 0
    left = n_sample
    while left > 0:
        best = np.argmax(counts)
        fresh = 0
        for w in range(words):
            fresh += ones(bits[best, w] & uncovered[w])
        if fresh < counts[best]:
            counts[best] = fresh
            continue
        chosen[n_chosen] = best
        n_chosen += 1
        left -= fresh
        counts[best] = 0
        for w in range(words):
            uncovered[w] &= ~bits[best, w]
    return chosen[:n_chosen]


@compiled
def farthest_first(
    data: Floats, is_gram: bool, offsets: Floats, first: int, limit: float
) -> tuple[Ints, Floats]:
    """Repeatedly take the point with the largest score to those taken, until none exceeds the limit.

    Returns the points taken and their scores at that moment, which fall; the first has infinity.
    """
    n = len(data)
    everyone = np.arange(n)
    packed = pack(data, is_gram, everyone)
    nearest = np.full(n, np.inf)
    taken = np.empty(n, np.int64)
    gaps = np.empty(n)
    out = np.empty(LANES)
    n_taken = 0
    current = first
    while n_taken < n and nearest[current] > limit:
        taken[n_taken] = current
        gaps[n_taken] = nearest[current]
        n_taken += 1
        for start in range(0, n, LANES):
            count = block_scores(data, is_gram, offsets, packed, everyone, current, start, out)
            for lane in range(count):
                nearest[start + lane] = min(nearest[start + lane], out[lane])
        nearest[current] = -np.inf  # taken, and never again
        current = int(np.argmax(nearest))
    return taken[:n_taken], gaps[:n_taken]


def greedy_cover(data: Floats, is_gram: bool, offsets: Floats, limit: float) -> Ints:
    """Greedy cover, in rounds: cover a sample of the uncovered points as well as possible, repeat.

    Up to SAMPLE points it is the classical greedy set cover. All points are candidates, unless balls were
    found to hold hardly more than one point of the sample: then only the uncovered ones are.
    """
    left = candidates = everyone = np.arange(len(data))
    centers: list[Ints] = []
    while len(left):
        sample = left[np.linspace(0, len(left) - 1, min(SAMPLE, len(left))).astype(np.int64)]
        bits = incidence(data, is_gram, offsets, candidates, sample, limit)
        chosen = candidates[greedy_choice(bits, len(sample))]
        left = left[~near_any(data, is_gram, offsets, left, chosen, limit)]
        centers.append(chosen)
        candidates = everyone if len(chosen) < 0.9 * len(sample) else left
    return np.concatenate(centers)


def packing(data: Floats, is_gram: bool, offsets: Floats, limit: float, order: Ints) -> Ints:
    """Points with all mutual scores above the limit, taken greedily in the given order."""
    kept = np.empty(0, np.int64)
    for start in range(0, len(order), SAMPLE):
        chunk = order[start : start + SAMPLE]
        chunk = chunk[~near_any(data, is_gram, offsets, chunk, kept, limit)]
        kept = np.append(kept, chunk[sequential_packing(data, is_gram, offsets, chunk, limit)])
    return kept
