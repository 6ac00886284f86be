"""A run's file: what was exported comes back; anything else is one clear sentence."""

import copy
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecv_core import stopping
from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import InputError
from ecv_core.records.run import IntervalKind, RunRecord, RunState
from ecv_core.store.document import run_document
from ecv_core.store.imports import read_run
from ecv_core.untrusted import limits
from tests.fake_folds import fold_result

TOLERANT = (("adjust_by", ""), ("tolerance", 0.03))
SCORES = [0.30, 0.34, 0.31, 0.33, 0.32]


def finished(scores, **settings):
    """A run as the runner would leave it."""
    spec = make_spec(
        **{"dataset": "synthetic", "algorithm": "item-knn", "k": len(scores), "full": True}
        | settings
    )
    folds = tuple(fold_result(index, score) for index, score in enumerate(scores))
    moments = tuple(stopping.moments(stopping.rule_for(spec), folds, spec.confidence))
    return RunRecord(
        run_id="0123456789ab",
        spec=spec,
        state=RunState.FINISHED,
        folds=folds,
        moments=moments,
        created_at=datetime(2026, 3, 4, 5, 6, 7, 89, tzinfo=UTC),
        finished_at=datetime(2026, 3, 4, 6, tzinfo=UTC),
        stopped_at=stopping.stop_of(moments, len(scores)),
    )


def exported(run):
    return json.dumps(run_document(run)).encode()


@given(
    scores=st.lists(st.floats(0, 1), min_size=2, max_size=12),
    alpha=st.floats(1e-9, 1),
    seed=st.integers(0, 2**32 - 1),
    rule=st.sampled_from(["e-fold", "never", "std-stagnation"]),
)
def test_what_was_exported_comes_back_as_it_was(scores, alpha, seed, rule):
    run = finished(scores, alpha=alpha, seed=seed, rule=rule)
    found = read_run(exported(run), "run.json")
    assert found.run == run


def test_a_rule_that_needs_every_users_score_keeps_what_it_said_then():
    run = replace(finished(SCORES), spec=replace(finished(SCORES).spec, rule="precision"))
    run = replace(run, spec=replace(run.spec, rule_params=TOLERANT, min_folds=1))
    run = replace(run, stopped_at=len(SCORES))
    never = stopping.moments(stopping.RULES["never"].build(run.spec), run.folds, 0.95)
    run = replace(run, moments=tuple(never))
    assert read_run(exported(run), "run.json").run == run


def test_intervals_say_what_they_hold():
    run = finished(SCORES)
    asked = {"rule": "precision", "rule_params": TOLERANT, "min_folds": 1}
    run = replace(run, spec=replace(run.spec, **asked))
    near = IntervalKind.K_FOLD_MEAN
    moments = stopping.moments(stopping.RULES["never"].build(run.spec), run.folds, 0.95)
    told = [
        replace(one, interval=one.interval and replace(one.interval, kind=near)) for one in moments
    ]
    run = replace(run, moments=tuple(told), stopped_at=len(SCORES))
    document = run_document(run)
    assert document["interval_kind"] == "k-fold mean"
    # mean 0.32, deviation 0.0158114, t(4) = 2.77645: half 0.0196325
    assert document["mean_interval"] == pytest.approx([0.3003675, 0.3396325], abs=1e-6)
    assert document["k_fold_mean_interval"] == document["mean_interval"]
    assert [one["interval_kind"] for one in document["moments"]] == [None] + ["k-fold mean"] * 4
    assert read_run(json.dumps(document).encode(), "run.json").run.moments == run.moments


def test_the_interval_that_allows_for_the_stop_is_wider_where_a_rule_looked():
    looked = run_document(finished(SCORES, rule="e-fold", alpha=1.0))
    assert looked["stopped_at"] == 3
    # Looks after fold 3, 4 and 5 may each err by 2.286 %: t(2) = 6.5000, deviation 0.0208167
    low, high = looked["stop_interval"]
    assert (high - low) / 2 == pytest.approx(0.078121, rel=1e-4)
    planned = run_document(finished(SCORES, rule="fixed", min_folds=3))
    assert planned["stop_interval"] == planned["mean_interval"] == looked["mean_interval"]


def test_a_dataset_of_ones_own_need_not_be_here():
    run = finished(SCORES)
    run = replace(run, spec=replace(run.spec, dataset="my-shop-2026"))
    assert read_run(exported(run), "run.json").run.spec.dataset == "my-shop-2026"


def test_the_machine_travels_and_odd_things_in_it_do_not():
    document = run_document(finished(SCORES))
    document["made_with"] = {
        "machine": "x86_64",
        "cores": 2,
        "python": ["no"],
        "packages": {"torch": "2.1", "odd": {"a": 1}},
        "more": "x" * 10**6,
    }
    found = read_run(json.dumps(document).encode(), "run.json")
    assert found.made_with == {"machine": "x86_64", "cores": 2, "packages": {"torch": "2.1"}}


def at(path, value):
    """A change of one place in the document."""

    def change(document):
        place = document
        for key in path[:-1]:
            place = place[key]
        if value is None:
            del place[path[-1]]
        else:
            place[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (at(["run_id"], "../../etc/passwd"), "run id must be"),
        (at(["run_id"], 7), "run_id must be text, but is 7"),
        (at(["run_id"], "x" * 33), "run id must be"),
        (at(["version"], 2), "its version is 2, and this e-fold reads 1; update e-fold"),
        (at(["version"], None), "its version is None, and this e-fold reads 1"),
        (at(["version"], "1"), "its version is '1', and this e-fold reads 1"),
        (at(["format"], "a cake"), "is not a run that e-fold exported"),
        (at(["format"], None), "is not a run that e-fold exported"),
        (at(["spec"], None), "its spec is missing"),
        (at(["folds"], {}), "its folds must be a list"),
        (at(["moments"], None), "its moments is missing"),
        (at(["moments", 4], None), "5 folds, 4 moments"),
        (at(["moments", 1, "interval_kind"], None), "moment 2 lacks its interval_kind"),
        (at(["spec", "alpha"], 0.01), "'alpha', which this version of e-fold does not know"),
        (
            at(["folds", 1, "inner_curve"], [0.5] * 10_001),
            r"inner_curve has 10,001 values, and at most 10,000",
        ),
        (
            at(["folds", 1, "metrics"], {f"m{n}": 0.5 for n in range(201)}),
            "metrics has .* values, and at most 200",
        ),
        (at(["state"], "cancelled"), "is cancelled, and only finished ones"),
        (at(["created_at"], "yesterday"), "damaged run"),
        (at(["created_at"], "2026-01-01"), "created_at must be a time"),
        (at(["created_at"], "2026-01-01T05:06:07"), "no time zone"),
        (at(["spec", "dataset"], "../secret"), "cannot be the name of a dataset"),
        (at(["spec", "dataset"], "a/b"), "cannot be the name of a dataset"),
        (at(["spec", "folds_sha256"], "../../x"), "not a SHA-256"),
        (at(["spec", "algorithm"], "theirs"), "no algorithm is called 'theirs'"),
        (at(["spec", "rule"], "theirs"), "'theirs'"),
        (at(["spec", "metric"], "theirs"), "no metric is called 'theirs'"),
        (at(["spec", "split"], "theirs"), "'theirs'"),
        (at(["spec", "country"], "XX"), "'XX'"),
        (at(["spec", "newer"], 1), "'newer', which this version of e-fold does not know"),
        (at(["spec", "k"], 1), "cannot be imported"),
        (at(["spec", "k"], 5.5), "k must be a whole number"),
        (at(["spec", "k"], True), "k must be a whole number, but is True"),
        (at(["spec", "seed"], -1), "seed"),
        (at(["spec", "full"], "yes"), "full must be true or false"),
        (at(["spec", "rule_params", "alpha"], 0), "alpha"),
        (at(["spec", "rule_params", "alpha"], "0.01"), "rule_params.alpha cannot be 0.01"),
        (at(["spec", "rule_params", "width"], 1), "the rule e-fold is called 'width'"),
        (at(["spec", "cutoffs"], [1, 5]), "do not fit n = 10"),
        (at(["spec", "cutoffs"], "10"), "spec.cutoffs must be a list, but is 10"),
        (at(["spec", "cutoffs"], [10, "20"]), r"cutoffs\[1\] must be a whole number"),
        (at(["spec", "params", "neighbours"], {"a": 1}), "neighbours must be a number, text, or"),
        (at(["spec", "params", "neighbours"], 0), "neighbours"),
        (at(["folds"], []), "cannot be imported: it has no folds|damaged"),
        (at(["folds", 1, "fold"], 0), "a fold is listed twice"),
        (at(["folds", 1, "fold"], 9), "fold 9 is not one of the folds"),
        (at(["folds", 1, "fold"], -1), r"folds\[1\].fold must be at least 0, but is -1"),
        (at(["folds", 1, "score"], "0.3"), "score must be a finite number"),
        (at(["folds", 1, "score"], 0.9), "is not its ndcg@10"),
        (at(["folds", 1, "score"], 10**400), r"score must be at most 1e\+30"),
        (at(["folds", 1, "energy", "joules"], 10**400), r"joules must be at most 1e\+15"),
        (at(["folds", 1, "metrics"], {"<b>": 1}), "cannot be the name of a metric"),
        (at(["folds", 1, "users"], 1.5), "users must be a whole number"),
        (at(["folds", 1, "seconds", "fit"], -1), "seconds.fit must be at least 0"),
        (at(["folds", 1, "seconds", "fit"], None), "seconds.fit is missing"),
        (at(["folds", 1, "energy", "joules"], -1), "energy.joules must be at least 0"),
        (at(["folds", 1, "energy", "source"], "moon"), "no source of energy is called 'moon'"),
        (at(["folds", 1, "seconds", "extra"], 1), "seconds.extra cannot be 1"),
        (at(["folds", 1, "energy", "extra"], 1), "damaged run"),
        (at(["folds", 1, "energy"], None), "damaged run"),
        (at(["folds", 1], 3), "damaged run"),
        (at(["mean"], 0.5), "does not follow from its fold scores"),
        (at(["stopped_at"], 2), "its stop after 2 folds does not follow"),
        (at(["stopped_at"], "all"), "stopped_at must be a whole number, but is all"),
        (at(["moments", 1, "mean"], 0.4), "mean after 2 folds is not the mean"),
        (at(["moments", 1, "interval"], [0.5, 0.6]), "does not hold the mean"),
        (at(["moments", 1, "reason"], "two\nlines"), "must be a line of text"),
        (at(["moments", 1, "stop"], 1), "stop must be true or false"),
    ],
)
def test_a_file_that_is_no_such_run_is_one_sentence(change, words):
    document = copy.deepcopy(run_document(finished(SCORES)))
    change(document)
    with pytest.raises(InputError, match=words) as caught:
        read_run(json.dumps(document).encode(), "run.json")
    assert "run.json" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x89PNG\r\n",
        b"{",
        b"[]",
        b"7",
        b"<!DOCTYPE html><html></html>",
        b"[" * 100_000,
        "ü".encode("latin-1"),
    ],
)
def test_a_foreign_file_says_where_the_right_one_is(content):
    with pytest.raises(
        InputError, match=r"the file x is not a run that e-fold exported.*Run as JS"
    ):
        read_run(content, "x")


def test_a_number_that_is_none_is_named():
    text = exported(finished(SCORES)).replace(b'"score": 0.34', b'"score": NaN', 1)
    with pytest.raises(InputError, match=r"folds\[1\].score must be .*, but is nan"):
        read_run(text, "run.json")


def test_a_huge_file_is_refused_unread():
    with pytest.raises(InputError, match="too much for a run"):
        read_run(b" " * (limits.MAX_RUN_BYTES + 1), "run.json")
