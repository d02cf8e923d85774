"""More data than B x B matrices or one machine allow: streams, features, tiles, clusters, and what they cost.

==================  ==================================================================================
`stream`            bags that come by in blocks, from files or anything else
`means`             one pass over them: sizes, means and scatter, in memory O(B D)
`features`          random Fourier features and landmarks in place of a kernel
`fourier`           exact features of the RBF kernel in few dimensions
`approximate`       exact values or features, and how far off the features are
`large`             STB estimates from means or features, compared in tiles
`distributed`       the same on a Dask cluster (with `distributed_sums`, `distributed_linear`, `shuffle`)
`cost`              what a computation will cost, before it is run
==================  ==================================================================================
"""
