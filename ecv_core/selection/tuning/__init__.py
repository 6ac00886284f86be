"""Hyper-parameters: which values to try, which are best, and which metric can tell them apart."""
