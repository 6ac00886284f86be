from sklearn.datasets import load_breast_cancer  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.naive_bayes import GaussianNB  # type: ignore[import-untyped]

import ecv_core as ecv

X, y = load_breast_cancer(return_X_y=True)
scores: ecv.CrossValidated = ecv.cross_validate(GaussianNB(), X, y, cv=10, rule=ecv.Precision(0.02))
print(scores, len(scores["test_score"]))
search = ecv.EFoldSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-3, 1.0]}, cv=10)
print(search.fit(X, y).best_params_)
drawn = ecv.EFoldRandomizedSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1.0]}, n_iter=2)
print(drawn.fit(X, y).best_params_)
model = LogisticRegression(max_iter=5000).fit(X[:400], y[:400])
samples = ecv.sample_scores(model, X[400:], y[400:], range(400, len(y)), "neg_log_loss")
print(len(samples))
