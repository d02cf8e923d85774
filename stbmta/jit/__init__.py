"""The Numba kernels, and nothing else: arrays in, arrays out."""
