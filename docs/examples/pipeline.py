"""A pipeline with preprocessing, several scorers, and candidates that are whole steps."""

from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

import ecv_core as ecv

X, y = load_wine(return_X_y=True, as_frame=True)
prepare = make_column_transformer(
    (QuantileTransformer(n_quantiles=50), ["proline"]), remainder=StandardScaler()
)
model = Pipeline([("prepare", prepare), ("model", GaussianNB())])
steps = [LogisticRegression(), GaussianNB(), ExtraTreesClassifier(20, max_depth=1, random_state=0)]

search = ecv.EFoldSearchCV(
    model, {"model": steps}, cv=5, scoring=["neg_log_loss", "f1_macro"], refit="neg_log_loss"
).fit(X, y)

print(search.sentence_)
