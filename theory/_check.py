"""Domains: every public function states what it accepts through these few checks."""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
Value: TypeAlias = np.float64 | NDArray[np.float64]
"""What the formulas return: a NumPy scalar for scalars, an array for arrays."""

SLACK = 1e-6  # what rounding to single precision may do to a Gram matrix, relative to its diagonal
_ROWS = 256  # of a Gram matrix that are looked at together


def real(
    name: str,
    value: ArrayLike,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    finite: bool = True,
    hint: str = "",
) -> Floats:
    """Turn an argument into a float array, or say what is wrong with it.

    Parameters
    ----------
    name : str
        The argument's name, for the message.
    value : array_like
        What the user passed.
    above, at_least, below, at_most : float, optional
        The domain.
    finite : bool, default True
        Refuse infinities. NaN is always refused.
    hint : str
        What to do instead, as a sentence.

    Returns
    -------
    ndarray of float64
        Zero-dimensional for a scalar.

    Raises
    ------
    ValueError
        If any element is outside the domain.

    Examples
    --------
    >>> real("alpha", 1.5, above=0, below=1, hint="Pass an error probability such as 0.05.")
    Traceback (most recent call last):
        ...
    ValueError: alpha must be above 0 and below 1; found 1.5. Pass an error probability such as 0.05.
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a real number or an array of them; found {value!r}.") from error
    limits = [
        ("above", above, np.greater),
        ("at least", at_least, np.greater_equal),
        ("below", below, np.less),
        ("at most", at_most, np.less_equal),
    ]
    accepted = np.isfinite(array) if finite else ~np.isnan(array)
    for _, limit, holds in limits:
        if limit is not None:
            accepted = accepted & holds(array, limit)
    if not np.all(accepted):
        found = array[~accepted].flat[0]
        words = [f"{word} {limit:g}" for word, limit, _ in limits if limit is not None]
        if not words or (finite and np.isinf(found)):
            words.insert(0, "finite")
        domain = " and ".join(words)
        place = f" at index {tuple(int(k) for k in np.argwhere(~accepted)[0])}" if array.ndim else ""
        advice = f" {hint}" if hint else ""
        raise ValueError(f"{name} must be {domain}; found {found:g}{place}.{advice}")
    return array


def alpha(value: ArrayLike) -> Floats:
    """Error probability, strictly between 0 and 1."""
    return real("alpha", value, above=0, below=1, hint="Pass the error probability you accept, such as 0.05.")


def tau(value: ArrayLike, name: str = "tau") -> Floats:
    """Squared radius of a neighborhood in units of the naive error, at least 0."""
    return real(name, value, at_least=0, hint="It is a squared distance divided by the naive error.")


def n_bags(value: ArrayLike, at_least: int = 1) -> Floats:
    """Count the bags B; pairs need two."""
    hint = "Comparing bags needs a pair of them." if at_least > 1 else "Pass the number of bags B."
    return real("n_bags", value, at_least=at_least, hint=hint)


def dim(value: ArrayLike) -> Floats:
    """Dimension of the space, at least 1; real numbers are welcome."""
    return real("dim", value, at_least=1, hint="Pass the dimension d of the points.")


def level(value: ArrayLike, at_least: float = 0) -> Floats:
    """Deviation level t; the probability is a multiple of exp(-t)."""
    hint = "The statement is proven for t >= 1 only." if at_least else "The probability is of order exp(-t)."
    return real("t", value, at_least=at_least, hint=hint)


def size(name: str, value: ArrayLike, *, positive: bool = False, finite: bool = True) -> Floats:
    """Length, norm, variance or trace: at least 0, or above 0."""
    if positive:
        return real(name, value, above=0, finite=finite)
    return real(name, value, at_least=0, finite=finite)


def bag_size(value: ArrayLike, at_least: int = 1, name: str = "n") -> Floats:
    """Points in a bag, N; infinity is the limit of large bags."""
    hint = f"A bag needs at least {at_least} point{'s' if at_least > 1 else ''} here."
    return real(name, value, at_least=at_least, finite=False, hint=hint)


def matrix(name: str, values: ArrayLike) -> Floats:
    """Check a matrix with at least one row and one column, and store it row by row."""
    array = np.ascontiguousarray(real(name, values))
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{name} must be a matrix with at least one row; found shape {array.shape}.")
    return array


def points(values: ArrayLike, name: str = "points") -> Floats:
    """Points as rows; one-dimensional arrays are points on the line."""
    array = real(name, values)
    return matrix(name, array[:, np.newaxis] if array.ndim == 1 else array)


def gram(values: ArrayLike) -> Floats:
    """Check inner products of points: a symmetric matrix without negative squared distances, but for rounding."""
    array = matrix("gram", values)
    if array.shape[0] != array.shape[1]:
        raise ValueError(f"gram must be square; found shape {array.shape}.")
    norms = np.diagonal(array)
    slack = SLACK * np.abs(norms).max()
    for start in range(0, len(array), _ROWS):  # never a second matrix of this size
        rows, columns = array[start : start + _ROWS], array[:, start : start + _ROWS].T
        skew = np.abs(rows - columns)
        if skew.max() > slack:
            i, j = np.unravel_index(np.argmax(skew), skew.shape)
            pair = f"{rows[i, j]:g} at {(start + int(i), int(j))} and {columns[i, j]:g} at {(int(j), start + int(i))}"
            raise ValueError(f"gram must be symmetric; found {pair}.")
    inner_products(array)
    return array


def inner_products(array: Floats) -> None:
    """Refuse a Gram matrix with negative squared distances, but for rounding."""
    norms = np.diagonal(array)
    slack = SLACK * np.abs(norms).max()
    for start in range(0, len(array), _ROWS):
        squares = norms[start : start + _ROWS, np.newaxis] + norms - 2 * array[start : start + _ROWS]
        if squares.min() < -slack:
            i, j = np.unravel_index(np.argmin(squares), squares.shape)
            pair = f"{squares[i, j]:g} between {start + int(i)} and {int(j)}"
            raise ValueError(f"gram must hold inner products; found a squared distance of {pair}.")


def symmetric(name: str, array: Floats, slack: float = SLACK) -> None:
    """Refuse a square matrix whose halves differ by more than a part of its largest entry."""
    skew = np.abs(array - array.T)
    if skew.max() > slack * np.abs(array).max():
        i, j = (int(k) for k in np.unravel_index(np.argmax(skew), skew.shape))
        pair = f"{array[i, j]:g} at {(i, j)} and {array[j, i]:g} at {(j, i)}"
        raise ValueError(f"{name} must be symmetric; found {pair}.")


def shape(name: str, array: NDArray[np.generic], wanted: tuple[int, ...]) -> None:
    """Refuse an array of another shape."""
    if array.shape != wanted:
        raise ValueError(f"{name} must have shape {wanted}; found {array.shape}.")


def radius(value: ArrayLike) -> float:
    """Radius of covering balls: one number above 0."""
    array = size("radius", value, positive=True)
    if array.ndim:
        raise ValueError(
            f"radius must be one number; found shape {array.shape}. covering_profile takes several."
        )
    return float(array)


def together(lower: ArrayLike, upper: ArrayLike) -> tuple[Value, Value]:
    """Bring both ends of an interval to one shape; scalars stay scalars."""
    low, high = np.broadcast_arrays(lower, upper)
    return np.array(low)[()], np.array(high)[()]
