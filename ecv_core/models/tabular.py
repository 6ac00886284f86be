"""scikit-learn's estimators, and those of two packages like it, as algorithms of tables."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ecv_core.models.base import Algorithm, Settings
from ecv_core.records.parameters import Parameter
from ecv_core.records.tasks import Task


class Estimator:
    """An estimator with its parameters, of which each fold makes one with the run's seed."""

    def __init__(self, class_path: str, params: Settings, *, scales_features: bool) -> None:
        """Load the package, so that no fold is charged for it.

        Args:
            class_path: Where the estimator is, as 'sklearn.svm:SVC'.
            params: The params of the algorithm.
            scales_features: Whether features are scaled before the estimator sees them.
        """
        # `estimator` makes a pipeline of these. They are imported here, before a fold's time is
        # taken.
        from sklearn import impute, pipeline, preprocessing  # noqa: F401

        module, _, class_name = class_path.partition(":")
        self._estimator_class = getattr(import_module(module), class_name)
        self._scales_features = scales_features
        self._params = dict(params)
        for name in ("max_depth", "gamma"):  # 0 stands for the library's own default
            if self._params.get(name) == 0:
                del self._params[name]
        if "hidden" in self._params:
            self._params["hidden_layer_sizes"] = (self._params.pop("hidden"),)

    def estimator(self, seed: int) -> Any:  # noqa: ANN401  scikit-learn has no types
        """A pipeline, not fitted: missing numbers filled in by the median, features scaled if
        distances or penalties look at them, and the estimator.

        Args:
            seed: Its `random_state`, where it has one.
        """
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        estimator = self._estimator_class(**self._params)
        if "random_state" in estimator.get_params():
            estimator.set_params(random_state=seed)
        if not self._estimator_class.__module__.startswith("sklearn"):
            # Other libraries than scikit-learn would take every core, and print.
            estimator.set_params(n_jobs=1, verbosity=0)
        steps = [SimpleImputer(strategy="median", keep_empty_features=True)]
        if self._scales_features:
            steps.append(StandardScaler())
        return make_pipeline(*steps, estimator)


TABULAR: list[Algorithm] = []
"""Of classes and of numbers; those whose package is here."""
PACKAGES_NOT_HERE: dict[str, str] = {}
"""Ids of the others -> the package that each needs."""


def _add_algorithms(
    id: str,
    title: str,
    paper: str,
    summary: str,
    parameters: tuple[Parameter, ...],
    *,
    classifier: str = "",
    regressor: str = "",
    scales_features: bool = False,
    draws_randomly: bool = False,
    predicts_probabilities: bool = True,
) -> None:
    """Make estimators of one kind algorithms, as far as their package is here.

    Args:
        classifier: Where it is, as 'sklearn.svm:SVC'; empty where there is none.
        regressor: Likewise; beside a classifier its id and title say what it is.
        scales_features: Whether features are scaled, because distances or penalties depend on them.
        draws_randomly: Whether fitting draws random numbers, and so depends on the seed.
        predicts_probabilities: Whether the classifier does, and so has a log loss.
    """
    default_space = {}
    for parameter in parameters:
        if parameter.search_values:
            default_space[parameter.name] = parameter.search_values

    def add_if_installed(
        class_path: str, task: Task, *, id: str, title: str, log_odds: bool
    ) -> None:
        module = class_path.partition(":")[0]
        package = module.partition(".")[0]
        if find_spec(package) is None:
            PACKAGES_NOT_HERE[id] = package
            return
        algorithm = Algorithm(
            id=id,
            title=title,
            summary=summary,
            paper=paper,
            parameters=parameters,
            build=partial(Estimator, class_path, scales_features=scales_features),
            log_odds=log_odds,
            random=draws_randomly,
            with_torch=False,
            task=task,
            spaces={"default": default_space},
        )
        TABULAR.append(algorithm)

    if classifier:
        add_if_installed(
            classifier, Task.CLASSES, id=id, title=title, log_odds=predicts_probabilities
        )
    # If an algorithm serves both tasks, its regressor gets an id and a title of its own.
    if classifier and regressor:
        id += "-regressor"
        title += " (regression)"
    if regressor:
        add_if_installed(regressor, Task.NUMBERS, id=id, title=title, log_odds=False)


def _number(
    name: str, default: float, help: str, *search_values: float, low: float = 0, high: float = 1e6
) -> Parameter:
    """A parameter with scikit-learn's default and the values of its search space."""
    source = "scikit-learn's default"
    return Parameter(
        name, default, help, low=low, high=high, source=source, search_values=search_values
    )


_C = _number("C", 1.0, "Inverse of the strength of the penalty.", 0.01, 0.1, 1.0, 10, 100, low=1e-6)
_ALPHA = _number("alpha", 1.0, "Strength of the penalty.", 0.01, 0.1, 1, 10, 100)
_DEPTH = _number("max_depth", 0, "Depth of a tree; 0 for no limit.", 0, 2, 4, 8, 16, high=1000)
_LEAF = _number("min_samples_leaf", 1, "Fewest samples that a leaf may have.", 1, 2, 5, 10, low=1)
_TREES = _number("n_estimators", 100, "How many trees.", low=1, high=10_000)
_BOOSTED_TREES = _number("max_iter", 100, "How many trees.", low=1, high=10_000)
_RATE = _number("learning_rate", 0.1, "How much each tree adds.", 0.03, 0.1, 0.3, low=1e-6, high=1)

_HIDDEN = _number("hidden", 100, "Units of the hidden layer.", 20, 50, 100, low=1, high=10_000)

# A new kind of estimator is an entry here.

_add_algorithms(
    "logistic-regression",
    "Logistic regression",
    "Cox (1958), with an L2 penalty",
    "A weight for each feature; fast, and hard to beat where the classes lie well apart.",
    (_C, _number("max_iter", 1000, "Most steps of the solver.", low=1)),
    classifier="sklearn.linear_model:LogisticRegression",
    scales_features=True,
)

_add_algorithms(
    "ridge-classifier",
    "Ridge classifier",
    "Hoerl, Kennard (1970)",
    "Least squares on classes as -1 and 1, with a penalty; fastest of all.",
    (_ALPHA,),
    classifier="sklearn.linear_model:RidgeClassifier",
    scales_features=True,
    predicts_probabilities=False,
)

_add_algorithms(
    "ridge",
    "Ridge regression",
    "Hoerl, Kennard (1970)",
    "Least squares with a penalty: a weight for each feature.",
    (_ALPHA,),
    regressor="sklearn.linear_model:Ridge",
    scales_features=True,
)

_add_algorithms(
    "k-nn",
    "k-NN",
    "Cover, Hart (1967)",
    "Predicts what the nearest samples have; needs few features, and no training.",
    (
        _number("n_neighbors", 5, "How many of the nearest samples count.", 1, 3, 5, 11, 21, low=1),
        Parameter(
            "weights",
            "uniform",
            "Whether nearer samples count more.",
            choices=("uniform", "distance"),
        ),
    ),
    classifier="sklearn.neighbors:KNeighborsClassifier",
    regressor="sklearn.neighbors:KNeighborsRegressor",
    scales_features=True,
)

_add_algorithms(
    "svm",
    "SVM",
    "Cortes, Vapnik (1995), with an RBF kernel",
    "The widest margin in a curved space; strong on small tables, slow on large ones.",
    (
        _C,
        _number(
            "gamma",
            0.0,
            "Coefficient of the kernel; 0 sets it to 1 / (features x variance).",
            0.0,
            0.01,
            0.1,
        ),
    ),
    classifier="sklearn.svm:SVC",
    regressor="sklearn.svm:SVR",
    scales_features=True,
    predicts_probabilities=False,
)

_add_algorithms(
    "decision-tree",
    "Decision tree",
    "Breiman et al. (1984), CART",
    "Asks one question after another; easy to read, but changes much from sample to sample.",
    (_DEPTH, _LEAF),
    classifier="sklearn.tree:DecisionTreeClassifier",
    regressor="sklearn.tree:DecisionTreeRegressor",
    draws_randomly=True,
)

_add_algorithms(
    "random-forest",
    "Random forest",
    "Breiman (2001)",
    "The mean of many trees, each grown on other samples and features; good without tuning.",
    (_TREES, _DEPTH, _LEAF),
    classifier="sklearn.ensemble:RandomForestClassifier",
    regressor="sklearn.ensemble:RandomForestRegressor",
    draws_randomly=True,
)

_add_algorithms(
    "extra-trees",
    "Extra trees",
    "Geurts, Ernst, Wehenkel (2006)",
    "Like a random forest, but with random cuts: faster, often as good.",
    (_TREES, _DEPTH, _LEAF),
    classifier="sklearn.ensemble:ExtraTreesClassifier",
    regressor="sklearn.ensemble:ExtraTreesRegressor",
    draws_randomly=True,
)

_add_algorithms(
    "hist-boosting",
    "Histogram boosting",
    "Ke et al. (2017), as LightGBM",
    "Trees that each correct those before, on binned features; fast on large tables.",
    (
        _RATE,
        _BOOSTED_TREES,
        _number("max_leaf_nodes", 31, "Most leaves that a tree may have.", 7, 15, 31, low=2),
    ),
    classifier="sklearn.ensemble:HistGradientBoostingClassifier",
    regressor="sklearn.ensemble:HistGradientBoostingRegressor",
    draws_randomly=True,
)

_add_algorithms(
    "naive-bayes",
    "Naive Bayes",
    "Zhang (2004), Gaussian",
    "A normal distribution for each feature and class; costs next to nothing.",
    (
        _number(
            "var_smoothing",
            1e-9,
            "Share of the largest variance that is added to all variances.",
            1e-9,
            1e-3,
            0.1,
        ),
    ),
    classifier="sklearn.naive_bayes:GaussianNB",
)

_add_algorithms(
    "mlp",
    "MLP",
    "Hinton (1989), with Adam",
    "A neural network with one hidden layer; needs many samples.",
    (
        _HIDDEN,
        _number("alpha", 1e-4, "Strength of the penalty.", 1e-4, 1e-2, 1.0),
        _number("max_iter", 200, "Most epochs of training.", low=1),
    ),
    classifier="sklearn.neural_network:MLPClassifier",
    regressor="sklearn.neural_network:MLPRegressor",
    scales_features=True,
    draws_randomly=True,
)

_add_algorithms(
    "xgboost",
    "XGBoost",
    "Chen, Guestrin (2016)",
    "Boosted trees with a penalty on their leaves; needs the package xgboost.",
    (_TREES, _RATE, _number("max_depth", 6, "Depth of a tree.", 3, 6, 9, high=100)),
    classifier="xgboost:XGBClassifier",
    regressor="xgboost:XGBRegressor",
    draws_randomly=True,
)

_add_algorithms(
    "lightgbm",
    "LightGBM",
    "Ke et al. (2017)",
    "Boosted trees grown leaf by leaf; needs the package lightgbm.",
    (_TREES, _RATE, _number("num_leaves", 31, "Leaves of a tree.", 7, 15, 31, low=2)),
    classifier="lightgbm:LGBMClassifier",
    regressor="lightgbm:LGBMRegressor",
    draws_randomly=True,
)
