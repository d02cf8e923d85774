"""
Large data
==========

The kernel matrix of all points is never built: memory is that of the data and of one number for each pair of
bags. Time grows with the square of the number of points. Random features make it linear, at the price of an
error that can be read off; they pay only for very many points, because the exact sums are quick.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from stbmta import RBF, Bags, bag_statistics
from stbmta.scale.features import RandomFourier

rng = np.random.default_rng(0)
kernel = RBF(3.0)


def make(n_bags, size, dim=8):
    """Return bags around random centers."""
    centers = rng.normal(size=(n_bags, 1, dim))
    return Bags.from_list(list(centers + rng.normal(size=(n_bags, size, dim))))


def seconds(job):
    """Return the time of a job, and its result."""
    start = time.perf_counter()
    result = job()
    return time.perf_counter() - start, result


bag_statistics(make(3, 5), kernel)  # compile

# %%
# Exact statistics against 1024 random Fourier features.

n_points, exact_time, feature_time, worst = [], [], [], []
for size in (25, 50, 100, 200, 400):
    bags = make(50, size)
    features = RandomFourier.draw(kernel, dim=8, n_features=1024, rng=0)
    took, s = seconds(lambda bags=bags: bag_statistics(bags, kernel))
    exact_time.append(took)
    took, means = seconds(lambda bags=bags, f=features: np.array([f(bag).mean(axis=0) for bag in bags]))
    feature_time.append(took)
    n_points.append(len(bags.data))
    worst.append(np.abs(means @ means.T - s.gram).max())
    print(
        f"{n_points[-1]:>6} points: exact {exact_time[-1]:.3f} s, features {feature_time[-1]:.3f} s, "
        f"largest error {worst[-1]:.3f}"
    )

# %%
# Where do the curves meet? Exact time grows as the square of n, features as n.

crossing = n_points[-1] * feature_time[-1] / exact_time[-1]
print(f"features pay from about {crossing:,.0f} points")

figure, ax = plt.subplots(figsize=(5.4, 3.8), layout="constrained")
ax.loglog(n_points, exact_time, "o-", color="#0072B2", label="exact")
ax.loglog(n_points, feature_time, "s--", color="#D55E00", label="1024 random features")
ax.set(xlabel="points", ylabel="seconds")
ax.legend(frameon=False)
plt.show()

# %%
# The weights of an estimate follow from the statistics alone, so what remains after them costs little:
# neighbors and weights of 2000 bags.

from stbmta import neighbors, weights  # noqa: E402

many = make(2000, 5, dim=50)
took, s = seconds(lambda: bag_statistics(many, "linear"))
took_weights, W = seconds(lambda: weights.stb(neighbors(s, 1.0)))
print(f"2000 bags in 50 dimensions: statistics {took:.2f} s, neighbors and weights {took_weights:.2f} s")
