"""Regression with groups: rows of one person are never in training and held out at once."""

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold

import ecv_core as ecv

rng = np.random.default_rng(0)
person = np.repeat(np.arange(200), 5)
X = rng.normal(size=(1000, 8))
y = X.sum(axis=1) + rng.normal(size=200)[person] + rng.normal(size=1000)

scores = ecv.cross_validate(
    Ridge(), X, y, cv=GroupKFold(10), groups=person, scoring="r2", rule=ecv.Precision(0.02)
)

print(scores)
