"""Print the coefficients of the polynomial for 2**f in stbmta/jit/vector.py.

2**f = 1 + f * g(f) with g interpolated at the Chebyshev nodes of [-1/2, 1/2]: near-minimax, and exact
at f = 0. Degree 10 leaves an error of 4e-16, that of a few roundings; degree 6 one of 5e-9,
less than single precision notices.

Run: python tools/exp2_coefficients.py
"""

import mpmath


def exp2_coefficients(degree: int = 10) -> list[float]:
    """Return c_0 = 1, c_1, ..., c_degree; the degree is even, so that 0 is no node."""
    with mpmath.workdps(50):
        nodes = [mpmath.cos(mpmath.pi * (2 * k + 1) / (2 * degree)) / 2 for k in range(degree)]
        vandermonde = mpmath.matrix([[x**j for j in range(degree)] for x in nodes])
        values = mpmath.matrix([(mpmath.mpf(2) ** x - 1) / x for x in nodes])
        return [1.0, *(float(c) for c in mpmath.lu_solve(vandermonde, values))]


if __name__ == "__main__":
    for degree in (10, 6):
        print(*map(repr, exp2_coefficients(degree)), sep="\n", end="\n\n")
