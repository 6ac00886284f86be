"""XGBoost with Optuna: a trial is pruned once it can no longer be the best of all folds."""

import numpy as np
import optuna
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from xgboost import XGBClassifier

import ecv_core as ecv

X, y = load_breast_cancer(return_X_y=True)
folds = list(StratifiedKFold(10, shuffle=True, random_state=0).split(X, y))
pruner = ecv.FoldPruner(k=10, trials=10)


def objective(trial: optuna.Trial) -> float:
    """The log loss of one configuration, in folds."""
    model = XGBClassifier(
        n_estimators=trial.suggest_int("n_estimators", 5, 40),
        max_depth=trial.suggest_int("max_depth", 1, 6),
        learning_rate=trial.suggest_float("learning_rate", 0.01, 1.0, log=True),
        n_jobs=1,
    )
    scores = []
    for fold, (train, test) in enumerate(folds):
        model.fit(X[train], y[train])
        samples = ecv.sample_scores(model, X[test], y[test], test, "neg_log_loss")
        pruner.report(trial, fold, samples)
        scores.append(np.mean(list(samples.values())))
        if trial.should_prune():
            raise optuna.TrialPruned
    return float(np.mean(scores))


study = optuna.create_study(
    direction="maximize", pruner=pruner, sampler=optuna.samplers.RandomSampler(seed=1)
)
study.optimize(objective, n_trials=10)

saved = sum(10 - len(trial.intermediate_values) for trial in study.trials)
print(f"The best is {study.best_params}; {saved} of 100 folds were not needed.")
