"""Click-through prediction: ratings of at least 4 as clicks, from one-hot users, items and genres.

`python -m ecv_core download ml-100k` gets the archive. Log loss and AUC are over all held-out
ratings together, not per user.
"""

import zipfile

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, hstack
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import OneHotEncoder

import ecv_core as ecv
from ecv_core.dataset import entry, locate
from ecv_core.models.bayesian import import_myfm


class FactorizationMachine(ClassifierMixin, BaseEstimator):
    """That of myFM (probit, by Gibbs sampling), as scikit-learn expects an estimator."""

    def __init__(self, rank: int = 4, steps: int = 20) -> None:
        self.rank, self.steps = rank, steps

    def fit(self, X: csr_matrix, y: np.ndarray) -> "FactorizationMachine":
        """Draw so many samples of the weights; those after the fifth are kept."""
        fm = import_myfm()
        config = fm.ConfigBuilder()
        config.set_task_type(fm.TaskType.CLASSIFICATION)
        config.set_identical_groups(X.shape[1])
        config.set_n_iter(self.steps)
        config.set_n_kept_samples(self.steps - 5)
        self.classes_ = np.unique(y)
        clicked = np.where(y == self.classes_[1], 1.0, -1.0)
        X = csr_matrix(X, dtype=np.float64)
        self.machine_, _ = fm.create_train_fm(
            self.rank, 0.1, X, [], clicked, 0, config.build(), lambda *_: False
        )
        return self

    def predict_proba(self, X: csr_matrix) -> np.ndarray:
        """Of no click and of a click, averaged over the samples."""
        clicked = self.machine_.predict(csr_matrix(X, dtype=np.float64), [])
        return np.column_stack([1 - clicked, clicked])


data = ecv.load("ml-100k")
with zipfile.ZipFile(locate(entry("ml-100k"))) as archive, archive.open("ml-100k/u.item") as file:
    movies = pd.read_csv(file, sep="|", header=None, index_col=0, encoding="latin-1")
genres = csr_matrix(movies.loc[data.item_ids.astype(int), 5:].to_numpy(dtype=float))
pairs = OneHotEncoder().fit_transform(np.column_stack([data.users, data.items]))
X = hstack([pairs, genres[data.items]], format="csr")
y = (data.ratings >= 4).astype(int)

for model in (LogisticRegression(C=0.3, solver="liblinear"), FactorizationMachine()):
    scores = ecv.cross_validate(
        model,
        X,
        y,
        cv=StratifiedKFold(10, shuffle=True, random_state=0),
        scoring=["neg_log_loss", "roc_auc"],
        rule=ecv.Precision(0.01),
    )
    loss = -scores["test_neg_log_loss"].mean()
    auc = scores["test_roc_auc"].mean()
    print(f"{scores.sentence}\nLog loss {loss:.4f}, AUC {auc:.4f} over {len(scores.folds)} folds.")
