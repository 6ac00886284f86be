"""For a paper: what it would say of a run, a comparison, a study, an advice and a selection."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ecv_core.analysis.tradeoff.decision import decide, fixed_folds
from ecv_core.figures.report.advice import (
    acceptable_difference_sentence,
    checked_sentence,
    decision_sentence,
    options_frame,
)
from ecv_core.figures.report.describe import (
    as_text,
    describe_advice,
    describe_runs,
    describe_selection,
    describe_study,
    rule_sentence,
)
from ecv_core.figures.report.latex import (
    PAPER,
    escaped,
    key_of,
    latex_table,
    short_citation,
    software,
)
from ecv_core.figures.report.race import ContenderRace
from ecv_core.records.errors import InputError
from ecv_core.records.run import Reading, Scores
from ecv_core.selection.replay import select_in_order
from ecv_core.selection.rounds import Terms

MADE_WITH = {"e_fold": "0.1.0", "python": "3.11.7", "packages": {"torch": "2.13.0"}}


def test_a_run_says_data_filter_split_metric_rule_interval_result_energy_and_versions(a_run):
    # Scores 0.30, 0.32, 0.34: mean 0.32, s 0.02, t(0.975, 2) = 4.3027, half 4.3027*0.02/sqrt(3).
    run = a_run(dataset="ml-100k", algorithm="popular")
    text = describe_runs([run], MADE_WITH).methods
    for words in (
        "MovieLens 100K (Harper and Konstan, 2015) (943 users, 1,349 items, 99,287 interactions)",
        "fewer than five interactions were removed repeatedly",
        "k = 10 folds with the strategy 'Per user, evenly' (random seed 42)",
        "The score was nDCG@10, with binary relevance, the discount 1/log2(rank + 1)",
        "c_n * |c_(n-1) - c_n| <= alpha with alpha = 1e-4",
        "(Student's t with n - 1 degrees of freedom); this is e-fold cross-validation "
        "(Baumgart et al., 2024)",
        "Stopped after 3 of 10 folds: the mean, 0.3200, ",
        "95 % interval of these folds: 0.2703 to 0.3697 (± 0.0497, Student's t over 3 folds)",
        "95 % interval of these folds that allows for the stop: 0.2157 to 0.4243",
        # 3 folds of 36 J are 30 mWh; 7 saved ones 70 mWh of 100, 31 of them
        # the processor's, less 30 % or more.
        "used 13 to 30 mWh (estimated from the processor's load",
        "which is at most 1.5 g CO2e with the electricity of Germany",
        "Stopping saves 22 to 91 mWh (about 70 % of all folds), a forecast: a fold that did "
        "not run is counted as between 30 % less than the cheapest and 30 % more than the most "
        "expensive",
        "(with 3 folds run, this held in 95 % of the recorded runs)",
        "e-fold 0.1.0, Python 3.11.7, torch 2.13.0",
    ):
        assert words in text


def test_emissions_may_be_higher_where_a_meter_was_not_read_all_the_time(a_run):
    run = a_run()
    reading = Reading(meter="plug", source="plug", joules=36, low_joules=18, high_joules=72)
    folds = []
    for fold in run.folds:
        energy = replace(fold.energy, source="plug", joules=36, readings=(reading,))
        folds.append(replace(fold, energy=energy))
    text = describe_runs([replace(run, folds=tuple(folds))], MADE_WITH).methods
    assert "used 15 to 60 mWh" in text
    assert "which is about 1.5 g CO2e" in text


def test_the_same_folds_are_claimed_only_where_every_algorithm_has_every_dataset(a_run):
    runs = [
        a_run(dataset="ml-100k", algorithm="popular"),
        a_run(dataset="ml-100k", algorithm="item-knn"),
        a_run(dataset="ml-1m", algorithm="popular"),
        a_run(dataset="ml-1m", algorithm="item-knn"),
    ]
    claim = "All algorithms were evaluated on the same folds."
    assert claim in describe_runs(runs, MADE_WITH).methods
    assert claim in describe_runs(runs[:2], MADE_WITH).methods
    assert claim not in describe_runs(runs[:3], MADE_WITH).methods
    # Each algorithm has a dataset of its own, so that none is compared with another.
    assert claim not in describe_runs([runs[0], runs[3]], MADE_WITH).methods


def test_each_dataset_has_the_size_that_its_own_task_needs(a_run):
    lists = a_run(dataset="ml-100k", algorithm="popular")
    ratings = a_run(dataset="ml-1m", algorithm="bias", metric="rmse")
    text = describe_runs([lists, ratings], MADE_WITH).methods
    # Counts of data/catalogue.toml: of ml-100k after its 5-core, of ml-1m of all ratings.
    assert "(943 users, 1,349 items, 99,287 interactions)" in text
    assert "(6,040 users, 3,706 items, 1,000,209 ratings)" in text


def test_a_run_that_went_on_says_how_far_the_stop_was_from_the_end(a_run):
    run = a_run((0.3, 0.32, 0.34, 0.36), stopped_at=3, k=4, full=True)
    text = describe_runs([run], MADE_WITH).methods
    # 0.32 against 0.33: 0.01 / 0.325 = 3.08 %
    assert "the mean of all 4 folds is 0.3300, a difference of 3.08 %" in text
    assert (
        "Stopping saves 4.4 to 10 mWh (25 % of all folds), the energy that the folds after" in text
    )


def test_energy_that_was_not_metered_is_not_made_up(a_run):
    assert "Energy was not measured." in describe_runs([a_run(source="none")], MADE_WITH).methods


def test_runs_recorded_beside_other_work_are_left_out_of_the_sum(a_run):
    runs = [a_run(), replace(a_run(algorithm="popular"), other_work="the machine was busy")]
    text = describe_runs(runs, MADE_WITH).methods
    assert "1 of 2 runs is left out of the sums of energy" in text
    # 3 folds of 36 J, 16 J without memory, of the one run that was alone
    assert "The 3 folds of the other run used 13 to 30 mWh" in text
    assert "other work" not in describe_runs(runs[:1], MADE_WITH).methods
    assert "energy of this run is too high" in describe_runs(runs[1:], MADE_WITH).methods


@pytest.mark.parametrize(
    ("rule", "settings", "words"),
    [
        ("fixed", {"min_folds": 3}, "The first 3 folds of 10 were evaluated"),
        ("never", {}, "All folds were evaluated"),
        ("precision", {"tolerance": 0.03}, "reached at most 3 % of the mean to either side"),
        ("std-stagnation", {}, "Evaluation was stopped by the rule"),
    ],
)
def test_every_rule_is_described(a_run, rule, settings, words):
    assert words in rule_sentence([a_run(rule=rule, **settings).spec])


def test_bibtex_has_the_paper_the_software_and_each_datas_entry_once(a_run):
    runs = [
        a_run(dataset=dataset, algorithm=algorithm)
        for dataset in ("ml-100k", "hetrec-lastfm")
        for algorithm in ("popular", "item-knn")
    ]
    entries = describe_runs(runs, MADE_WITH).bibtex
    for key in ("baumgart2024efold", "{efold,", "harper2015movielens", "cantador2011hetrec"):
        assert entries.count(key) == 1


def test_in_latex_names_are_escaped_and_sources_cited(a_run):
    found = describe_runs([a_run(dataset="ml-100k", algorithm="item-knn")], MADE_WITH)
    assert r"MovieLens 100K~\cite{harper2015movielens}" in found.latex
    assert r"$c_n \cdot |c_{n-1} - c_n| \le \alpha$" in found.latex
    assert r"95 \% confidence interval" in found.latex
    plain = found.latex.replace(r"\%", "")
    assert "%" not in plain


@pytest.mark.parametrize(
    ("seeds", "words"),
    [((7, 7), "seed 7"), ((2, 0, 1), "seeds 0 to 2"), ((8, 1, 7), "seeds 1, 7 and 8")],
)
def test_splits_that_differ_in_their_seed_alone_are_told_once(a_run, seeds, words):
    text = describe_runs([a_run(seed=seed) for seed in seeds], MADE_WITH).methods
    assert f"(random {words})" in text
    assert text.count("The data was split") == 1


def test_a_comparison_is_a_table_of_runs(a_run):
    found = describe_runs([a_run(), a_run(algorithm="popular", rule="never")], MADE_WITH)
    assert found.table.count(r"\\") == 3
    assert (
        r"Synthetic & Popularity & 0.3200 & - & $\pm$ 0.0497 & 1.000 & 3 of 10 & Never stop & "
        in found.table
    )
    assert "All algorithms were evaluated on the same folds" in found.methods


def test_a_study_says_the_means_of_its_cells(a_run):
    cells = pd.DataFrame(
        {
            "alpha": [1e-4, 1e-4, 1e-3],
            "dataset": ["synthetic"] * 3,
            "algorithm": ["item-knn", "popular", "popular"],
            "difference_percent": [1.0, 3.0, 9.0],
            "mean_stop": [4.0, 5.0, 3.0],
            "energy_percent": [40.0, 50.0, 30.0],
            "k_fold_mean": [0.3, 0.2, 0.2],
        }
    )
    found = describe_study(cells, [a_run(), a_run(algorithm="popular")], MADE_WITH, alpha=1e-4)
    assert "4.50 folds and 45.0 % of the energy" in found.methods
    assert "differed from that of all folds by 2.00 %" in found.methods
    assert r"Synthetic & Popularity & 0.2000 & 5.00 & 3.00 & 50.0 \\" in found.table


def system(folds=(10.0, 20.0, 30.0), dataset="d"):
    return Scores(name="s", dataset=dataset, metric="m", folds=np.array(folds))


def decided(systems, limit, share, *more):
    fixed = fixed_folds(systems, within_percent=limit)
    return decide(systems, [fixed, *more], within_percent=limit, share=share)


def test_the_sentence_of_the_decision():
    # Two folds of 10, 20, 30 end at most 28.57 % away; see test_decision.
    assert decision_sentence(decided([system()], 30, 1.0), cost="folds") == (
        "On these data, to end at most 30 % from the 3-fold mean in every order: 2 folds (67 % "
        "of the folds)."
    )
    assert decision_sentence(decided([system()], 40, 0.5), cost="energy") == (
        "On these data, to end at most 40 % from the 3-fold mean in 50 % of orders: 1 fold "
        "(33 % of the energy)."
    )


def test_where_nothing_keeps_it_the_sentence_says_so_and_what_would():
    found = decided([system()], 5, 0.95)
    assert decision_sentence(found, cost="energy") == (
        "On these data, to end at most 5 % from the 3-fold mean in 95 % of orders: all 3 folds. No "
        "rule keeps this promise with fewer."
    )
    assert acceptable_difference_sentence(found) == (
        "With an acceptable difference of 28.6 %, 2 folds would be enough."
    )
    assert acceptable_difference_sentence(decided([system()], 30, 0.95)) == ""


def test_what_it_was_tuned_and_checked_on_is_said():
    assert "chosen and judged on the same run" in checked_sentence(decided([system()], 30, 1.0))
    # it goes into papers, so it states what is known and tells nobody to do anything
    assert checked_sentence(decided([system()], 30, 1.0)).endswith(
        ". With only one dataset, whether it keeps the promise on others is not known."
    )
    three = [system(dataset=name) for name in "abc"]
    assert checked_sentence(decided(three, 30, 1.0)) == (
        "The setting was chosen and judged on the same 3 runs. It keeps the promise on average "
        "over these runs, and on each of them. As a check, the setting was also chosen for each "
        "dataset on all other datasets: chosen this way, it kept the promise on 3 of 3 datasets."
    )
    assert "nothing to check" in checked_sentence(decided([system()], 5, 0.95))


def test_the_table_of_options_gives_the_risk():
    # At 25 % and two thirds of orders: two folds, and a third of the orders ends further away.
    frame = options_frame(decided([system()], 25, 2 / 3))
    assert frame["setting"].tolist() == ["2 folds", ""]
    assert frame["risk"].tolist() == pytest.approx([100 / 3, 0])
    assert frame["cost"].tolist() == pytest.approx([200 / 3, 100])


def test_an_advice_on_a_file_describes_no_data_and_claims_no_scores():
    asked = decided([system(dataset="mine.csv")], 30, 1.0)
    found = describe_advice(asked, [], MADE_WITH, cost="folds")
    assert found.methods.startswith(
        "The scores of 1 system with 3 folds each were computed by other software and read from "
        "the file 'mine.csv'. The outcome of a rule was worked out exactly"
    )
    assert found.methods.endswith(
        "The analysis was done with e-fold (the e-fold maintainers, 2026) (e-fold 0.1.0, Python "
        "3.11.7)."
    )
    assert r"Fixed number & 2 folds & 2.0 & 67 & 0.0" in found.table
    assert "harper" not in found.bibtex


def test_scores_that_other_code_reported_are_not_said_to_be_ours(a_run):
    ours, theirs = a_run(), a_run()
    theirs = replace(theirs, spec=replace(theirs.spec, algorithm="mine", tracked=True))
    assert "The analysis was done with e-fold" in describe_runs([theirs], MADE_WITH).methods
    both = describe_runs([ours, theirs], MADE_WITH).methods
    assert "were computed by code outside e-fold, which reported their scores" in both
    assert "The other scores were computed with e-fold" in both


def test_versions_that_differ_or_are_not_known_are_said_so(a_run):
    several = describe_runs([a_run()], {"machine": "2 different ones"}).methods
    assert "(in several versions, which each run's JSON names)" in several
    assert "(in a version that was not recorded)" in describe_runs([a_run()], {}).methods


def contender(name, *folds):
    return Scores(name=name, folds=np.array(folds))


def test_a_selection_from_a_file_says_its_question_its_answer_and_whose_scores_they_are():
    # A is 0.4 above B in every fold; means of 0.6 to 0.9 and of 0.2 to 0.5 are 0.75 and 0.35.
    two = [contender("A", 0.6, 0.7, 0.8, 0.9), contender("B_1", 0.2, 0.3, 0.4, 0.5)]
    terms = Terms(k=4, until="order")
    race = ContenderRace(contenders=two, terms=terms, result=select_in_order(two, terms, range(4)))
    found = describe_selection(race, MADE_WITH, file="mine.csv")
    assert found.methods == (
        "The scores of 2 systems with 4 folds each were computed by other software and read from "
        "the file 'mine.csv'. All folds were there; the selection was replayed on them, in their "
        "order. To find out which contender is best, we evaluated 2 contenders on the same folds, "
        "each until the place of every contender by the mean of all 4 folds was known with 95 % "
        "confidence for all interim looks together (8 of 8 folds). We chose A. We make no claim "
        "about the difference between A and B_1 on new data. The mean score of A over 4 "
        "folds is 0.7500. No interval for new "
        "users: not every fold has the scores of individual users. The analysis was done "
        "with e-fold (the e-fold maintainers, 2026) (e-fold 0.1.0, Python 3.11.7)."
    )
    assert r"A & 0.7500 & 4 of 4 & best \\" in found.table
    assert r"B\_1 & 0.3500 & 4 of 4 & no difference shown \\" in found.table
    assert "harper" not in found.bibtex


def test_a_selection_of_runs_names_data_metric_and_versions(a_run):
    two = [a_run(dataset="ml-100k"), a_run(dataset="ml-100k", algorithm="popular")]
    scores = [contender("item-knn", 0.6, 0.6), contender("popular", 0.2, 0.2)]
    terms = Terms(k=2, expected_loss=0.01)
    result = replace(
        select_in_order(scores, terms, range(2)), joules=3600.0, joules_of_all_folds=7200.0
    )
    race = ContenderRace(
        contenders=scores, terms=terms, result=result, specs=[run.spec for run in two]
    )
    found = describe_selection(race, MADE_WITH, replayed=False)
    for words in (
        "MovieLens 100K (Harper and Konstan, 2015)",
        "To find out which contender to use",
        "These folds used 1 Wh; all folds of all contenders take about 2 Wh.",
        "Scores were computed with e-fold (the e-fold maintainers, 2026) (e-fold 0.1.0, Python "
        "3.11.7, torch 2.13.0).",
    ):
        assert words in found.methods
    assert "replayed" not in found.methods
    assert r"Contender & nDCG@10 & Folds & Verdict \\" in found.table
    assert "harper2015movielens" in found.bibtex


def test_a_selection_gives_the_range_of_its_energy_as_a_run_does(a_run):
    scores = []
    for name, value in (("item-knn", 0.6), ("popular", 0.2)):
        folds = a_run(dataset="ml-100k").folds[:2]  # each 36 J, 20 of them of memory
        joules = np.array([36.0, 36.0])
        scores.append(replace(contender(name, value, value), results=folds, joules=joules))
    terms = Terms(k=2, expected_loss=0.01)
    result = select_in_order(scores, terms, range(2))
    race = ContenderRace(contenders=scores, terms=terms, result=result)
    # 16 J are 4.4 mWh, 36 J are 10 mWh.
    assert sum(result.folds_used) == 4
    text = describe_selection(race, MADE_WITH).methods
    assert "These folds used 18 to 40 mWh; all folds of all contenders take about 18 to 40" in text


@pytest.mark.parametrize(
    ("entry", "key", "words"),
    [
        (PAPER, "baumgart2024efold", "Baumgart et al., 2024"),
        (software(), "efold", "the e-fold maintainers, 2026"),
        ("@book{a1,\n author = {Ada Lovelace},\n year = {1843}\n}", "a1", "Lovelace, 1843"),
        ("@misc{data, title = {The data}}", "data", "The data"),
    ],
)
def test_how_text_names_an_entry(entry, key, words):
    assert (key_of(entry), short_citation(entry)) == (key, words)


def test_special_characters_are_escaped():
    assert escaped(r"50 % of a_b & {c} #1 $ ~ ^ \ < > |") == (
        r"50 \% of a\_b \& \{c\} \#1 \$ \textasciitilde{} \textasciicircum{} \textbackslash{} "
        r"\textless{} \textgreater{} \textbar{}"
    )


@pytest.mark.parametrize("label", ["", "a}b", "a\nb", "a\\b", "a b"])
def test_a_label_that_would_end_the_command_is_refused(label):
    with pytest.raises(InputError, match="label"):
        latex_table(["a"], [["1"]], caption="c", label=label)


def test_a_text_of_several_lines_is_set_in_one():
    table = latex_table(["a"], [["x\n\ny"]], caption="one\n\ntwo", label="t")
    assert r"\caption{one  two}" in table
    assert r"x  y \\" in table


def test_a_latex_table_sets_numbers_right():
    table = latex_table(["a_b", "n"], [["x & y", "1.5"], ["z", "20"]], caption="50 %", label="t")
    assert r"\begin{tabular}{lr}" in table
    assert r"a\_b & n \\" in table
    assert r"x \& y & 1.5 \\" in table
    assert r"\caption{50 \%}" in table


def test_folds_that_overlap_are_said_with_what_corrects_the_interval(a_run):
    plain = a_run().spec
    # Five folds dealt four times: held-out over training rows is 1/4.
    repeated = replace(plain, overlap=0.25)
    assert "overlap" not in rule_sentence([plain])
    assert "times 1/n + 0.25, as folds that overlap" in as_text(rule_sentence([repeated]))
