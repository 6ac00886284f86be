"""A grid search: `GridSearchCV` becomes `EFoldSearchCV`."""

from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC

import ecv_core as ecv

X, y = load_breast_cancer(return_X_y=True)
grid = {"C": [1, 10, 100], "gamma": [1e-5, 1e-4, 1e-3, 1e-2]}

search = ecv.EFoldSearchCV(SVC(), grid, cv=10).fit(X, y)

print(search.sentence_)
