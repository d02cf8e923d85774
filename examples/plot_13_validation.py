"""
Does a bound hold? Checking Theorem 1 by simulation
===================================================

Theorem 1 bounds the error of shrunken means when the tests do not know the estimates. Given the outcome of
the tests the error is known exactly: squared bias plus a sum of variances. So the check needs no average
over noise. ``stbmta validate`` does this for every statement of the paper, with confidence intervals; here
is the idea on one of them.
"""

import matplotlib.pyplot as plt
import numpy as np

from stbmta import datasets, theory
from stbmta.plotting._style import BLUE, VERMILION

N_BAGS, DIM, ALPHA = 60, 20_000, 0.05
tau = float(theory.gaussian.exact_tau(N_BAGS, DIM, ALPHA))
zeta = float(theory.gaussian.exact_zeta(tau, N_BAGS, DIM, ALPHA))
print(f"tau = {tau:.3f}, zeta = {zeta:.3f}")

# %%
# Means in six clusters; the radius of the clusters is chosen so that some pairs are close to the limit. One
# point a bag for the tests, another for the estimates; unit variance, so the naive error is the dimension.

rng = np.random.default_rng(0)
sample = datasets.cluster(N_BAGS, DIM, n_clusters=6, spread=np.sqrt(0.2 * tau), rng=rng)
means = sample.means
sq_distances = ((means[:, None] - means[None]) ** 2).sum(axis=2)
error, bound, violations = [], [], 0
for _ in range(20):
    tested = means + rng.normal(size=means.shape)
    tests = ((tested[:, None] - tested[None]) ** 2).sum(axis=2) <= zeta * DIM
    np.fill_diagonal(tests, True)
    violations += bool((tests & (sq_distances > tau * DIM)).any())  # the event A, which the theorem excludes
    others = tests.sum(axis=1) - 1
    gamma = theory.theorems.gamma_independent(tau, others)
    W = gamma[:, None] * np.eye(N_BAGS) + (1 - gamma)[:, None] * tests / tests.sum(axis=1, keepdims=True)
    bias = ((W @ means - means) ** 2).sum(axis=1)
    error.extend((bias + DIM * (W**2).sum(axis=1)) / DIM)
    bound.extend(theory.theorems.bound_independent(tau, others))

print(f"event A in {violations} of 20 draws (at most {ALPHA:.0%} are allowed)")
print(f"largest error / bound: {np.max(np.array(error) / np.array(bound)):.3f}")

# %%
# Every point must lie below the line.

figure, ax = plt.subplots(figsize=(4.8, 4.2), layout="constrained")
ax.plot(bound, error, "o", color=BLUE, markersize=4, alpha=0.4)
ax.axline((0, 0), slope=1, color=VERMILION)
ax.set(xlabel="bound of Theorem 1 / naive error", ylabel="error / naive error", xlim=(0, 1), ylim=(0, 1))
plt.show()
