"""What an estimator says about itself: a summary in the manner of statsmodels, and a data frame."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from .bags import Bags
from .certificates import Certificate, certify
from .kernels import Kernel
from .labels import labels_index
from .risk import unbiased_risk
from .statistics import BagStatistics

__all__ = ["EstimatorReport"]

# A summary shows this many bags and features at most; to_frame() has them all.
_ROWS = 12
_FEATURES = 3


class EstimatorReport:
    """The reporting half of an estimator; what it reports is found by the other half."""

    bags_: Bags
    statistics_: BagStatistics
    kernel_: Kernel
    labels_: npt.NDArray[Any]
    weights_: Any
    means_: npt.NDArray[np.float64]

    def _base_statistics(self) -> BagStatistics | None:
        raise NotImplementedError

    def _naive_error(self) -> npt.NDArray[np.float64] | None:
        raise NotImplementedError

    def _reasons(self) -> list[str]:
        """Say what was used and why, where that is a choice of the estimator."""
        stacking = getattr(self, "stacking_", None)
        return [] if stacking is None else stacking.summary().split("\n")

    def _neighbor_counts(self) -> npt.NDArray[Any] | None:
        tests = getattr(self, "neighbors_", None)
        return None if tests is None else np.asarray(tests.sum(axis=1)).ravel()

    def _estimated_error(self, mse: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | None:
        """Return the estimated squared errors of the estimates, or None where they are not of these bags."""
        if self._base_statistics() is not self.statistics_:
            return None
        variance = (self.weights_ * self.weights_) @ mse
        return np.maximum(unbiased_risk(self.weights_, self.statistics_, mse=mse), variance)

    def summary(self) -> Any:
        """Return the main figures, as a statsmodels ``Summary``; print it, or use its ``as_html``."""
        from statsmodels.iolib.summary import Summary
        from statsmodels.iolib.table import SimpleTable
        from statsmodels.iolib.tableformatting import fmt_params

        check_is_fitted(self)
        frame, figures = self.to_frame(), self.bag_figures()
        facts = [
            ("Method:", type(self).__name__),
            ("Kernel:", _short(self.kernel_)),
            ("No. bags:", str(len(frame))),
            ("No. points:", str(self.statistics_.sizes.sum())),
            ("Dimension:", str(self.statistics_.dim)),
            ("Bag sizes:", f"{self.statistics_.sizes.min()} to {self.statistics_.sizes.max()}"),
        ]
        for name in ("zeta", "gamma", "c"):
            value = getattr(self, f"{name}_", None)
            if value is not None:
                facts.append((f"{name}:", f"{np.mean(value):.4g}" + (" (average)" if np.ndim(value) else "")))
        if "neighbors" in figures:
            facts.append(("Avg. neighbors:", f"{figures['neighbors'].mean():.4g}"))
        tuning = getattr(self, "tuning_", None)
        if tuning is not None:
            facts.append((f"Change by {tuning.method}:", f"{tuning.risk.min():.4g}"))
        if "naive_error" in figures:
            facts.append(("Avg. naive error:", f"{figures['naive_error'].mean():.4g}"))
        if "estimated_error" in figures:
            facts.append(("Avg. estimated:", f"{figures['estimated_error'].mean():.4g}"))
        known = getattr(self, "variance", None) is not None
        if known and self._base_statistics() is self.statistics_ and hasattr(self, "weights_"):
            facts.append(("Certified factor:", f"{self.certificate().factors.mean():.3g} (95 %, average)"))
        facts_format = {**fmt_params, "data_fmts": ["%s"], "colsep": "   "}
        half = -(-len(facts) // 2)
        title = f"{type(self).__name__} estimates of {len(frame)} means"
        left, right = (
            SimpleTable(
                [[value] for _, value in part],
                stubs=[name for name, _ in part],
                title=title,
                txt_fmt=facts_format,
            )
            for part in (facts[:half], facts[half:] + [("", "")] * (2 * half - len(facts)))
        )
        left.extend_right(right)
        features = self.statistics_.dim if hasattr(self, "means_") else 0
        shown = frame.iloc[:_ROWS, : len(frame.columns) - features + min(features, _FEATURES)]
        bags = SimpleTable(
            [[f"{value:.4g}" for value in row] for row in shown.to_numpy(dtype=float)],
            headers=[str(name) for name in shown.columns],
            stubs=[str(label) for label in shown.index],
            txt_fmt=fmt_params,
        )
        result = Summary()
        result.tables = [left, bags]
        notes = []
        if "estimated_error" in figures:
            notes.append(
                "estimated_error is unbiased for fixed weights; weights chosen on the same data make it optimistic."
            )
        notes += [
            f"{name}: {text}"
            for name, text in (
                ("approximation", getattr(self, "approximation_", None)),
                ("error bar", _said(getattr(self, "approximation_error_", None))),
            )
            if text is not None
        ]
        if len(frame) > len(shown) or frame.shape[1] > shown.shape[1]:
            notes.append(
                f"{len(shown)} of {len(frame)} bags are shown; to_frame() has all bags and features."
            )
        result.add_extra_txt([*self._reasons(), *notes])
        return result

    def certificate(self, alpha: float = 0.05, *, variance: float | None = None) -> Certificate:
        """Bound the squared errors of all estimates at once, with probability 1 - alpha.

        The bounds hold although the weights were chosen on the same data; see :func:`stbmta.certificates.certify`.

        Parameters
        ----------
        alpha : float, default=0.05
        variance : float, optional
            The known variance of each coordinate, if the estimator was not told; the points must be Gaussian and
            isotropic.

        Returns
        -------
        Certificate
        """
        check_is_fitted(self)
        if not hasattr(self, "weights_"):
            raise ValueError(
                "a certificate needs the weights, and they are not kept where estimates are made in tiles or from "
                "features. Allow more with max_memory, give fewer bags, or leave out approximation."
            )
        known = getattr(self, "variance", None) if variance is None else variance
        if known is None:
            raise ValueError("a certificate needs the known variance of the coordinates: give variance=...")
        if self._base_statistics() is not self.statistics_:
            raise ValueError(
                "a certificate is for weights of the fitted bags' own means; these are of parts of bags or of points."
            )
        return certify(self.weights_, self.statistics_, known, alpha)

    def bag_figures(self) -> dict[str, npt.NDArray[Any]]:
        """Return the figures of each bag besides its mean, an array of length B each.

        Returns
        -------
        dict of str to ndarray
            `size`; `neighbors`, itself included, where there are similarity tests; `naive_error` and
            `estimated_error`, as in :meth:`to_frame`, where the data tell them.

        Examples
        --------
        >>> from stbmta import STB
        >>> est = STB(zeta=1.0, gamma=0.0).fit([np.eye(3), np.eye(3) + 9])
        >>> est.bag_figures()["neighbors"].tolist()
        [1, 1]
        """
        check_is_fitted(self)
        figures: dict[str, npt.NDArray[Any]] = {"size": self.statistics_.sizes}
        counts = self._neighbor_counts()
        if counts is not None:
            figures["neighbors"] = counts
        mse = self._naive_error()
        if mse is not None:
            figures["naive_error"] = mse
            error = self._estimated_error(mse)
            if error is not None:
                figures["estimated_error"] = error
        return figures

    def to_frame(self) -> Any:
        """Return one row a bag: size, neighbors, errors before and after, and the estimated mean.

        Returns
        -------
        pandas.DataFrame
            Indexed by label. `naive_error` is the (estimated) squared error of the naive mean,
            `estimated_error` that of the estimate: the larger of :func:`stbmta.risk.unbiased_risk`, which
            can fall below 0, and the variance of the weighted average, below which no error can fall. A feature
            with one of these names has its means under ``mean_`` and its name.
        """
        import pandas as pd

        figures = self.bag_figures()
        frame = pd.DataFrame(figures, index=labels_index(self.labels_))
        if hasattr(self, "means_"):
            names = getattr(self, "feature_names_in_", None)
            names = [f"x{k}" for k in range(self.statistics_.dim)] if names is None else list(names)
            names = [f"mean_{name}" if name in figures else name for name in names]
            frame = pd.concat([frame, pd.DataFrame(self.means_, index=frame.index, columns=names)], axis=1)
        return frame


def _said(result: Any) -> str | None:
    return None if result is None else result.summary()


def _short(kernel: Kernel) -> str:
    """Name a kernel with its numbers to four digits."""
    numbers = [f"{value:.4g}" if isinstance(value, float) else str(value) for value in vars(kernel).values()]
    return f"{type(kernel).__name__}({', '.join(numbers)})"
