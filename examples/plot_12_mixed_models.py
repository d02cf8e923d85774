"""
Coming from mixed models
========================

A random intercept predicted by its BLUP is a shrunken group mean. Here the BLUPs of statsmodels'
``MixedLM`` stand beside the estimates of this package, for one feature at a time and for all together.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from statsmodels.regression.mixed_linear_model import MixedLM

import stbmta

rng = np.random.default_rng(0)


def blups(bags):
    """Return intercept plus random effect of each bag, one feature at a time."""
    group = np.repeat(np.arange(len(bags)), bags.sizes)
    found = np.empty((len(bags), bags.dim))
    for k in range(bags.dim):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # MixedLM warns where the variance between groups is near 0
            fit = MixedLM(bags.data[:, k], np.ones(len(group)), groups=group).fit()
        effects = pd.Series({name: effect.iloc[0] for name, effect in fit.random_effects.items()})
        found[:, k] = fit.fe_params[0] + effects.sort_index().to_numpy()
    return found


def compare(sample, title):
    """Print the squared errors."""
    errors = {
        "naive": sample.bags.means(),
        "MixedLM, BLUPs": blups(sample.bags),
        "MTA, constant similarity": stbmta.MTA().fit(sample.bags).means_,
        "STB": stbmta.STB(random_state=0).fit(sample.bags).means_,
    }
    print(title)
    for name, means in errors.items():
        print(f"  {name:<26}{((means - sample.means) ** 2).sum(axis=1).mean():.3f}")
    return errors


# %%
# One population of groups, as mixed models assume: means normal around one center. MTA with constant
# similarity pulls all groups to the common mean, and so do BLUPs. STB has nothing to add.

one = stbmta.datasets.cluster(40, 6, bag_size=8, n_clusters=1, spread=0.3, rng=rng)
found = compare(one, "one population")

# %%
# The pull is the same idea, so the estimates are nearly the same numbers.

figure, ax = plt.subplots(figsize=(4.4, 4.0), layout="constrained")
ax.plot(
    found["MixedLM, BLUPs"].ravel(),
    found["MTA, constant similarity"].ravel(),
    "o",
    color="#0072B2",
    markersize=4,
)
ax.axline((0, 0), slope=1, color="gray", linestyle=":")
ax.set(xlabel="MixedLM, BLUPs", ylabel="MTA, constant similarity", title="40 group means, 6 features")
plt.show()

# %%
# Several populations: the common mean lies between the clusters, where no group is. BLUPs hardly shrink;
# STB finds the clusters.

several = stbmta.datasets.cluster(40, 6, bag_size=8, n_clusters=4, spread=0.05, rng=rng)
_ = compare(several, "four populations")
