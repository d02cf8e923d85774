"""
Real data with a known truth
============================

Women in a survey, in 16 groups by their own and their husband's occupation, with seven answers each. Twenty
women are drawn from each group; every method estimates the means of the groups from them alone, and the
whole groups are the truth. ``stbmta demo`` runs this and other data sets.
"""

import matplotlib.pyplot as plt

from stbmta import RBF, datasets
from stbmta.validation.heldout import compare

groups = datasets.load_fair().drop_small(100)
print(groups)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, (what, kernel) in zip(
    axes, {"means": "linear", "embeddings (RBF)": RBF("median")}.items(), strict=True
):
    found = compare(groups, 20, kernel, n_trials=8, rng=0).to_frame()
    print(what, (100 * found[["ratio", "standard_error"]]).round(1), sep="\n")
    ax.errorbar(
        100 * found["ratio"],
        found.index,
        xerr=100 * found["standard_error"],
        fmt="o",
        color="#0072B2",
        capsize=3,
    )
    ax.axvline(100, color="gray", linestyle=":")
    ax.set(xlabel="squared error, naive = 100 %", title=what, xlim=(0, 110))
axes[0].invert_yaxis()
plt.show()

# %%
# Not a single parameter was chosen with the truth: thresholds and shrinkage come from K-fold inside the
# small bags. With larger bags there is less to gain, and with other data nothing at all; see
# :doc:`plot_10_where_not`.
