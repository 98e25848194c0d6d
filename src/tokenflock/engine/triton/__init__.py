"""Kernels in Triton for the sums over pairs and for whole ensembles on a GPU."""
