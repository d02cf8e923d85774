"""Slow and obvious versions of the methods beyond the paper, straight from the formulas. Imports no stbmta."""

import math
from itertools import product

import numpy as np


def project_to_simplex(v):
    """The nearest point of the simplex: sort, and find the threshold."""
    u = np.sort(v)[::-1]
    total = np.cumsum(u) - 1
    k = np.flatnonzero(u - total / np.arange(1, len(v) + 1) > 0)[-1]
    return np.maximum(v - total[k] / (k + 1), 0.0)


def simplex_program(Q, linear, steps=40_000):
    """Minimize w'Qw + linear'w over the simplex by accelerated projected gradient."""
    size = 2 * np.linalg.eigvalsh(Q)[-1] + 1e-12
    w = y = np.full(len(linear), 1 / len(linear))
    t = 1.0
    for _ in range(steps):
        new = project_to_simplex(y - (2 * Q @ y + linear) / size)
        t_new = (1 + math.sqrt(1 + 4 * t * t)) / 2
        y = new + (t - 1) / t_new * (new - w)
        w, t = new, t_new
    return w


def penalty(U, mse, dimension, i, j):
    """Standard deviation of <mu_j - mu_i, e_i> + <e_j, e_i> - (|e_i|^2 - s_i^2), noise even over d dimensions."""
    if i == j:
        return 0.0
    return math.sqrt(
        max(U[i][j], 0.0) * mse[i] / dimension + mse[i] * mse[j] / dimension + 2 * mse[i] ** 2 / dimension
    )


def aggregation_objective(w, i, G, U, mse, dimension, kappa, ridge):
    """|sum w mu^ - mu^_i|^2 + 2 w_i s_i^2 + 2 kappa sum w_j c_ij + ridge s_i^2 |w|^2, up to |mu^_i|^2."""
    B = len(w)
    value = math.fsum(w[j] * w[k] * G[j][k] for j, k in product(range(B), repeat=2))
    value -= 2 * math.fsum(w[j] * G[i][j] for j in range(B))
    value += 2 * w[i] * mse[i] + ridge * mse[i] * math.fsum(x * x for x in w)
    return value + 2 * kappa * math.fsum(w[j] * penalty(U, mse, dimension, i, j) for j in range(B))


def bound(w, D, mse):
    """The bound that water-filling minimizes."""
    return (
        math.fsum(x * x * s for x, s in zip(w, mse, strict=True))
        + math.fsum(x * d for x, d in zip(w, D, strict=True)) ** 2
    )


def noise_dimension(bags):
    """(tr S)^2 / tr(S^2), linear kernel, numerator and denominator summed over bags that follow each other."""
    top = bottom = 0.0
    covariances = [np.cov(np.asarray(bag).T, ddof=1) for bag in bags]
    for S, T in zip(covariances, [*covariances[1:], covariances[0]], strict=True):
        top += np.trace(np.atleast_2d(S)) * np.trace(np.atleast_2d(T))
        bottom += np.sum(np.atleast_2d(S) * np.atleast_2d(T))
    return top / bottom


def optimal_shrinkage(X, noise):
    """Gavish and Donoho's shrinkage for squared error: keep singular vectors, shrink singular values."""
    rows, columns = X.shape
    longer, shorter = max(rows, columns), min(rows, columns)
    beta = shorter / longer
    U, singular, V = np.linalg.svd(X, full_matrices=False)
    shrunk = []
    for value in singular:
        y = value / (noise * math.sqrt(longer))
        if y <= 1 + math.sqrt(beta):
            shrunk.append(0.0)
        else:
            eta = math.sqrt((y * y - beta - 1) ** 2 - 4 * beta) / y
            shrunk.append(eta * noise * math.sqrt(longer))
    return U @ np.diag(shrunk) @ V


def spectral_mean(points, penalty):
    """C (C + lambda I)^-1 mean, with C the second moment, in the space of the points (linear kernel)."""
    X = np.asarray(points)
    C = X.T @ X / len(X)
    weight = penalty * np.linalg.eigvalsh(C)[-1]
    return C @ np.linalg.solve(C + weight * np.eye(C.shape[0]), X.mean(axis=0))
