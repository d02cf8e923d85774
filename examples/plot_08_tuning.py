"""
Tuning without knowing the truth
================================

STB has two parameters: the threshold zeta of the tests, and gamma, what each mean keeps of itself. K-fold
inside the bags estimates the risk over the whole grid in one pass. Here the truth is known, so the
estimated surface can be held against the true one.
"""

import matplotlib.pyplot as plt
import numpy as np

from stbmta import RBF, datasets, gaussian_truth, neighbors, squared_error, tune_stb, weights
from stbmta.plotting import RiskDisplay
from stbmta.statistics import bag_statistics

kernel = RBF(2.25)
sample = datasets.rotated_gaussians(50, 50, radius=2.0, rng=1)
tuning = tune_stb(sample.bags, kernel, rng=0)
print(tuning.summary())

# %%
# The true change of the squared error, for the same grid, from the closed form of the truth.

s = bag_statistics(sample.bags, kernel)
truth = gaussian_truth(sample.bags, sample.means, sample.covariances, kernel)
naive = squared_error(np.eye(len(s)), s, truth).mean()
true_change = np.array(
    [
        [squared_error(weights.stb(N, gamma), s, truth).mean() - naive for gamma in tuning.shrinkages]
        for N in (neighbors(s, zeta) for zeta in tuning.zetas)
    ]
)
best = np.unravel_index(true_change.argmin(), true_change.shape)

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
RiskDisplay.from_tuning(tuning).plot(ax=axes[0])
axes[0].set_title("estimated by K-fold", fontsize=10)
oracle = (tuning.zetas[best[0]], tuning.shrinkages[best[1]])
RiskDisplay(tuning.zetas, tuning.shrinkages, true_change, oracle, "gamma").plot(ax=axes[1])
axes[1].set_title("true change; star: the best", fontsize=10)
plt.show()

# %%
# What matters is the true error at the parameters that were chosen.

chosen = squared_error(weights.stb(neighbors(s, tuning.zeta), tuning.gamma), s, truth).mean()
best_error = naive + true_change.min()
print(
    f"error in % of naive: chosen by K-fold {100 * chosen / naive:.1f}, best {100 * best_error / naive:.1f}"
)
