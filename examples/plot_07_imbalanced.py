"""
Bags of very different sizes
============================

Bags of 10 to 300 points from the toy model of the paper. Small bags gain most; large ones have little to
gain and something to lose, because plain STB gives all neighbors the same weight. Water-filling gives
each neighbor the weight that its own error deserves.
"""

import matplotlib.pyplot as plt
import numpy as np

from stbmta import MTA, RBF, STB, NaiveMean, WaterFilling, datasets, gaussian_truth, squared_error
from stbmta.plotting import ErrorBySizeDisplay

kernel = RBF(2.25)
sizes = np.r_[np.repeat(np.arange(10, 101, 10), 4), np.repeat([125, 150, 200, 250, 300], 2)]
methods = {
    "naive": NaiveMean(kernel),
    "STB, gamma = 0": STB(kernel, gamma=0.0, random_state=0),
    "STB, gamma by K-fold": STB(kernel, random_state=0),
    "MTA, similarity by tests": MTA(kernel, "stb", random_state=0),
    "water-filling": WaterFilling(kernel, random_state=0),
}
rng = np.random.default_rng(0)
errors = {name: np.zeros(len(sizes)) for name in methods}
TRIALS = 12
for _ in range(TRIALS):
    sample = datasets.rotated_gaussians(len(sizes), sizes, rng=rng)
    truth = gaussian_truth(sample.bags, sample.means, sample.covariances, kernel)
    for name, method in methods.items():
        est = method.fit(sample.bags)
        errors[name] += squared_error(est.weights_, est.statistics_, truth) / TRIALS

ErrorBySizeDisplay(sizes, errors).plot()
plt.show()

# %%
# The gain by size class, in percent of the naive error.

print(f"{'points':>10}" + "".join(f"{name:>26}" for name in list(methods)[1:]))
for low, high in ((10, 30), (40, 70), (80, 150), (200, 300)):
    part = (sizes >= low) & (sizes <= high)
    gains = [
        100 * (1 - errors[name][part].mean() / errors["naive"][part].mean()) for name in list(methods)[1:]
    ]
    print(f"{low:>4} - {high:<3}" + "".join(f"{gain:>26.0f}" for gain in gains))
