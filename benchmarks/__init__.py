"""Side-by-side comparison with what a user would pick instead.

Every figure is a ratio measured in one run: contenders take turns on the same data with the same number
of threads, the best of several rounds counts, and all must first agree on the result. Run it with
``stbmta bench``; ``pip install stbmta[bench]`` brings the peers that are not installed anyway.

=============  ================================================================================
`workloads`    the work: W1 to W5 (sums of kernel values), L1 and L2 (averages over neighbors)
`peers`        how other packages do Job R, the sums of kernel values
`peers_linear` how other packages do Job L, the averages over neighbors
`limits`       what the machine allows
`race`         everybody in turns
`accuracy`     errors against extended precision
`costs`        threads, memory, cold start, and the time that estimation takes after the statistics
`growth`       time over B, N and d, with fitted exponents
`report`       all of it together, against what the project promises
=============  ================================================================================
"""
