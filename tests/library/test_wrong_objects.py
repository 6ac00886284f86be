"""Objects of a wrong kind: one sentence that names the argument, the value and what is accepted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import ecv_core as ecv
from ecv_core.records.errors import InputError

TABLE = pd.DataFrame({"user_id": [1, 2], "item_id": [1, 2]})
DATA, MODELS = "synthetic", ["ease", "popular"]
WRONG = [
    (lambda: ecv.evaluate(3, "popular"), "data of the type int cannot be used; give a dataset's"),
    (lambda: ecv.evaluate(DATA, None), "a model of the type NoneType cannot be used; give the id"),
    (lambda: ecv.evaluate(DATA, "popular", rule=3), "the rule is 3, which cannot decide; give"),
    (lambda: ecv.evaluate(DATA, "popular", params=[1]), "params of evaluate is a dict, but is [1]"),
    (lambda: ecv.evaluate(DATA, "popular", on=3), "on of evaluate is text or None, but is 3"),
    (lambda: ecv.evaluate(DATA, "popular", on_fold=3), "on_fold of evaluate is a function, but"),
    (lambda: ecv.evaluate(DATA, "popular", n=[1]), "n of evaluate is a whole number, but is [1]"),
    (lambda: ecv.evaluate(DATA, "popular", k="x"), "k must be a whole number, but is 'x'"),
    (lambda: ecv.track(3, dataset=DATA), "name of track is text, but is 3"),
    (lambda: ecv.select(DATA, "ease"), "contenders of select is a list, but is 'ease'"),
    (lambda: ecv.select(DATA, [3, 4]), "a model of the type int cannot be used"),
    (lambda: ecv.select(DATA, MODELS, until="x"), "is one of 'winner', 'order', but is 'x'"),
    (lambda: ecv.select(DATA, MODELS, until=np.array(["x", "y"])), "is one of 'winner', 'order'"),
    (lambda: ecv.tune(DATA, 3), "a model of the type int cannot be tuned"),
    (lambda: ecv.tune(DATA, "ease", {"x": 5}), "space of tune is text, a dict or None, but is"),
    (lambda: ecv.tune(DATA, "ease", budget=1.5), "is a whole number or None, but is 1.5"),
    (lambda: ecv.study(DATA, ["ease"]), "datasets of study is a list, but is 'synthetic'"),
    (lambda: ecv.study(np.array(DATA), MODELS), "datasets of study is a list, but is array("),
    (lambda: ecv.study([DATA], [3]), "a model of the type int cannot be used; give"),
    (lambda: ecv.study([DATA], MODELS, rule=3), "the rule is 3, which cannot decide; give"),
    (lambda: ecv.orders("abc", "never"), "scores of orders is a list (each a number), an ndarray"),
    (lambda: ecv.orders([[1, 2], [3, 4]], "never"), "but is [[1, 2], [3, 4]]"),
    (lambda: ecv.orders([1, 2, 3], 3), "the rule is 3, which cannot decide; give"),
    (lambda: ecv.report(ecv.runs()), "there are no runs to report"),
    (lambda: ecv.runs(since="today"), "since of runs is a date or None, but is 'today'"),
    (lambda: ecv.power("ml-100k", "ease", pairs=3), "pairs of power is one of 'all', '25', but is"),
    (lambda: ecv.split(DATA, k="x"), "k of split is a whole number or None, but is 'x'"),
    (lambda: ecv.metrics(3, 4, 5), "train of metrics is a csr_array or a csr_matrix, but is 4"),
    (lambda: ecv.fold_matrices(3, 4, 5), "is an Interactions, but is 3"),
    (lambda: ecv.add(TABLE, 3), "name of add is text, but is 3"),
    (lambda: ecv.Data.from_frame(3), "data of the type int cannot be used"),
    (lambda: ecv.figure(3, "efold", "f.pdf"), "run of figure is a Run or text, but is 3"),
    (lambda: ecv.figure("study", "x", "f.pdf"), "kind of figure is one of 'efold'"),
    (lambda: ecv.register_rule(3), "but 3 has none"),
    (lambda: ecv.EFold(alpha=-1), "alpha of EFold is a number from 0 on, but is -1"),
    (lambda: ecv.EFold(alpha="x"), "alpha of EFold is a number from 0 on, but is 'x'"),
    (lambda: ecv.EFold(alpha=float("nan")), "alpha of EFold is a number from 0 on, but is nan"),
    (lambda: ecv.EFold(alpha=1, confidence=2), "the confidence must be between 0 and 1, but is 2"),
    (lambda: ecv.Precision(tolerance=-1), "tolerance of Precision is a number from 0 on, but is"),
    (lambda: ecv.Fixed(folds=2.5), "folds of Fixed is a whole number from 1 on, but is 2.5"),
    (lambda: ecv.StdStagnation(min_folds=0), "is a whole number from 1 on, but is 0"),
]


@pytest.mark.parametrize(("call", "said"), WRONG, ids=[said for _, said in WRONG])
def test_a_wrong_object_is_one_sentence_and_nothing_is_stored(call, said):
    with pytest.raises(InputError) as refused:
        call()
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not len(ecv.runs())


def test_a_rule_is_a_name_or_an_instance_in_a_study_too(range_of_two):
    runs = ecv.study(["synthetic"], ["popular"], rule=ecv.Fixed(folds=2), k=3)
    assert [run.stopped_at for run in runs] == [2]
    with pytest.raises(InputError, match=r"a study names its rule, .* ecv.register_rule"):
        ecv.study(["synthetic"], ["popular"], rule=range_of_two)


def test_a_table_of_runs_for_a_paper_has_the_interval_for_new_data_first():
    run = ecv.evaluate("synthetic", "popular", k=3, rule="never")
    half = run.mean_interval[1] - run.mean
    low, high = run.new_data_interval
    ends = f"{low:.4f} to {high:.4f}"
    text = ecv.runs().latex(caption="50 % of them", label="all")
    assert r"Dataset & Algorithm & nDCG@10 & New data & These folds & p & Folds & " in text
    row = rf"Synthetic & Popularity & {run.mean:.4f} & {ends} & $\pm$ {half:.4f} &  & 3 of 3 & "
    assert row in text
    assert f"new users {ends}; ± {half:.4f} over" in repr(run)
    assert r"50 \% of them" in text


def test_a_figure_is_a_file_as_the_command_writes_it(tmp_path):
    run = ecv.evaluate("synthetic", "popular", k=3, rule="never")
    said = ecv.figure(run, "efold", tmp_path / "f.svg")
    assert said.startswith("Popularity on Synthetic")
    assert (tmp_path / "f.svg").read_text().startswith("<?xml")
    ecv.figure(run.run_id, "stops", tmp_path / "f.png", alpha=1e-3)
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")
