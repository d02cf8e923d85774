"""Print the coefficients of the polynomials for sine and cosine in stbmta/jit/streams.py.

sin(pi r) = r S(r^2) and cos(pi r) = C(r^2) for |r| <= 1/2. S and C have nine terms and interpolate at Chebyshev
nodes: near-minimax, with errors below 1e-17.

Run: python tools/sincos_coefficients.py
"""

import mpmath


def sincos_coefficients(terms: int = 9) -> tuple[list[float], list[float]]:
    """Return the coefficients of S and of C, the constant first."""
    with mpmath.workdps(50):
        nodes = [(1 + mpmath.cos(mpmath.pi * (2 * k + 1) / (2 * terms))) / 8 for k in range(terms)]
        vandermonde = mpmath.matrix([[u**j for j in range(terms)] for u in nodes])
        roots = [mpmath.sqrt(u) for u in nodes]
        sine = mpmath.matrix([mpmath.sin(mpmath.pi * root) / root for root in roots])
        cosine = mpmath.matrix([mpmath.cos(mpmath.pi * root) for root in roots])
        return tuple([float(c) for c in mpmath.lu_solve(vandermonde, values)] for values in (sine, cosine))


if __name__ == "__main__":
    for name, coefficients in zip("SC", sincos_coefficients(), strict=True):
        print(name, coefficients)
