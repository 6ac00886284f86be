"""Plans have their folds computed here: the only package that knows of threads and processes."""
