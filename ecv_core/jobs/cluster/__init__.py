"""Folds on the nodes of a cluster, by Dask."""
