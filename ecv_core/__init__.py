"""e-fold cross-validation for recommender systems: stop folding once the score is trusted."""

__version__ = "0.1.0"
