"""
All pairs: MMD matrix with corrected p-values
=============================================

Which digits look different? Blocks of handwritten digits are compared pair by pair: the squared MMD, a
p-value for each pair, and a correction for having tested thousands of them. ``stbmta mmd`` does the same on
the command line.
"""

import matplotlib.pyplot as plt
import numpy as np

from stbmta import RBF, datasets
from stbmta.pairs import pair_pvalues
from stbmta.plotting import PairsDisplay

bags = datasets.load_digits_blocks(3, 12)  # three blocks of twelve images for each digit
pairs = pair_pvalues(bags, RBF("median"))
print(pairs.summary())

# %%
# Blocks of one digit come from one distribution, so their pairs are true null hypotheses; pairs of
# different digits are not. Without a correction some equal blocks are told apart by chance. Holm's method
# bounds the probability of any such error.

digit = np.array([label[0] for label in bags.labels])
same = digit[:, None] == digit[None, :]
above = np.triu(np.ones_like(same), 1)
for name, p in {
    "uncorrected": pairs.pvalues,
    "fdr_bh": pairs.corrected("fdr_bh"),
    "holm": pairs.corrected(),
}.items():
    found = p <= 0.05
    print(
        f"{name:<12} equal digits told apart: {int((found & same & above).sum()):>2} of {int((same & above).sum())},   "
        f"different digits told apart: {int((found & ~same & above).sum())} of {int((~same & above).sum())}"
    )

# %%
# The map of distances, similar bags side by side. A dot marks a pair for which no difference was found: the
# blocks of three along the diagonal.

PairsDisplay.from_pvalues(pairs).plot()
plt.show()
