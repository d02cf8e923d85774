"""Side-by-side comparison with what a user would pick instead.

Every figure is a ratio measured in one run: contenders take turns on the same data with the same number
of threads, the best of several rounds counts, and all must first agree on the result. Run it with
``stbmta bench``.
"""
