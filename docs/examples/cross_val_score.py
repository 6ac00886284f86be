"""One line changed: `cross_val_score(model, X, y, cv=10)` becomes `ecv.cross_validate(...)`."""

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ecv_core as ecv

X, y = load_breast_cancer(return_X_y=True)
model = make_pipeline(StandardScaler(), LogisticRegression())

scores = ecv.cross_validate(model, X, y, cv=10, rule=ecv.Precision(0.02))["test_score"]

print(f"{scores.mean():.3f} from {len(scores)} of 10 folds")
