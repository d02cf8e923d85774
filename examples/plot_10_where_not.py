"""
Where neighbors do not help
===========================

Three kinds of data for which averaging over neighbors gains little or nothing, measured like the others:
small bags from large groups, the groups being the truth. It pays to know these before trusting any method.
"""

import matplotlib.pyplot as plt

from stbmta import datasets
from stbmta.validation.heldout import compare

DATA = {
    "one dimension\n(sea temperature by month)": (datasets.load_elnino(), 10),
    "far apart\n(ten digits, ten bags)": (datasets.load_digits_blocks(None), 20),
    "it does help\n(digits in eighty bags)": (datasets.load_digits_blocks(), 5),
}
SHOWN = ["James-Stein", "MTA const", "STB-0", "STB weight"]

figure, axes = plt.subplots(1, len(DATA), figsize=(10, 3.2), sharey=True, layout="constrained")
for ax, (name, (groups, size)) in zip(axes, DATA.items(), strict=True):
    found = compare(groups, size, n_trials=10, rng=0).to_frame().loc[SHOWN]
    print(name.replace("\n", " "), (100 * found[["ratio", "standard_error"]]).round(1), sep="\n")
    ax.errorbar(
        100 * found["ratio"], SHOWN, xerr=100 * found["standard_error"], fmt="o", color="#0072B2", capsize=3
    )
    ax.axvline(100, color="gray", linestyle=":")
    ax.set(title=name, xlabel="squared error, naive = 100 %", xlim=(0, 130))
    ax.title.set_fontsize(9)
axes[0].invert_yaxis()
plt.show()

# %%
# In one dimension a test cannot separate close from far well, and each false neighbor costs bias. Ten well
# separated classes have no neighbors to offer. K-fold notices both and shrinks little; it cannot gain what
# is not there.
