"""The same algorithms under several splits -> ranks, swaps, Kendall's tau, and their intervals."""
