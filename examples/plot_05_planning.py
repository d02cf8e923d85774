"""
Thresholds and planning
=======================

Before measuring anything: how sharp can the similarity tests be, and how much is then guaranteed? In the
isotropic Gaussian setting the laws of the tests are known.
"""

import matplotlib.pyplot as plt
import numpy as np

from stbmta import theory
from stbmta.plotting import ThresholdDisplay

# %%
# For 100 bags in dimension 1000, and a total error probability of 5 %: the tests find all pairs closer than
# the left line, and accept no pair beyond the right one. In between they may do either.

ThresholdDisplay.from_gaussian(n_bags=100, dim=1000).plot()
plt.show()

# %%
# The paper prints thresholds that come from concentration inequalities. They are valid and far from tight:
# the exact laws allow the same guarantee in dimensions that are smaller by orders of magnitude.

print(theory.tables.dimensions([10, 100, 1000], (1.0, 0.1), 0.05).summary())

# %%
# How much is guaranteed then? Theorem 1: the factor by which the squared error falls, over the dimension
# and the number of other neighbors.

dims = np.geomspace(100, 1e7, 60)
tau = theory.gaussian.exact_tau(100, dims, 0.05)
figure, ax = plt.subplots(figsize=(5.6, 3.8), layout="constrained")
for n_others, color in ((3, "#E69F00"), (10, "#56B4E9"), (30, "#009E73"), (99, "#0072B2")):
    ax.plot(
        dims,
        theory.theorems.bound_independent(tau, n_others),
        color=color,
        label=f"{n_others} other neighbors",
    )
ax.set(xscale="log", xlabel="dimension", ylabel="bound on the error / naive error", ylim=(0, 1))
ax.legend(frameon=False, fontsize=8)
plt.show()

# %%
# Planning: leave one number out and it is solved for. Which dimension does it take to halve the error on
# average, if the means are covered by 10 balls for 100 bags?

dim = theory.planning.solve(
    "gaussian",
    n_bags=100,
    dim=None,
    alpha=0.05,
    tau="smallest",
    covering_ratio=0.1,
    improvement=0.5,
    thresholds="exact",
)
print(f"dimension {dim:,.0f}")
