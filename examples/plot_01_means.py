"""
Many means at once
==================

Two hundred bags of ten points in 100 dimensions. Their means lie close to eight centers, but nobody says
so: tests find out which bags are similar, and each mean is shrunk toward its neighbors.
"""

import matplotlib.pyplot as plt
import numpy as np

import stbmta
from stbmta.plotting import NeighborsDisplay, ShrinkageDisplay

sample = stbmta.datasets.cluster(200, 100, bag_size=10, n_clusters=8, rng=0)
est = stbmta.STB(random_state=0).fit(sample.bags)
print(est.summary())

# %%
# The truth is known here, so the errors are known too. STB is close to what one would get by averaging the
# bags of each cluster.

naive = sample.bags.means()


def error(means):
    """Return the squared error of estimates, averaged over bags."""
    return ((means - sample.means) ** 2).sum(axis=1).mean()


for name, means in {
    "naive": naive,
    "James-Stein": stbmta.JamesStein(target="mean").fit(sample.bags).means_,
    "multi-task averaging": stbmta.MTA().fit(sample.bags).means_,
    "STB": est.means_,
}.items():
    print(f"{name:<22}{error(means):6.2f}   {100 * error(means) / error(naive):5.1f} % of naive")

# %%
# Who was found to be similar: bags in the order of similarity, so that groups show as squares.

NeighborsDisplay.from_estimator(est).plot()
plt.show()

# %%
# Where the means went, in the first two principal directions.

ShrinkageDisplay.from_estimator(est).plot()
plt.show()

# %%
# Every estimate is a weighted average of the naive means.

assert np.allclose(est.means_, est.weights_ @ naive)
