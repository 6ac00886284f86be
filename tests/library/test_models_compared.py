"""Models in memory where several are compared: select, tune and study."""

from __future__ import annotations

import numpy as np
import pytest

import ecv_core as ecv
from ecv_core.records.errors import InputError, RunError
from ecv_core.store.store import open_store


class Knob:
    """Popularity to a power: at 1 the most popular item first, at -1 the least."""

    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def fit(self, matrix):
        counts = np.asarray(matrix.sum(axis=0)).ravel()
        self.scores = np.maximum(counts, 0.5) ** self.alpha

    def score(self, users):
        return np.tile(self.scores, (len(users), 1))


class Settable(Knob):
    def get_params(self, deep=True):
        return {"alpha": self.alpha}

    def set_params(self, **params):
        self.__dict__ |= params
        return self


def test_a_selection_takes_models_beside_ids():
    chosen = ecv.select("synthetic", [Knob(1.0), Knob(-1.0), "ease"], k=3, keep=False)
    assert chosen.winner == "ease"
    assert set(chosen.folds_used) == {"Knob(alpha=1.0)", "Knob(alpha=-1.0)", "ease"}


def test_a_model_is_compared_by_the_scores_that_it_has_alone():
    popular = ecv.evaluate("synthetic", "popular", k=3, rule="never", keep=False)
    chosen = ecv.select("synthetic", [Knob(1.0), "popular"], k=3, keep=False)
    assert chosen.tied  # the same lists, so no difference
    ours = chosen.state.scores[0].folds
    assert ours == pytest.approx(popular.scores)


def test_equal_names_are_numbered_and_every_object_counts():
    chosen = ecv.select("synthetic", [Knob(), Knob(), "ease"], k=3, keep=False)
    assert {"Knob(alpha=1.0)", "Knob(alpha=1.0) 2"} < set(chosen.folds_used)


def test_a_changed_class_is_never_taken_for_the_one_before():
    def chosen_from(power):
        class Model(Knob):
            def __init__(self):
                super().__init__(power)

        return ecv.select("synthetic", [Model(), "popular"], k=3)

    assert chosen_from(1.0).tied
    assert chosen_from(-1.0).winner == "popular"


@pytest.mark.parametrize("model", [Knob, Settable(), lambda alpha: Knob(alpha)])
def test_a_model_is_tuned_by_its_class_a_factory_or_an_object(model):
    tuned = ecv.tune("synthetic", model, {"alpha": [-1.0, 0.5]}, k=3, keep=False)
    assert tuned.params == {"alpha": 0.5}  # a power of counts keeps their order
    popular = ecv.evaluate("synthetic", "popular", k=3, rule=ecv.Fixed(folds=1), keep=False)
    best = tuned.document()["best"]
    assert best["mean"] == pytest.approx(popular.scores[0])


class Constant:
    """Predicts one rating for every pair."""

    def __init__(self, value):
        self.value = value

    def fit(self, matrix):
        """Nothing is learnt."""

    def predict(self, users, items):
        return np.full(len(users), self.value)


def test_models_of_ratings_are_tuned_by_their_errors():
    users = np.repeat(np.arange(30), 20)
    items = np.tile(np.arange(20), 30)
    ratings = np.random.default_rng(0).integers(3, 6, len(users))  # their mean is about 4
    data = (users, items, ratings)
    tuned = ecv.tune(data, Constant, {"value": [1.0, 4.0, 5.0]}, metric="rmse", k=3, keep=False)
    assert tuned.params == {"value": 4.0}


def test_a_study_takes_models_beside_ids():
    runs = ecv.study(["synthetic"], [Knob(), "popular"], k=3, keep=False)
    assert [run.spec.algorithm for run in runs] == ["Knob", "popular"]
    assert runs[0].scores == pytest.approx(runs[1].scores)


def test_a_model_that_fails_is_named_with_its_error():
    class Broken(Knob):
        def fit(self, matrix):
            raise ZeroDivisionError("no counts")

    with pytest.raises(RunError, match=r"Broken failed in fold 0 \(ZeroDivisionError: no counts\)"):
        ecv.select("synthetic", [Broken(), "popular"], k=3, keep=False)


WRONG = {
    "number": (lambda: ecv.select("synthetic", [5, "ease"]), "type int"),
    "class": (lambda: ecv.select("synthetic", [Knob, "ease"]), "the class Knob"),
    "elsewhere": (lambda: ecv.select("synthetic", [Knob(), "ease"], on="local:2"), "local:2"),
    "in a study": (lambda: ecv.study(["synthetic"], [5]), "type int"),
    "no space": (lambda: ecv.tune("synthetic", Knob), "no search space"),
    "no parameter": (lambda: ecv.tune("synthetic", Knob, {"beta": [1, 2]}), "beta"),
    "not settable": (lambda: ecv.tune("synthetic", Constant(1), {"value": [1, 2]}), "set_params"),
    "no model": (lambda: ecv.tune("synthetic", dict, {"a": [1, 2]}), "type dict"),
    "one value": (lambda: ecv.tune("synthetic", Knob, {"alpha": [1]}), "at least two"),
}


@pytest.mark.parametrize(("call", "said"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_compared_is_one_sentence_and_leaves_nothing(call, said):
    with pytest.raises(InputError, match=said):
        call()
    assert open_store().runs() == []
