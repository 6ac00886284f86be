"""Energy of folds: the meter, what was saved, what that is like and comes to over a year."""
