"""Slow and obvious versions of everything: plain loops, straight from the formulas.

Nothing here imports stbmta. Sums use math.fsum, so the oracles are correct to the last digit or two.
"""

import math
from itertools import product

import numpy as np


def linear(x, y):
    return math.fsum(a * b for a, b in zip(x, y, strict=True))


def rbf(width):
    return lambda x, y: math.exp(-math.fsum((a - b) ** 2 for a, b in zip(x, y, strict=True)) / (2 * width**2))


def laplacian(width):
    return lambda x, y: math.exp(-math.fsum(abs(a - b) for a, b in zip(x, y, strict=True)) / width)


def polynomial(degree, gamma, coef0):
    return lambda x, y: (gamma * linear(x, y) + coef0) ** degree


def kernel_sum(kernel, first, second):
    """Sum of kernel values between all points of two bags."""
    return math.fsum(kernel(x, y) for x, y in product(first, second))


def gram(kernel, bags, others=None):
    """Mean kernel values between bags, pairs of a point with itself included."""
    others = bags if others is None else others
    return np.array([[kernel_sum(kernel, a, b) / (len(a) * len(b)) for b in others] for a in bags])


def diagonal(kernel, bags):
    return np.array([math.fsum(kernel(x, x) for x in bag) / len(bag) for bag in bags])


def means(bags):
    return np.array([[math.fsum(column) / len(bag) for column in np.asarray(bag).T] for bag in bags])


def naive_mse(kernel, bags):
    """Eq. esttaskvar, as printed: a sum over pairs of different points."""
    found = []
    for bag in bags:
        n = len(bag)
        total = math.fsum(
            kernel(bag[k], bag[k]) - 2 * kernel(bag[k], bag[m]) + kernel(bag[m], bag[m])
            for k, m in product(range(n), repeat=2)
            if k != m
        )
        found.append(total / (2 * n**2 * (n - 1)))
    return np.array(found)


def mmd2(kernel, bags):
    """Eq. Ustat for bags of any size, off the diagonal."""
    B = len(bags)
    within = []
    for bag in bags:
        n = len(bag)
        pairs = (kernel(bag[k], bag[m]) for k, m in product(range(n), repeat=2) if k != m)
        within.append(math.fsum(pairs) / (n * (n - 1)))
    G = gram(kernel, bags)
    return np.array(
        [[0.0 if i == j else within[i] + within[j] - 2 * G[i, j] for j in range(B)] for i in range(B)]
    )


def neighbors(U, mse, zeta):
    B = len(U)
    return np.array([[i == j or U[i, j] <= zeta * mse[i] for j in range(B)] for i in range(B)])


def stb(N, gammas):
    B = len(N)
    W = np.zeros((B, B))
    for i in range(B):
        size = sum(bool(x) for x in N[i])
        for j in range(B):
            if N[i, j]:
                W[i, j] += (1 - gammas[i]) / size
        W[i, i] += gammas[i]
    return W


def gamma_theory(N, zeta, c):
    found = []
    for row in N:
        others = sum(bool(x) for x in row) - 1
        found.append(c * zeta * others / ((1 + c * zeta) * others + 1))
    return found


def rkmse(kernel, bags):
    found = []
    for bag in bags:
        n = len(bag)
        varrho = math.fsum(kernel(x, x) for x in bag) / n
        rho = kernel_sum(kernel, bag, bag) / n**2
        denominator = (1 / n - 1) * varrho + (n - 1) * rho
        found.append(0.0 if denominator <= 0 else 1 / (1 + (varrho - rho) / denominator))
    return np.diag(found)


def mta(A, mse, gamma):
    B = len(A)
    laplacian_of_A = np.diag(A.sum(axis=1)) - A
    return np.linalg.inv(np.eye(B) + gamma / B * np.diag(mse) @ laplacian_of_A)


def squared_error(W, G, cross, norms):
    B = len(W)
    found = []
    for i in range(len(norms)):
        quadratic = math.fsum(W[i, j] * W[i, k] * G[j, k] for j in range(B) for k in range(B))
        found.append(quadratic - 2 * math.fsum(W[i, j] * cross[j, i] for j in range(B)) + norms[i])
    return np.array(found)


def fold_loss(kernel, bags, i, fold, zeta, gamma):
    """Score of bag i without the points `fold`, all other bags whole; and the score of the naive mean."""
    bag = [tuple(x) for x in bags[i]]
    held_out = [bag[k] for k in fold]
    rest = [bag[k] for k in range(len(bag)) if k not in fold]
    changed = [rest if j == i else bags[j] for j in range(len(bags))]
    U, mse = mmd2(kernel, changed), naive_mse(kernel, changed)
    W = stb(neighbors(U, mse, zeta), [gamma] * len(bags))
    G = gram(kernel, changed)
    f = [kernel_sum(kernel, b, held_out) / (len(b) * len(held_out)) for b in changed]
    w = W[i]
    return w @ G @ w - 2 * w @ f, G[i, i] - 2 * f[i]
