"""What ``stbmta estimate`` tells: one row a bag, arrays, main figures, in the units and under the names of the user."""

from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from . import cli_output as output
from .cli_options import label_text, written_labels
from .cli_source import Table

__all__ = ["Result", "each_alone", "effective_neighbors", "held_out_change", "main_neighbors"]

# Where no test says who is a neighbor, bags are whose weight is at least this share of the largest.
_MATTERS = 0.1
# Beyond this gamma a mean keeps so much of itself that others, and the threshold that finds them, hardly matter.
_NEARLY_NAIVE = 0.95


@dataclass(frozen=True)
class Result:
    """An estimate, and the table that its bags came from."""

    table: Table
    estimator: Any
    method: str

    def figures(self) -> dict[str, npt.NDArray[Any]]:
        """Return the figures of each bag besides its mean; they come from the estimator, never from a mixed table."""
        found = self.estimator.bag_figures()
        if "neighbors" in found:
            return found
        W = weights_of_bags(self.estimator.weights_, found["size"])
        counts = {"neighbors": main_neighbors(W), "effective_neighbors": effective_neighbors(W)}
        return {"size": found.pop("size"), **counts, **found}

    def to_frame(self) -> Any:
        """Return one row a bag: labels, figures, then naive mean and estimate of each feature."""
        import pandas as pd

        columns: dict[str, Any] = self.table.label_columns(self.estimator.labels_)
        for name, values in self.figures().items():
            columns[output.free_name(name, columns)] = values
        if hasattr(self.estimator, "means_"):
            naive, means = self._means()
            for k, name in enumerate(self.table.columns):
                stem = _free_stem(name, columns)
                columns |= {f"naive_{stem}": naive[:, k], f"estimate_{stem}": means[:, k]}
        return pd.DataFrame(columns)

    def _means(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return naive means and estimates in the units of the user."""
        center, scale = self.table.center, self.table.scale
        return center + scale * self.estimator.statistics_.means, center + scale * self.estimator.means_

    def arrays(self) -> dict[str, Any]:
        """Return everything as arrays: weights, Gram matrix, and the columns of the table."""
        arrays = {
            "labels": written_labels(self.table),
            "weights": self.estimator.weights_,
            "gram": self.estimator.gram_,
        }
        if hasattr(self.estimator, "neighbors_"):
            arrays["neighbor_matrix"] = self.estimator.neighbors_
        arrays |= self.figures()
        if hasattr(self.estimator, "means_"):
            arrays["naive"], arrays["estimate"] = self._means()
            arrays["columns"] = np.array(self.table.columns)
        return arrays

    def write_gram(self, path: Path) -> None:
        """Write the inner products of the estimates, with labels."""
        import pandas as pd

        matrix = self.estimator.gram_
        if path.suffix.lower() == ".npz":
            output.write_arrays({"gram": matrix, "labels": written_labels(self.table)}, path)
            return
        names = [label_text(label) for label in self.estimator.labels_.tolist()]
        labels = pd.Series(names, name=output.free_name("bag", names))
        output.write_table(pd.concat([labels, pd.DataFrame(matrix, columns=names)], axis=1), path)

    def facts(self) -> dict[str, Any]:
        """Return what was done, and how much it should help."""
        est, bags = self.estimator, self.table.bags
        facts: dict[str, Any] = {
            "method": self.method,
            "estimator": type(est).__name__,
            "kernel": repr(est.kernel_),
            "n_bags": len(bags),
            "points": len(bags.data),
            "dimension": bags.dim,
            "standardized": self.table.standardized,
        }
        for name in ("zeta", "gamma", "c"):
            value = getattr(est, f"{name}_", None)
            if value is not None:
                facts[name] = float(np.mean(value))
        stacking = getattr(est, "stacking_", None)
        if stacking is not None:
            facts["shares"] = stacking.shares()
        averages = {name: float(values.mean()) for name, values in self.figures().items()}
        for name in ("neighbors", "effective_neighbors"):
            if name in averages:
                facts[f"average_{name}"] = averages[name]
        for name in ("naive_error", "estimated_error"):
            if name in averages:
                facts[name] = averages[name]
        facts["nearly_naive"] = (
            facts["estimator"] == "STB" and "zeta" in facts and facts.get("gamma", 0.0) > _NEARLY_NAIVE
        )
        change = held_out_change(est)
        if change is not None:
            facts["held_out_change"] = change
        return facts

    def show(self, frame: Any) -> None:
        """Print the main figures and the table."""
        facts = self.facts()
        print(
            f"{facts['estimator']} with {facts['kernel']}: {facts['n_bags']} bags, {facts['points']} rows, "
            f"{facts['dimension']} columns{', standardized' if facts['standardized'] else ''}"
        )
        chosen = [f"{name} = {facts[name]:.4g}" for name in ("zeta", "gamma", "c") if name in facts]
        effective = facts.get("average_effective_neighbors")
        if effective is None:
            chosen.append(f"{facts['average_neighbors']:.3g} neighbors a bag")
        elif not each_alone(facts):
            chosen.append(f"an estimate is made of {effective:.3g} bags, in effect")
        if chosen:
            print("; ".join(chosen))
        if facts["nearly_naive"]:
            print("gamma is close to 1: each mean keeps nearly all of itself, and zeta hardly matters")
        if "shares" in facts:
            used = [f"{share:.0%} {name}" for name, share in facts["shares"].items()]
            print("methods: " + "; ".join(used[:5]) + (f"; {len(used) - 5} more" if len(used) > 5 else ""))
        if "held_out_change" in facts:
            change = 100 * facts["held_out_change"]
            print(f"squared error of the means, on points held out: {change:+.1f} % against naive")
        pairs = len(self.table.columns) if hasattr(self.estimator, "means_") else 0
        output.print_table(frame, repeat=len(self.table.keys), pairs=pairs)


def weights_of_bags(W: Any, sizes: npt.NDArray[np.int64]) -> Any:
    """Return the sizes of weights bag by bag, where a method gives each point a weight of its own.

    Examples
    --------
    >>> weights_of_bags(np.array([[0.5, 0.4, 0.0], [0.0, 0.0, 1.0]]), np.array([2, 1]))
    array([[0.9, 0. ],
           [0. , 1. ]])
    """
    if W.shape[1] == len(sizes):
        return W
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return abs(W) @ scipy.sparse.csr_array((np.ones(len(owner)), (np.arange(len(owner)), owner)))


def main_neighbors(W: Any) -> npt.NDArray[np.int64]:
    r"""Return how many bags matter in each estimate, :math:`|\{j : |w_j| \ge \max_k |w_k| / 10\}|` for each row.

    It is the number of neighbors where they have equal weights, itself included; 0 where all weights are 0.

    Examples
    --------
    >>> main_neighbors(np.array([[1.0, 0.0, 0.0], [0.4, 0.3, -0.3], [0.9, 0.09, 0.01], [0.0, 0.0, 0.0]]))
    array([1, 3, 2, 0])
    """
    sizes = abs(W.tocsr() if scipy.sparse.issparse(W) else np.asarray(W))
    largest = sizes.max(axis=1)
    largest = np.asarray(largest.toarray() if scipy.sparse.issparse(largest) else largest).ravel()
    # A part in 10^12 is left to rounding.
    least = np.where(largest > 0, (1 - 1e-12) * _MATTERS * largest, np.inf)
    if scipy.sparse.issparse(sizes):
        rows = np.repeat(np.arange(len(least)), np.diff(sizes.indptr))
        return np.bincount(rows[sizes.data >= least[rows]], minlength=len(least))
    return np.asarray((sizes >= least[:, None]).sum(axis=1), dtype=np.int64)


def effective_neighbors(W: Any) -> npt.NDArray[np.float64]:
    r"""Return how many bags an estimate is made of, :math:`(\sum_j |w_j|)^2 / \sum_j w_j^2`, for each row.

    It is the number of neighbors where they have equal weights, itself included.

    Examples
    --------
    >>> effective_neighbors(np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]))
    array([1., 2.])
    """
    total, squares = np.asarray(abs(W).sum(axis=1)).ravel(), np.asarray((W * W).sum(axis=1)).ravel()
    return np.divide(total**2, squares, out=np.zeros_like(total), where=squares > 0)


def each_alone(facts: dict[str, Any]) -> bool:
    """Tell whether every estimate is made of its own bag only; a part in 10^6 is left to rounding.

    Examples
    --------
    >>> each_alone({"average_effective_neighbors": 1.0000000002}), each_alone({"average_effective_neighbors": 1.5})
    (True, False)
    """
    return bool(facts["average_effective_neighbors"] <= 1 + 1e-6)


def held_out_change(estimator: Any) -> float | None:
    """Return the change of the squared error that K-fold found, as a share of the naive error, or None.

    Both errors are those of bags that are smaller by a fold. With few bags the scores are noisy; the variance of
    the weighted averages, which no error can fall below, limits what is reported.
    """
    error = estimator._naive_error()
    if error is None or error.mean() == 0:
        return None
    stacking = getattr(estimator, "stacking_", None)
    tuning = getattr(estimator, "tuning_", None)
    if stacking is not None and stacking.naive > 0:
        change = stacking.combined / stacking.naive
    elif tuning is not None:
        sizes = estimator.statistics_.sizes
        folds = np.minimum(estimator.n_folds, sizes)
        scored = sizes >= min(3, sizes.max())
        change = tuning.risk.min() / (error * folds / (folds - 1))[scored].mean()
    else:
        return None
    W = estimator.weights_
    if W.shape[1] != len(error):  # halves of bags were averaged
        return float(max(change, -1.0))
    return float(max(change, ((W * W) @ error).mean() / error.mean() - 1))


def _free_stem(name: str, taken: Container[str]) -> str:
    """Return a name for a feature under which both of its columns are free: 'error' would give 'naive_error'."""
    while f"naive_{name}" in taken or f"estimate_{name}" in taken:
        name = f"mean_{name}"
    return name
