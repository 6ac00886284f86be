"""Scores of finished folds -> what they say: orders, trade-offs, comparisons, swaps, tables."""
