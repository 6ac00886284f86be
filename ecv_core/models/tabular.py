"""scikit-learn's estimators, and those of two packages like it, as algorithms of tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ecv_core.models.base import Algorithm
from ecv_core.records.parameters import Parameter, ParamValue
from ecv_core.records.spec import Task


@dataclass(frozen=True, slots=True)
class TableModel:
    """An estimator with its parameters, of which a fold makes one with a seed."""

    kind: Any
    """The class of the estimator."""
    params: Mapping[str, ParamValue]
    scaled: bool
    fixed: Mapping[str, Any]
    """Arguments that nobody sets."""

    def estimator(self, seed: int) -> Any:  # noqa: ANN401  scikit-learn has no types
        """A pipeline, not fitted: missing numbers filled in by the median, features scaled if
        distances or penalties look at them, and the estimator.

        Args:
            seed: its `random_state`, where it has one.
        """
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        last = self.kind(**self.fixed)
        params: dict[str, Any] = dict(self.params)
        for of_text in ("max_depth", "gamma"):  # 0 stands for the library's own
            if params.get(of_text) == 0:
                del params[of_text]
        if "hidden" in params:
            params["hidden_layer_sizes"] = (params.pop("hidden"),)
        if "random_state" in last.get_params():
            params["random_state"] = seed
        filled = SimpleImputer(strategy="median", keep_empty_features=True)
        steps = [filled, StandardScaler()] if self.scaled else [filled]
        return make_pipeline(*steps, last.set_params(**params))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Family:
    """Estimators of one kind: of classes, of numbers or of both."""

    id: str
    title: str
    summary: str
    paper: str
    classifier: str = ""
    regressor: str = ""
    parameters: tuple[Parameter, ...]
    space: Mapping[str, tuple[ParamValue, ...]]
    scaled: bool = False
    random: bool = False
    probabilities: bool = True
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def algorithms(self) -> Iterator[Algorithm]:
        """One for classes, one for numbers, as far as there are estimators of them."""
        both = bool(self.classifier and self.regressor)
        for home, task, ending, words in (
            (self.classifier, Task.CLASSES, "", ""),
            (self.regressor, Task.NUMBERS, "-regressor" * both, " (regression)" * both),
        ):
            if home and find_spec(home.partition(".")[0].partition(":")[0]):
                yield Algorithm(
                    id=self.id + ending,
                    title=self.title + words,
                    summary=self.summary,
                    paper=self.paper,
                    parameters=self.parameters,
                    build=partial(_build, home, self.scaled, self.fixed),
                    log_odds=self.probabilities and task is Task.CLASSES,
                    random=self.random,
                    with_torch=False,
                    task=task,
                    spaces={"default": self.space},
                )


def _build(
    home: str, scaled: bool, fixed: Mapping[str, Any], params: Mapping[str, ParamValue]
) -> TableModel:
    from sklearn import impute, pipeline, preprocessing  # noqa: F401  loading is no fold's cost

    module, _, name = home.partition(":")
    return TableModel(getattr(import_module(module), name), params, scaled, fixed)


def _number(
    name: str,
    default: float,
    help: str,
    low: float = 0,
    high: float = 1e6,
    source: str = "scikit-learn's default",
) -> Parameter:
    return Parameter(name, default, help, low=low, high=high, source=source)


_C = _number("C", 1.0, "Inverse of the strength of the penalty.", low=1e-6)
_ALPHA = _number("alpha", 1.0, "Strength of the penalty.")
_DEPTH = _number("max_depth", 0, "Depth of a tree at most; 0 for no limit.", high=1000)
_LEAF = _number("min_samples_leaf", 1, "Samples of a leaf at the least.", low=1, high=100_000)
_TREES = _number("n_estimators", 100, "How many trees.", low=1, high=10_000)
_RATE = _number("learning_rate", 0.1, "How much each tree adds.", low=1e-6, high=1)
_DEPTHS = (0, 2, 4, 8, 16)
_LEAVES = (1, 2, 5, 10)
_FOREST = {"min_samples_leaf": _LEAVES, "max_depth": _DEPTHS}
_FAMILIES = (
    _Family(
        id="logistic-regression",
        title="Logistic regression",
        summary="A weight for each feature; fast, and hard to beat where classes lie apart.",
        paper="Cox (1958), with an L2 penalty",
        classifier="sklearn.linear_model:LogisticRegression",
        parameters=(
            _C,
            _number("max_iter", 1000, "Steps of the solver at most.", low=1, source="our own"),
        ),
        space={"C": (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)},
        scaled=True,
    ),
    _Family(
        id="ridge-classifier",
        title="Ridge classifier",
        summary="Least squares on classes as -1 and 1, with a penalty; fastest of all.",
        paper="Hoerl, Kennard (1970)",
        classifier="sklearn.linear_model:RidgeClassifier",
        parameters=(_ALPHA,),
        space={"alpha": (0.01, 0.1, 1.0, 10.0, 100.0)},
        scaled=True,
        probabilities=False,
    ),
    _Family(
        id="ridge",
        title="Ridge regression",
        summary="Least squares with a penalty: a weight for each feature.",
        paper="Hoerl, Kennard (1970)",
        regressor="sklearn.linear_model:Ridge",
        parameters=(_ALPHA,),
        space={"alpha": (0.01, 0.1, 1.0, 10.0, 100.0)},
        scaled=True,
    ),
    _Family(
        id="k-nn",
        title="k-NN",
        summary="What the nearest samples have; needs few features, and no training.",
        paper="Cover, Hart (1967)",
        classifier="sklearn.neighbors:KNeighborsClassifier",
        regressor="sklearn.neighbors:KNeighborsRegressor",
        parameters=(
            _number("n_neighbors", 5, "How many of the nearest count.", low=1, high=10_000),
            Parameter(
                "weights",
                "uniform",
                "Whether near ones count more.",
                choices=("uniform", "distance"),
                source="scikit-learn's default",
            ),
        ),
        space={"n_neighbors": (1, 3, 5, 11, 21), "weights": ("uniform", "distance")},
        scaled=True,
    ),
    _Family(
        id="svm",
        title="SVM",
        summary="The widest margin in a curved space; strong on small tables, slow on large ones.",
        paper="Cortes, Vapnik (1995), with an RBF kernel",
        classifier="sklearn.svm:SVC",
        regressor="sklearn.svm:SVR",
        parameters=(
            _C,
            _number("gamma", 0.0, "Of the kernel; 0 for 1 / (features x variance)."),
        ),
        space={"C": (0.1, 1.0, 10.0, 100.0), "gamma": (0.0, 0.01, 0.1)},
        scaled=True,
        probabilities=False,
    ),
    _Family(
        id="decision-tree",
        title="Decision tree",
        summary="Questions one after the other; readable, but changes much with the samples.",
        paper="Breiman et al. (1984), CART",
        classifier="sklearn.tree:DecisionTreeClassifier",
        regressor="sklearn.tree:DecisionTreeRegressor",
        parameters=(_DEPTH, _LEAF),
        space=_FOREST,
        random=True,
    ),
    _Family(
        id="random-forest",
        title="Random forest",
        summary="The mean of many trees, each on other samples and features; good untuned.",
        paper="Breiman (2001)",
        classifier="sklearn.ensemble:RandomForestClassifier",
        regressor="sklearn.ensemble:RandomForestRegressor",
        parameters=(_TREES, _DEPTH, _LEAF),
        space=_FOREST,
        random=True,
    ),
    _Family(
        id="extra-trees",
        title="Extra trees",
        summary="As a random forest, with cuts drawn by chance: faster, often as good.",
        paper="Geurts, Ernst, Wehenkel (2006)",
        classifier="sklearn.ensemble:ExtraTreesClassifier",
        regressor="sklearn.ensemble:ExtraTreesRegressor",
        parameters=(_TREES, _DEPTH, _LEAF),
        space=_FOREST,
        random=True,
    ),
    _Family(
        id="hist-boosting",
        title="Histogram boosting",
        summary="Trees that each correct those before, on binned features; fast on large tables.",
        paper="Ke et al. (2017), LightGBM",
        classifier="sklearn.ensemble:HistGradientBoostingClassifier",
        regressor="sklearn.ensemble:HistGradientBoostingRegressor",
        parameters=(
            _RATE,
            _number("max_iter", 100, "How many trees.", low=1, high=10_000),
            _number("max_leaf_nodes", 31, "Leaves of a tree at most.", low=2, high=10_000),
        ),
        space={"learning_rate": (0.03, 0.1, 0.3), "max_leaf_nodes": (7, 15, 31)},
        random=True,
    ),
    _Family(
        id="naive-bayes",
        title="Naive Bayes",
        summary="A normal distribution for each feature and class; costs next to nothing.",
        paper="Zhang (2004), Gaussian",
        classifier="sklearn.naive_bayes:GaussianNB",
        parameters=(
            _number("var_smoothing", 1e-9, "Share of the largest variance added to all.", high=1),
        ),
        space={"var_smoothing": (1e-9, 1e-6, 1e-3, 1e-1)},
    ),
    _Family(
        id="mlp",
        title="MLP",
        summary="A neural network with one hidden layer; needs many samples.",
        paper="Hinton (1989); Kingma, Ba (2014), Adam",
        classifier="sklearn.neural_network:MLPClassifier",
        regressor="sklearn.neural_network:MLPRegressor",
        parameters=(
            _number("hidden", 100, "Units of the hidden layer.", low=1, high=10_000),
            _number("alpha", 1e-4, "Strength of the penalty."),
            _number("max_iter", 200, "Epochs at most.", low=1, high=100_000),
        ),
        space={"hidden": (20, 50, 100), "alpha": (1e-4, 1e-2, 1.0)},
        scaled=True,
        random=True,
    ),
    _Family(
        id="xgboost",
        title="XGBoost",
        summary="Boosted trees with a penalty on their leaves; needs the package xgboost.",
        paper="Chen, Guestrin (2016)",
        classifier="xgboost:XGBClassifier",
        regressor="xgboost:XGBRegressor",
        parameters=(_TREES, _RATE, _number("max_depth", 6, "Depth of a tree.", high=100)),
        space={"learning_rate": (0.03, 0.1, 0.3), "max_depth": (3, 6, 9)},
        random=True,
        fixed={"n_jobs": 1},
    ),
    _Family(
        id="lightgbm",
        title="LightGBM",
        summary="Boosted trees grown leaf by leaf; needs the package lightgbm.",
        paper="Ke et al. (2017)",
        classifier="lightgbm:LGBMClassifier",
        regressor="lightgbm:LGBMRegressor",
        parameters=(_TREES, _RATE, _number("num_leaves", 31, "Leaves of a tree.", low=2)),
        space={"learning_rate": (0.03, 0.1, 0.3), "num_leaves": (7, 15, 31)},
        random=True,
        fixed={"n_jobs": 1, "verbose": -1},
    ),
)
TABULAR = tuple(one for family in _FAMILIES for one in family.algorithms())
"""Of classes and of numbers; those whose package is here."""
