"""Pictures, as Display classes: data in, ``plot(ax=None)`` out, matplotlib loaded only then.

=====================  ==========================================================================
`NeighborsDisplay`     who is similar: matrix in the order of similarity, or graph
`WeightsDisplay`       how each estimate is made of the naive means
`ShrinkageDisplay`     where each mean went, in the first two principal directions
`ErrorBySizeDisplay`   squared error against the size of the bag, before and after
`PairsDisplay`         distances of all pairs, and which of them are significant
`RiskDisplay`          estimated risk over the tuning grid
`WitnessDisplay`       where two embeddings differ
`CoveringDisplay`      covering numbers of the means over the radius
`ThresholdDisplay`     errors of type I and II of the similarity tests
=====================  ==========================================================================

Colors are those of Okabe and Ito, which color-blind readers can tell apart.
"""

from ._figure import estimate_figure
from .errors import ErrorBySizeDisplay
from .neighbors import NeighborsDisplay
from .pairs import PairsDisplay
from .risk import RiskDisplay
from .shrinkage import ShrinkageDisplay
from .theory import CoveringDisplay, ThresholdDisplay
from .weights import WeightsDisplay
from .witness import WitnessDisplay

__all__ = [
    "CoveringDisplay",
    "ErrorBySizeDisplay",
    "NeighborsDisplay",
    "PairsDisplay",
    "RiskDisplay",
    "ShrinkageDisplay",
    "ThresholdDisplay",
    "WeightsDisplay",
    "WitnessDisplay",
    "estimate_figure",
]
