"""What a bag's neighbors would be, and how well they would do, without one of its folds.

One fold of one bag is left out at a time; all other bags stay whole. The rest of the bag is tested against
the other bags, and the average of its neighbors is compared with the fold. As the threshold grows,
neighbors only ever enter, so one pass over the bags in order of entry serves the whole grid of thresholds.

The oracle is ``tests/naive.py: fold_path``.
"""

import numpy as np

from ..theory._jit import compiled

__all__ = ["fold_paths"]


@compiled
def _sum_with(gram, j, members, count):
    """Return the sum of gram[j, members[:count]], in eight chains: one would wait for each addition."""
    row = gram[j]
    a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    k = 0
    while k + 8 <= count:
        a += row[members[k]]
        b += row[members[k + 1]]
        c += row[members[k + 2]]
        d += row[members[k + 3]]
        e += row[members[k + 4]]
        f += row[members[k + 5]]
        g += row[members[k + 6]]
        h += row[members[k + 7]]
        k += 8
    while k < count:
        a += row[members[k]]
        k += 1
    return ((a + b) + (c + d)) + ((e + f) + (g + h))


@compiled
def _first_threshold(distance, error, zetas):
    """Return the first index z with distance <= zetas[z] * error, len(zetas) if there is none."""
    low, high = 0, len(zetas)
    while low < high:
        middle = (low + high) // 2
        if np.isinf(zetas[middle]) or distance <= zetas[middle] * error:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def _leave_out(fold, i, in_fold, in_rest, sums, own, bag_sums, sizes, to_rest, to_fold):
    """Write <a, naive_j> and <f, naive_j> for all bags j; bag i itself is replaced by its rest, a."""
    for j in range(len(sizes)):
        size = np.float64(sizes[j])
        to_rest[j] = (bag_sums[i, j] - sums[fold, j]) / (in_rest * size)
        to_fold[j] = sums[fold, j] / (in_fold * size)
    to_rest[i] = (bag_sums[i, i] - 2 * sums[fold, i] + own[fold]) / (in_rest * in_rest)
    to_fold[i] = (sums[fold, i] - own[fold]) / (in_fold * in_rest)


@compiled
def _order_of_entry(i, error, gram, mse, unbiased, zetas, to_rest, entry, counts, by_entry):
    """Sort the bags by the threshold at which they become neighbors of bag i, i itself last."""
    counts[:] = 0
    for j in range(len(entry)):
        distance = to_rest[i] + gram[j, j] - 2 * to_rest[j]
        if unbiased:
            distance -= error + mse[j]
        entry[j] = len(zetas) if j == i else _first_threshold(distance, error, zetas)
        counts[entry[j] + 1] += 1
    for z in range(len(zetas) + 1):
        counts[z + 1] += counts[z]
    for j in range(len(entry)):
        by_entry[counts[entry[j]]] = j
        counts[entry[j]] += 1


@compiled
def _last_entries(entry, zetas):
    """Return how many bags are neighbors at the largest finite threshold."""
    finite = 0
    for zeta in zetas:
        finite += not np.isinf(zeta)
    count = 0
    for z in entry:
        count += z < finite
    return count


@compiled
def _follow(i, gram, row_totals, zetas, to_rest, to_fold, entry, by_entry, members, column, path):
    """Write v, <a, b>, <b, b> and <b, f> for each threshold."""
    n_bags = len(entry)
    # Of many neighbors, rows as a whole are added up faster than those of their entries that are needed.
    many = 2 * _last_entries(entry, zetas) > n_bags
    column[:] = 0.0
    v = 0  # neighbors besides i
    among = 0.0  # sum of gram over pairs of them
    rest_sum = 0.0
    fold_sum = 0.0
    for z in range(len(zetas)):
        if np.isinf(zetas[z]):
            # Everybody is a neighbor: totals, without going through the pairs.
            v, among, rest_sum, fold_sum = n_bags - 1, 0.0, 0.0, 0.0
            for j in range(n_bags):
                if j != i:
                    among += row_totals[j] - gram[j, i]
                    rest_sum += to_rest[j]
                    fold_sum += to_fold[j]
        else:
            while v < n_bags and entry[by_entry[v]] <= z:
                j = by_entry[v]
                if many:
                    among += 2 * column[j] + gram[j, j]
                    column += gram[j]
                else:
                    among += 2 * _sum_with(gram, j, members, v) + gram[j, j]
                rest_sum += to_rest[j]
                fold_sum += to_fold[j]
                members[v] = j
                v += 1
        w = np.float64(v + 1)
        path[z, 0] = w
        path[z, 1] = (to_rest[i] + rest_sum) / w
        path[z, 2] = (to_rest[i] + 2 * rest_sum + among) / (w * w)
        path[z, 3] = (to_fold[i] + fold_sum) / w


@compiled
def fold_paths(
    bag_of,
    fold_sizes,
    sums,
    own,
    fold_diagonal,
    bag_sums,
    bag_diagonal,
    sizes,
    gram,
    row_totals,
    mse,
    known_error,
    zetas,
    scored,
    first,
    last,
    paths,
    ends,
):
    """Follow the neighbors of each bag less one fold over a grid of thresholds.

    Parameters
    ----------
    bag_of, fold_sizes : int64 arrays of shape (folds,)
        The bag of each fold and its number of points.
    sums : float64 array of shape (folds, B)
        Sums of kernel values between folds and whole bags.
    own, fold_diagonal : float64 arrays of shape (folds,)
        Sums of kernel values of each fold with itself, and of k(x, x) over it.
    bag_sums : float64 array of shape (B, B)
        Sums of kernel values between whole bags.
    bag_diagonal : float64 array of shape (B,)
    sizes : int64 array of shape (B,)
    gram : float64 array of shape (B, B)
        Inner products of the naive means of the whole bags.
    row_totals : float64 array of shape (B,)
        Row sums of gram.
    mse : float64 array of shape (B,)
        Squared errors of the naive means of the whole bags.
    known_error : float
        The squared error of a bag of one point if it is known; then distances are compared as they are
        (eq. deftestsgaus). Otherwise 0: errors are estimated, and distances freed of them.
    zetas : float64 array, increasing
        The thresholds. The last may be infinite.
    scored : int64 array
        The folds to do: those that leave enough of their bag.
    first, last : int
        Which of them.
    paths : float64 array of shape (scored, thresholds, 4)
        For each threshold: number of neighbors v with the bag itself, <a, b>, <b, b>, <b, f>, where a is
        the mean of the rest of the bag, b the average of the neighbors' means, f the mean of the fold.
    ends : float64 array of shape (scored, 2)
        <a, a> and <a, f>.
    """
    n_bags = len(sizes)
    to_rest = np.empty(n_bags)
    to_fold = np.empty(n_bags)
    entry = np.empty(n_bags, np.int64)
    by_entry = np.empty(n_bags, np.int64)
    members = np.empty(n_bags, np.int64)
    column = np.empty(n_bags)
    counts = np.empty(len(zetas) + 2, np.int64)
    for k in range(first, last):
        fold = scored[k]
        i = bag_of[fold]
        in_fold = np.float64(fold_sizes[fold])
        in_rest = np.float64(sizes[i]) - in_fold
        _leave_out(fold, i, in_fold, in_rest, sums, own, bag_sums, sizes, to_rest, to_fold)
        if known_error > 0:
            error = known_error / in_rest
        else:
            spread = (bag_diagonal[i] - fold_diagonal[fold]) / in_rest - to_rest[i]
            error = max(spread, 0.0) / (in_rest - 1)
        _order_of_entry(i, error, gram, mse, known_error == 0, zetas, to_rest, entry, counts, by_entry)
        _follow(i, gram, row_totals, zetas, to_rest, to_fold, entry, by_entry, members, column, paths[k])
        ends[k, 0] = to_rest[i]
        ends[k, 1] = to_fold[i]
