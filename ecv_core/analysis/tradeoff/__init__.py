"""Finished folds of several systems -> what every alpha costs and gives, as curves and advice."""
