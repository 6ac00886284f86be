"""scikit-learn's estimators, and those of two packages like it, as algorithms of tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ecv_core.models.base import Algorithm
from ecv_core.records.parameters import Parameter, ParamValue
from ecv_core.records.tasks import Task


class Estimator:
    """An estimator with its parameters, of which each fold makes one with the run's seed."""

    def __init__(self, home: str, scaled: bool, params: Mapping[str, ParamValue]) -> None:
        """Loads the package, which is no fold's cost. Args: home: as 'sklearn.svm:SVC'."""
        from sklearn import impute, pipeline, preprocessing  # noqa: F401

        module, _, name = home.partition(":")
        self._kind = getattr(import_module(module), name)
        self._scaled = scaled
        self._params: dict[str, Any] = dict(params)
        for unlimited in ("max_depth", "gamma"):  # 0 stands for the library's own
            if self._params.get(unlimited) == 0:
                del self._params[unlimited]
        if "hidden" in params:
            self._params["hidden_layer_sizes"] = (self._params.pop("hidden"),)

    def estimator(self, seed: int) -> Any:  # noqa: ANN401  scikit-learn has no types
        """A pipeline, not fitted: missing numbers filled in by the median, features scaled if
        distances or penalties look at them, and the estimator.

        Args: seed: its `random_state`, where it has one.
        """
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        last = self._kind(**self._params)
        if "random_state" in last.get_params():
            last.set_params(random_state=seed)
        if not self._kind.__module__.startswith("sklearn"):  # others take every core, and print
            last.set_params(n_jobs=1, verbosity=0)
        filled = SimpleImputer(strategy="median", keep_empty_features=True)
        return make_pipeline(filled, *[StandardScaler()] * self._scaled, last)


def _number(
    name: str, default: float, help: str, *tried: float, low: float = 0, high: float = 1e6
) -> Parameter:
    source = "scikit-learn's default"
    return Parameter(name, default, help, low=low, high=high, source=source, tried=tried)


def _algorithms(
    id: str,
    titles: str,
    summary: str,
    homes: tuple[str, str],
    *parameters: Parameter,
    scaled: bool = False,
    random: bool = False,
    probabilities: bool = True,
) -> Iterator[Algorithm]:
    """Estimators of one kind: of classes, of numbers or of both, as far as the package is here.

    Args:
        titles: its title, and after a bar the paper.
        homes: of the classifier and of the regressor; empty where there is none.
        probabilities: whether the classifier predicts them.
    """
    title, _, paper = titles.partition(" | ")
    both = all(homes)
    for home, task, ending, words in (
        (homes[0], Task.CLASSES, "", ""),
        (homes[1], Task.NUMBERS, "-regressor" * both, " (regression)" * both),
    ):
        if home and find_spec(home.partition(":")[0].partition(".")[0]):
            yield Algorithm(
                id=id + ending,
                title=title + words,
                summary=summary,
                paper=paper,
                parameters=parameters,
                build=partial(Estimator, home, scaled),
                log_odds=probabilities and task is Task.CLASSES,
                random=random,
                with_torch=False,
                task=task,
                spaces={"default": {one.name: one.tried for one in parameters if one.tried}},
            )


_C = _number("C", 1.0, "Inverse of the strength of the penalty.", 0.01, 0.1, 1.0, 10, 100, low=1e-6)
_ALPHA = _number("alpha", 1.0, "Strength of the penalty.", 0.01, 0.1, 1, 10, 100)
_DEPTH = _number("max_depth", 0, "Depth of a tree; 0 for no limit.", 0, 2, 4, 8, 16, high=1000)
_LEAF = _number("min_samples_leaf", 1, "Samples of a leaf at the least.", 1, 2, 5, 10, low=1)
_TREES = _number("n_estimators", 100, "How many trees.", low=1, high=10_000)
_STEPS = _number("max_iter", 100, "How many trees.", low=1, high=10_000)
_RATE = _number("learning_rate", 0.1, "How much each tree adds.", 0.03, 0.1, 0.3, low=1e-6, high=1)

TABULAR = (
    *_algorithms(
        "logistic-regression",
        "Logistic regression | Cox (1958), with an L2 penalty",
        "A weight for each feature; fast, and hard to beat where classes lie apart.",
        ("sklearn.linear_model:LogisticRegression", ""),
        _C,
        _number("max_iter", 1000, "Steps of the solver at most.", low=1),
        scaled=True,
    ),
    *_algorithms(
        "ridge-classifier",
        "Ridge classifier | Hoerl, Kennard (1970)",
        "Least squares on classes as -1 and 1, with a penalty; fastest of all.",
        ("sklearn.linear_model:RidgeClassifier", ""),
        _ALPHA,
        scaled=True,
        probabilities=False,
    ),
    *_algorithms(
        "ridge",
        "Ridge regression | Hoerl, Kennard (1970)",
        "Least squares with a penalty: a weight for each feature.",
        ("", "sklearn.linear_model:Ridge"),
        _ALPHA,
        scaled=True,
    ),
    *_algorithms(
        "k-nn",
        "k-NN | Cover, Hart (1967)",
        "What the nearest samples have; needs few features, and no training.",
        ("sklearn.neighbors:KNeighborsClassifier", "sklearn.neighbors:KNeighborsRegressor"),
        _number("n_neighbors", 5, "How many of the nearest count.", 1, 3, 5, 11, 21, low=1),
        Parameter(
            "weights", "uniform", "Do near ones count more?", choices=("uniform", "distance")
        ),
        scaled=True,
    ),
    *_algorithms(
        "svm",
        "SVM | Cortes, Vapnik (1995), with an RBF kernel",
        "The widest margin in a curved space; strong on small tables, slow on large ones.",
        ("sklearn.svm:SVC", "sklearn.svm:SVR"),
        _C,
        _number("gamma", 0.0, "Of the kernel; 0 for 1 / (features x variance).", 0.0, 0.01, 0.1),
        scaled=True,
        probabilities=False,
    ),
    *_algorithms(
        "decision-tree",
        "Decision tree | Breiman et al. (1984), CART",
        "Questions one after the other; readable, but changes much with the samples.",
        ("sklearn.tree:DecisionTreeClassifier", "sklearn.tree:DecisionTreeRegressor"),
        _DEPTH,
        _LEAF,
        random=True,
    ),
    *_algorithms(
        "random-forest",
        "Random forest | Breiman (2001)",
        "The mean of many trees, each on other samples and features; good untuned.",
        ("sklearn.ensemble:RandomForestClassifier", "sklearn.ensemble:RandomForestRegressor"),
        _TREES,
        _DEPTH,
        _LEAF,
        random=True,
    ),
    *_algorithms(
        "extra-trees",
        "Extra trees | Geurts, Ernst, Wehenkel (2006)",
        "As a random forest, with cuts drawn by chance: faster, often as good.",
        ("sklearn.ensemble:ExtraTreesClassifier", "sklearn.ensemble:ExtraTreesRegressor"),
        _TREES,
        _DEPTH,
        _LEAF,
        random=True,
    ),
    *_algorithms(
        "hist-boosting",
        "Histogram boosting | Ke et al. (2017), as LightGBM",
        "Trees that each correct those before, on binned features; fast on large tables.",
        (
            "sklearn.ensemble:HistGradientBoostingClassifier",
            "sklearn.ensemble:HistGradientBoostingRegressor",
        ),
        _RATE,
        _STEPS,
        _number("max_leaf_nodes", 31, "Leaves of a tree at most.", 7, 15, 31, low=2),
        random=True,
    ),
    *_algorithms(
        "naive-bayes",
        "Naive Bayes | Zhang (2004), Gaussian",
        "A normal distribution for each feature and class; costs next to nothing.",
        ("sklearn.naive_bayes:GaussianNB", ""),
        _number(
            "var_smoothing", 1e-9, "Share of the largest variance added to all.", 1e-9, 1e-3, 0.1
        ),
    ),
    *_algorithms(
        "mlp",
        "MLP | Hinton (1989), with Adam",
        "A neural network with one hidden layer; needs many samples.",
        ("sklearn.neural_network:MLPClassifier", "sklearn.neural_network:MLPRegressor"),
        _number("hidden", 100, "Units of the hidden layer.", 20, 50, 100, low=1, high=10_000),
        _number("alpha", 1e-4, "Strength of the penalty.", 1e-4, 1e-2, 1.0),
        _number("max_iter", 200, "Epochs at most.", low=1),
        scaled=True,
        random=True,
    ),
    *_algorithms(
        "xgboost",
        "XGBoost | Chen, Guestrin (2016)",
        "Boosted trees with a penalty on their leaves; needs the package xgboost.",
        ("xgboost:XGBClassifier", "xgboost:XGBRegressor"),
        _TREES,
        _RATE,
        _number("max_depth", 6, "Depth of a tree.", 3, 6, 9, high=100),
        random=True,
    ),
    *_algorithms(
        "lightgbm",
        "LightGBM | Ke et al. (2017)",
        "Boosted trees grown leaf by leaf; needs the package lightgbm.",
        ("lightgbm:LGBMClassifier", "lightgbm:LGBMRegressor"),
        _TREES,
        _RATE,
        _number("num_leaves", 31, "Leaves of a tree.", 7, 15, 31, low=2),
        random=True,
    ),
)
"""Of classes and of numbers; those whose package is here."""
