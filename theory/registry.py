"""Every statement of the paper, the function that computes it, and how the two relate.

Errata have numbers, E1 and so on; docs/errata.md tells their story.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, cast

from ._table import Tabular, format_table

__all__ = ["Statement", "Statements", "statements"]

Status = Literal["as printed", "corrected", "exact", "sharper", "definition", "elsewhere", "section"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement and its function.

    Attributes
    ----------
    label : str
        LaTeX label in the paper; ``beyond`` for what the paper does not have.
    title : str
        What it says.
    function : str
        Full name of the function; empty where nothing is computed.
    status : str
        "as printed"; "corrected" if the printed statement is false, or would be outside its domain, and
        ``printed=True`` gives it; "exact" or "sharper" for what replaces a printed bound; "definition", "elsewhere"
        (estimators and experiments) and "section" have no function here.
    erratum : str
        Number on the page docs/errata.md, such as "E1"; empty if nothing is wrong.
    note : str
        What is off or loose in the paper, if anything.
    """

    label: str
    title: str
    function: str
    status: Status
    erratum: str = ""
    note: str = ""

    def resolve(self) -> Callable[..., Any] | None:
        """Import the function.

        Returns
        -------
        callable or None
            None where the statement has no function.
        """
        if not self.function:
            return None
        module, name = self.function.rsplit(".", 1)
        found: Callable[..., Any] = getattr(import_module(module), name)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements(Tabular):
    """The registry: a sequence of `Statement`.

    Attributes
    ----------
    rows : tuple of Statement
        In the order of the paper.
    """

    rows: tuple[Statement, ...]

    def __iter__(self) -> Iterator[Statement]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Statement:
        return self.rows[index]

    def labeled(self, label: str) -> tuple[Statement, ...]:
        """Statements with one label of the paper.

        Returns
        -------
        tuple of Statement
            In the order of the paper; empty for an unknown label.
        """
        return tuple(row for row in self.rows if row.label == label)

    def _columns(self) -> dict[str, list[str]]:
        names = ("label", "status", "function", "title", "erratum", "note")
        return {name: [getattr(row, name) for row in self.rows] for name in names}

    def summary(self) -> str:
        """Give a table of labels, status, errata and functions; `to_frame` has titles and notes too.

        Returns
        -------
        str
            A header, and one line for each statement.
        """
        columns = self._columns()
        short = [name.removeprefix("stbmta.theory.") for name in columns["function"]]
        shown = {name: columns[name] for name in ("label", "status", "erratum")}
        return format_table({**shown, "function": short})


def statements() -> Statements:
    """List every statement of the paper with its function and status, then what goes beyond it.

    Returns
    -------
    Statements
        Iterate over it, or call ``summary()`` or ``to_frame()``.

    Examples
    --------
    >>> from stbmta import theory
    >>> for s in theory.statements().labeled("prop:testgauss"):
    ...     print(s.status, s.function)
    as printed stbmta.theory.gaussian.delta
    corrected stbmta.theory.gaussian.zeta
    as printed stbmta.theory.gaussian.tau_min
    as printed stbmta.theory.gaussian.tau_prime
    as printed stbmta.theory.gaussian.stated_probabilities
    as printed stbmta.theory.gaussian.event_probabilities
    as printed stbmta.theory.gaussian.inner_excess
    corrected stbmta.theory.gaussian.norm_excess
    corrected stbmta.theory.gaussian.covering_scale
    """
    return Statements(rows=tuple(_parse(line) for line in _REGISTRY.strip().splitlines()))


def _parse(line: str) -> Statement:
    label, status, function, title, remark = (field.strip() for field in line.split("|"))
    erratum, note = re.fullmatch(r"(E\d+(?= )|) ?(.*)", remark).groups()  # type: ignore[union-attr]
    inside = function and not function.startswith("stbmta.")
    return Statement(
        label=label,
        title=title,
        function=f"stbmta.theory.{function}" if inside else function,
        status=cast(Status, status),
        erratum=erratum,
        note=note,
    )


_REGISTRY = """
eq:mainmodel | definition | | independent bags of independent points |
def:means | definition | | the means to estimate | subscript b for i
eq:naivedef | as printed | errors.naive_mse | error of the naive mean |
eq:Gauss | definition | | isotropic Gaussian setting (GI) | I_i for I_d
eq:rough | as printed | theorems.rough_bound | plain average of known neighbors | sharp=True drops a needless step
eq:gammaest | as printed | errors.shrinkage_weights | shrinkage toward the mean of the neighbors |
eq:bdsigma | definition | | sigma-bar^2 bounds all naive errors | the bounds are relative to the largest error
th:indep | as printed | theorems.risk_independent | Theorem 1 for any gamma |
th:indep | as printed | errors.exact_mse | exact error that Theorem 1 bounds |
th:indep | as printed | theorems.covering_radius | radius of the covering balls |
eq:optgamma | as printed | theorems.gamma_independent | shrinkage of Theorem 1 |
eq:res-indep-single | as printed | theorems.bound_independent | individual bound of Theorem 1 |
eq:res-indep-ave | as printed | theorems.average_independent | averaged bound of Theorem 1 | E2 wrong cell in the proof
th:onesample | as printed | theorems.risk_same_data | Theorem 2 for any gamma |
th:onesample | as printed | errors.squared_error | squared error that Theorem 2 bounds |
th:onesample | corrected | theorems.compatible | condition on tau' | E1 printed tau' >= tau is the wrong way round
eq:optgamma-onesample | as printed | theorems.gamma_same_data | shrinkage of Theorem 2 |
eq:res-onesample-single | as printed | theorems.bound_same_data | individual bound of Theorem 2 | B is not needed
eq:res-onesample-ave | as printed | theorems.average_same_data | averaged bound of Theorem 2 |
prop:testgauss | as printed | gaussian.delta | level of the tests | E3 the proof prints alpha B^2 for alpha / B^2
prop:testgauss | corrected | gaussian.zeta | threshold of the test | E6 0 where the printed root is negative
prop:testgauss | as printed | gaussian.tau_min | smallest tau | C = 1000; its proof needs 972
prop:testgauss | as printed | gaussian.tau_prime | radius without misses |
prop:testgauss | as printed | gaussian.stated_probabilities | probabilities of A, B, C, C' |
prop:testgauss | as printed | gaussian.event_probabilities | the same for any threshold |
prop:testgauss | as printed | gaussian.inner_excess | inner products in the proof | 1 + sqrt(2) in place of 3 suffices
prop:testgauss | corrected | gaussian.norm_excess | norms in the proof | E4 printed 2 tau / C is false
prop:testgauss | corrected | gaussian.covering_scale | scale of the covering balls | E5 power of log B is 1/4
eq:deftestsgaus | as printed | gaussian.is_neighbor | Gaussian similarity test |
eq:bounded | definition | | bounded setting (BS) |
prop:gramfrineq | as printed | errors.gram_bound | Gram matrices of the means | indices in the proof; 4 is sharp
prop:gramfrineq | as printed | errors.gram_distance | what it bounds |
eq:deffunif | as printed | dimension.effective_dimension | effective dimension |
prop:testkernel | as printed | bounded.smallest_tau | tau >= 144 tau_min |
prop:testkernel | as printed | bounded.t | level for a total error alpha |
prop:testkernel | as printed | bounded.total_error | probability of any event | 14 B^2 - 5 B suffices
prop:testkernel | as printed | bounded.similarity_error | probability of A or B |
prop:testkernel | as printed | bounded.inner_error | probability of C |
prop:testkernel | as printed | bounded.norm_error | probability of C' |
prop:testkernel | corrected | bounded.pair_error | error of one test | E15 printed 2 exp(-t) for a miss is 8 exp(-t)
prop:testkernel | as printed | bounded.tau_prime | radius without misses |
prop:testkernel | as printed | bounded.tau_inner | size of inner products |
prop:testkernel | as printed | bounded.tau_norm | excess of norms |
eq:defr | as printed | bounded.r | r(t) | E14 the proof's claim q <= sigma-bar r is false; the proposition holds
eq:deftau1 | as printed | bounded.tau_min | tau_min(t) | E16 r(t) plays the part of sqrt(delta), not of delta
eq:simtest_kme | as printed | bounded.is_neighbor | kernel similarity test |
eq:esttaskvar | as printed | dimension.naive_mse | unbiased estimate of the naive error |
eq:neighborsA | as printed | events.false_positive | event A | sigma for sigma-bar
sec:theory | as printed | events.similar_pairs | pairs G(tau) |
sec:theory | as printed | events.separated_pairs | pairs G-bar(tau) |
sec:theory | as printed | events.false_negative | event B |
sec:theory | as printed | events.large_inner_product | event C |
sec:theory | as printed | events.large_norm | event C' |
eq:gausbnd | as printed | concentration.pair_distance_lower | distance of naive means, lower |
eq:gausbnd | as printed | concentration.pair_distance_upper | distance of naive means, upper |
eq:defxi | as printed | bounded.tau_min | xi(t) = sigma-bar^2 tau_min(t) |
prop:chisqdev | as printed | concentration.gaussian_sq_norm_upper | Birge's lemma, upper |
prop:chisqdev | as printed | concentration.gaussian_sq_norm_lower | Birge's lemma, lower |
eq:updev | as printed | concentration.gaussian_norm_upper | norm of a Gaussian vector, upper |
eq:lowdev | as printed | concentration.gaussian_norm_lower | norm, lower | sharp=True halves the constant
prop:scalarproddev | as printed | concentration.gaussian_inner_upper | inner product of Gaussian vectors | lambda < 1
eq:devscprod | as printed | concentration.gaussian_inner_upper | inner product of Gaussian vectors |
th:talagrand | as printed | concentration.talagrand_upper | suprema of sums, upper |
th:talagrand | as printed | concentration.talagrand_lower | suprema of sums, lower | E10 better constants exist
prop:chisqdev-kernel | as printed | concentration.bounded_sq_norm_upper | norm of a mean | E7 2 L for L in the proof
eq:updev_kernel | as printed | concentration.bounded_sq_norm_upper | squared norm with E V_c, upper |
eq:lowdev_kernel | as printed | concentration.bounded_sq_norm_lower | squared norm with E V_c, lower | E20 < for <=
eq:defqsigma-kernel | as printed | bounded.q_sigma | deviation of one mean | E7 2 L for L in the proof
eq:devVc | as printed | concentration.bounded_norm_upper | centered norm, upper |
eq:devlowVc | as printed | concentration.bounded_norm_lower | centered norm, lower |
eq:devlopv2 | as printed | concentration.bounded_sq_norm_upper | V^2 into centered and linear term |
eq:bernsteinlinterm | as printed | concentration.linear_term_upper | Bernstein for the linear term | E8 2 L in the proof
cor:meanbounds | as printed | concentration.expected_norm_bounds | bounds on E V_c |
eq:updev_kernel2 | as printed | concentration.bounded_sq_norm_upper | squared norm with tr Sigma, upper |
eq:lowdev_kernel2 | as printed | concentration.bounded_sq_norm_lower | squared norm with tr Sigma, lower | E20 < for <=
prop:scalarproddev-kernel | as printed | concentration.bounded_inner_upper | inner product of means | E11 10 suffices
eq:devscprod-kernel | as printed | concentration.bounded_inner_upper | inner product of bounded means | E11 10 suffices
eq:defq-kernel | as printed | bounded.q | deviation of a difference of means | E9 two laws in Talagrand's inequality
prop:ustatdev | corrected | concentration.mean_sq_norm_lower | squared norms in the proof | E12 4 times the variance
eq:Ustat | as printed | dimension.u_statistic | unbiased squared distance |
eq:updev-Ustat | as printed | concentration.u_statistic_upper | U-statistic, upper |
eq:lowdev-Ustat | as printed | concentration.u_statistic_lower | U-statistic, lower | E13 16 q^2 in the proof is 32 q^2
eq:mtaweight | elsewhere | stbmta.weights.mta | multi-task averaging | E18 printed constant similarity is the inverse
fig:toy_results | elsewhere | | experiments on toy data |
tab:aod_results | elsewhere | | experiments on remote sensing data |
tab:gaussian_results | elsewhere | | experiments in the Gaussian setting | E17 CLUSTER has standard deviation 0.1
sec:method | section | | method |
sec:gaussiansetting | section | | Gaussian setting |
sec:kmesetting | section | | kernel mean embeddings |
sec:experiments | section | | experiments |
sec:dev | section | | concentration, Gaussian setting |
sec:dev-kernel | section | | concentration, bounded setting |
apx:proofindep | section | | proof of Theorem 1 | E2 the cell of b, not of i
apx:testedMethods | section | | methods in the experiments | E19 zeta stands for tau
apx:gaussresults | section | | experiments in the Gaussian setting |
beyond | exact | gaussian.exact_zeta | threshold for A from the exact law |
beyond | exact | gaussian.exact_zeta_power | threshold for B from the exact law |
beyond | exact | gaussian.exact_tau | smallest tau from the exact laws |
beyond | exact | gaussian.exact_dim | smallest dimension for a tau |
beyond | exact | gaussian.exact_inner | radius of C from the exact law |
beyond | exact | gaussian.exact_norm | radius of C' from the exact law |
beyond | exact | gaussian.exact_event_probabilities | probabilities of the events |
beyond | exact | gaussian.upper_tau | simultaneous upper confidence bound of a distance |
beyond | exact | gaussian.lower_tau | simultaneous lower confidence bound of a distance |
beyond | exact | pvalues.gaussian_similarity | p-value of a pair |
beyond | exact | pvalues.gaussian_difference | p-value of a pair |
beyond | sharper | sharp.bound | one-sample theorem without the factor 2 |
beyond | sharper | sharp.gaussian_bound | the same in the Gaussian setting |
beyond | sharper | sharp.waterfill | Theorem 1 for unequal bags |
beyond | sharper | theorems.bound_after_split | Theorem 1 against the whole bag |
beyond | sharper | bounded.q_bousquet | deviation that makes prop:testkernel true |
beyond | sharper | concentration.bousquet_upper | suprema of sums, upper |
beyond | sharper | concentration.klein_rio_lower | suprema of sums, lower |
beyond | sharper | pvalues.kernel_difference | calibrated p-value for kernels: equal means |
beyond | sharper | pvalues.kernel_similarity | calibrated p-value for kernels: a radius apart |
beyond | exact | pvalues.permutation | p-value of a permutation test |
beyond | exact | covering.covering_number | certified covering number |
beyond | exact | covering.covering_number_noisy | covering number of the true means |
beyond | exact | dimension.frobenius_dimension | dimension that governs the test |
beyond | exact | dimension.u_variance | variance of the U-statistic |
"""
