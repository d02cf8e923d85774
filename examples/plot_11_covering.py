"""
Covering numbers: how much structure is there?
==============================================

The average bounds of both theorems depend on the means only through their covering number: how many balls
of a radius hold them all. Few balls for many bags means many neighbors for each.
"""

import matplotlib.pyplot as plt
import numpy as np

from stbmta import datasets, theory
from stbmta.plotting import CoveringDisplay

models = {
    "CLUSTER": datasets.cluster(500, 100, rng=0).means,
    "SPHERE": datasets.sphere(500, 100, radius=3.0, rng=0).means,
    "SPARSE": datasets.sparse(500, 50, rng=0).means,
}
figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
for ax, (name, means) in zip(axes, models.items(), strict=True):
    CoveringDisplay.from_points(means).plot(ax=ax)
    ax.set_title(f"{name}: 500 means", fontsize=10)
plt.show()

# %%
# What Theorem 1 makes of it: the average error over the naive one, for tests of squared radius tau. With one
# point a bag and unit variance the naive error is the dimension.

for name, means in models.items():
    sigma = np.sqrt(means.shape[1])
    for tau in (0.1, 0.3, 1.0):
        radius = float(theory.theorems.covering_radius(tau / 3, sigma))
        cover = theory.covering.covering_number(means, radius)
        bound = theory.theorems.average_independent(tau, cover.upper, len(means))
        print(
            f"{name:<8} tau {tau:<4} balls {cover.lower:>4} to {cover.upper:<4} "
            f"average error at most {100 * bound:.0f} % of naive"
        )
