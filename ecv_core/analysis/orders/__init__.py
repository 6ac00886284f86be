"""Fold scores -> what a stopping rule does over every order of the folds, exactly or sampled."""
