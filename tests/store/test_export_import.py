"""Export, then import, gives the same run: for every rule, split, task and option."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ecv_core import evaluation, models, splits, stopping
from ecv_core.energy.meter import SOURCES, countries
from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import Parameter
from ecv_core.records.run import (
    LARGEST_AMOUNT,
    LARGEST_SCORE,
    Decision,
    Energy,
    FoldResult,
    Interval,
    RunRecord,
    RunState,
    Shared,
    UserScores,
)
from ecv_core.records.spec import SETTINGS, Setting
from ecv_core.records.tasks import Task
from ecv_core.stopping import TakesCheapModels
from ecv_core.stopping.adjustment import CheapModels
from ecv_core.store.document import run_document
from ecv_core.store.imports import read_run
from tests.fake_folds import fold_result

K = 6
USERS = np.arange(12, dtype=np.int32)
FIXED = ("dataset", "algorithm", "params", "split", "split_params", "rule", "rule_params", "k")


def folds_of(split: str) -> int:
    known = splits.SPLITS[split]
    return max(known.least_k, min(K, known.most_k))


def possible(rule: str, split: str) -> bool:
    """Whether this rule may stop the folds of this split."""
    try:
        with_settings(rule, split)
    except InputError:
        return False
    return True


def with_settings(rule: str, split: str, **asked):
    """A spec with these settings; what a rule cannot do without has some value."""
    needed = {one.name: one.default for one in stopping.RULES[rule].parameters if one.required}
    asked["rule_params"] = needed | asked.get("rule_params", {})
    usual = {"dataset": "synthetic", "algorithm": "popular"}
    return make_spec(**usual | {"rule": rule, "split": split, "k": folds_of(split)} | asked)


def numbers(low: float | None, high: float | None, *, whole: bool, inside: bool = False):
    """Numbers of a range; where an end is missing, up to a size that often fits."""
    if whole:
        return st.integers(int(1 if low is None else low), int(30 if high is None else high))
    low, high = (-100 if low is None else low), (100 if high is None else high)
    return st.floats(low, high, exclude_min=inside, exclude_max=inside)


def value_of(parameter: Parameter, ids: Sequence[str]) -> st.SearchStrategy[object]:
    if parameter.ids:
        return st.lists(st.sampled_from(ids), unique=True, max_size=2).map(",".join)
    if parameter.choices:
        return st.sampled_from(parameter.choices)
    if isinstance(parameter.default, bool):
        return st.booleans()
    if isinstance(parameter.default, int | float):
        whole = isinstance(parameter.default, int)
        return numbers(parameter.low, parameter.high, whole=whole, inside=parameter.open)
    return st.just(parameter.default)


def values_of(setting: Setting, named: Mapping[str, Sequence[str]]) -> st.SearchStrategy[object]:
    if setting.choices:
        return st.sampled_from(list(setting.choices))
    if setting.kind is bool:
        return st.booleans()
    if setting.kind in (int, float):
        whole = setting.kind is int
        return numbers(setting.low, setting.high, whole=whole, inside=setting.open)
    if setting.name.endswith("sha256"):
        return st.text("0123456789abcdef", min_size=64, max_size=64)
    if setting.kind is tuple:
        return st.lists(st.integers(0, K - 1), unique=True, max_size=K).map(tuple)
    return st.sampled_from(list(named[setting.name]))


said = st.booleans() | st.floats() | st.integers() | st.text()
"""Of a tracked model, by its owner; what cannot be shown is refused."""


@st.composite
def specs(draw, rule: str, split: str, task: Task):
    """Of every setting that there is some value, as far as they go together."""
    algorithm = models.ALGORITHMS[draw(st.sampled_from(models.serving(task)))]
    owners = {"split_params": splits.SPLITS[split], "rule_params": stopping.RULES[rule]}
    if draw(st.booleans()):
        asked = {"algorithm": "my model", "tracked": True, "metric": task.usual_metric}
        asked["params"] = draw(st.dictionaries(st.from_regex("[a-z]{1,9}", fullmatch=True), said))
    else:
        asked = {"algorithm": algorithm.id}
        owners["params"] = algorithm
    for name, owner in owners.items():
        parameters = {one.name: value_of(one, models.serving(task)) for one in owner.parameters}
        asked[name] = draw(st.fixed_dictionaries({}, optional=parameters))
    named = {"metric": evaluation.METRICS, "country": countries()}
    try:
        spec = with_settings(rule, split, **asked)
    except InputError:
        assume(False)
    found = ("cutoffs", "tracked", "own_metric")  # of what else is asked
    others = [name for name in SETTINGS if name not in (*FIXED, *found)]
    for name in draw(st.lists(st.sampled_from(others), unique=True)):
        value = draw(values_of(SETTINGS[name], named))
        try:
            spec = with_settings(rule, split, **asked | {name: value})
        except InputError:
            continue  # it does not go with the others
        asked[name] = value
    return spec


amounts = st.floats(0, LARGEST_AMOUNT)
times = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))


@st.composite
def results(draw, spec, size: float):
    """The folds of a run, in an order in which they may have come."""
    per_user = evaluation.METRICS[spec.metric].per_user or spec.task is Task.RATINGS
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    name = spec.metric_name
    found = []
    for index in draw(st.permutations(spec.fold_order)):
        values = (size * rng.random((len(USERS), 1))).astype(np.float32)
        score = float(values.mean(dtype=np.float64))
        joules, seconds = draw(amounts), draw(amounts)
        found.append(
            FoldResult(
                fold=index,
                score=score,
                metrics={name: score, "other@3": draw(st.floats(-LARGEST_SCORE, LARGEST_SCORE))},
                users=len(USERS),
                inner_curve=tuple(draw(st.lists(st.floats(-1e9, 1e9), max_size=3))),
                fit_seconds=seconds,
                evaluate_seconds=draw(amounts),
                total_seconds=draw(amounts),
                energy=Energy(
                    joules=joules,
                    cpu_joules=draw(amounts),
                    gpu_joules=0.0,
                    ram_joules=draw(amounts),
                    grams_co2e=draw(amounts),
                    source=draw(st.sampled_from(list(SOURCES))),
                ),
                shared=draw(
                    st.none()
                    | st.just(Shared(configurations=3, alone_seconds=2.5, alone_joules=joules))
                ),
                user_scores=(
                    UserScores(users=USERS, metrics=(name,), values=values) if per_user else None
                ),
            )
        )
    return tuple(found)


def a_run(run_id: str, spec, folds, **more) -> RunRecord:
    began = more.pop("created_at", datetime(2026, 3, 4, tzinfo=UTC))
    return RunRecord(
        run_id=run_id, spec=spec, state=RunState.FINISHED, folds=folds, created_at=began, **more
    )


@st.composite
def runs(draw, rule: str, split: str, task: Task) -> RunRecord:
    """A run as it ends: what its rule said after every fold, and its folds up to the stop."""
    spec = draw(specs(rule, split, task))
    size = draw(st.sampled_from([1.0, 1e-6, LARGEST_SCORE]))
    folds = draw(results(spec, size))
    stopper = stopping.rule_for(spec)
    if isinstance(stopper, TakesCheapModels) and stopper.needed_cheap_models:
        cheap = {name: draw(results(spec, size)) for name in stopper.needed_cheap_models}
        scores = {name: {one.fold: one.user_scores for one in cheap[name]} for name in cheap}
        stopper = stopper.with_cheap_models(CheapModels(scores, spec.metric_name))
    moments = stopping.moments(stopper, folds, spec.confidence)
    stopped_at = stopping.stop_of(moments, spec.max_folds)
    ran = spec.max_folds if spec.full else draw(st.integers(stopped_at, spec.max_folds))
    began = draw(times)
    return a_run(
        draw(st.from_regex(r"[A-Za-z0-9_-]{1,32}", fullmatch=True)),
        spec,
        tuple(replace(one, user_scores=None) for one in folds[:ran]),
        moments=tuple(moments[:ran]),
        stopped_at=stopped_at,
        created_at=began,
        finished_at=began + timedelta(seconds=draw(st.integers(0, 10**6))),
        other_work=draw(st.sampled_from(["", "two other programs ran meanwhile"])),
    )


CASES = [
    (rule, split) for rule in stopping.RULES for split in splits.SPLITS if possible(rule, split)
]


@pytest.mark.parametrize(("rule", "split"), CASES)
@settings(max_examples=4, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_export_then_import_gives_the_same_run(rule, split, data):
    run = data.draw(runs(rule, split, data.draw(st.sampled_from(Task))))
    document = run_document(run)
    read = read_run(json.dumps(document, allow_nan=False).encode(), "run.json")
    assert read.run == run
    assert run_document(read.run) == document


def spoilt(change) -> RunRecord:
    """A run with something in it that no e-fold would read."""
    fold = fold_result(0, 0.3)
    spec = make_spec(dataset="synthetic", algorithm="popular", rule="never")
    moments = stopping.moments(stopping.rule_for(spec), [fold], spec.confidence)
    return a_run("0123", spec, (replace(fold, **change),), moments=moments)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"score": 2 * LARGEST_SCORE}, r"score must be at most 1e\+30, but is 2"),
        ({"metrics": {"ndcg@10": 0.3, "auc": float("inf")}}, "auc must be a finite number"),
        ({"inner_curve": (0.1, float("nan"))}, r"inner_curve\[1\] must be a finite number"),
        ({"fit_seconds": -1.0}, "seconds.fit must be at least 0, but is -1"),
        ({"total_seconds": float("inf")}, "seconds.total must be at most"),
        ({"users": -3}, "users must be at least 0, but is -3"),
        ({"energy": replace(Energy.none(), joules=-1.0)}, "energy.joules must be at least 0"),
    ],
)
def test_what_could_not_be_read_is_not_written(change, words):
    with pytest.raises(InputError, match=f"run 0123 cannot be written as JSON: .*{words}"):
        run_document(spoilt(change))


@pytest.mark.parametrize("change", [{"score": 2 * LARGEST_SCORE}, {"fit_seconds": -1.0}])
def test_a_fold_that_could_not_be_read_again_is_not_kept(change, store):
    run = store.create([spoilt({}).spec], owner="me")[0]
    with pytest.raises(InputError, match="could not be read again: its"):
        store.add_fold(run, spoilt(change).folds[0], stopped_at=None)
    assert store.run(run).folds == ()


class Odd:
    """A rule of which one thing is odd."""

    def __init__(self, mean=0.3, interval=(0.2, 0.4), reason="go on") -> None:
        self.of_mean, self.ends, self.reason = mean, interval, reason

    def decide(self, results):
        return Decision(stop=False, reason=self.reason)

    def mean(self, results):
        return self.of_mean

    def interval(self, results):
        return Interval(low=self.ends[0], high=self.ends[1])


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ({"mean": float("nan")}, "the mean of the stopping rule Odd must be a finite number"),
        ({"interval": (0.4, 0.2)}, "from 0.4 to 0.2"),
        ({"interval": (0.2, float("inf"))}, "finite ends.* from 0.2 to inf"),
        ({"reason": "two\nlines"}, "the reason of .* must be one line"),
        ({"reason": "long" * 300}, "the reason of .* at most 1,000 characters"),
    ],
)
def test_what_a_rule_must_not_say_is_refused_as_it_says_it(odd, words):
    assert len(stopping.moments(Odd(), [fold_result(0, 0.3)], 0.95)) == 1
    with pytest.raises(InputError, match=words):
        stopping.moments(Odd(**odd), [fold_result(0, 0.3)], 0.95)
