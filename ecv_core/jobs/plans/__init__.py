"""The plans: a run, a study, a selection, a tuning, folds that other code computes."""
