"""Runs under several splits -> how the ranks of the algorithms change from split to split."""
