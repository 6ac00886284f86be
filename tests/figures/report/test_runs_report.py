"""A report of several runs: sums, order and tests by values worked out by hand."""

import csv
import io
import re
from dataclasses import replace

import pytest

from ecv_core.analysis.comparison.paired_runs import comparisons_with_best
from ecv_core.figures.report import runs_table
from ecv_core.figures.report.runs_content import runs_content, sums_of
from ecv_core.figures.report.runs_pdf import runs_pdf
from ecv_core.figures.report.runs_report import runs_csv, runs_html
from ecv_core.figures.report.runs_table import rows_of_runs, runs_latex

MADE_WITH = {"e_fold": "0.1.0"}


@pytest.fixture
def named_run(a_run):
    """Makes runs with ids of their own; each fold is 36 J, of which 20 are memory's, and 0.5 g."""

    def make(run_id, scores=(0.3, 0.32, 0.34), **settings):
        return replace(a_run(scores, **settings), run_id=run_id)

    return make


def test_of_each_dataset_the_best_comes_first_and_alone_nobody_is_best(named_run):
    runs = [
        named_run("elsewhere", dataset="ml-100k"),
        named_run("worse", algorithm="popular"),
        named_run("best", (0.4, 0.42, 0.441)),
    ]
    rows = rows_of_runs(runs)
    assert [row.run.run_id for row in rows] == ["best", "worse", "elsewhere"]
    assert [row.is_best for row in rows] == [True, False, False]
    # Differences are 0.1, 0.1 and 0.101, so the test over folds, which they have alone, is sure.
    assert [row.cells["p"] for row in rows] == ["", "<0.001", ""]


def test_lower_is_better_where_the_metric_says_so(named_run):
    settings = {"dataset": "ml-100k", "metric": "rmse"}
    runs = [
        named_run("high", (0.9, 0.92), stopped_at=None, algorithm="biased-als", **settings),
        named_run("low", (0.8, 0.85), stopped_at=None, algorithm="bias", **settings),
    ]
    assert [row.run.run_id for row in rows_of_runs(runs)] == ["low", "high"]


def test_runs_whose_folds_are_not_the_same_are_not_tested(named_run):
    rows = rows_of_runs([named_run("a", (0.4, 0.42, 0.43)), named_run("b", seed=7)])
    assert [row.cells["p"] for row in rows] == ["", "-"]


def test_sums_are_those_of_the_runs(named_run):
    sums = sums_of([named_run("a"), named_run("b", dataset="ml-100k")])
    assert (sums.runs, sums.folds) == (2, 6)
    assert sums.used == pytest.approx((6 * 16, 6 * 36))
    assert sums.grams_co2e == pytest.approx(3)
    assert 0 < sums.saved[0] < sums.saved[1]


def test_a_fold_that_two_runs_use_is_counted_once(named_run):
    # Of 3 folds of 36 J, run b has used the first two again; only its third is its own.
    first = named_run("a")
    again = named_run("b", alpha=0.01)
    folds = [replace(fold, reused=fold.fold < 2) for fold in again.folds]
    again = replace(again, folds=tuple(folds))
    for runs in ([first, again], [again, first]):
        sums = sums_of(runs)
        assert sums.folds == 4
        assert sums.used == pytest.approx((4 * 16, 4 * 36))
        assert sums.grams_co2e == pytest.approx(4 * 0.5)
        # 4 x 16 J are 18 mWh, 4 x 36 J 40 mWh.
        content = runs_content(runs, groups={}, made_with=MADE_WITH)
        assert "The 4 folds that ran used 18 to 40 mWh" in content.conclusion
        assert "counted once" in content.energy
    assert sums_of([again]).folds == 3  # without the run that they are of, they count here


def test_a_report_sums_by_person_and_escapes_what_people_write(named_run):
    runs = [named_run("a"), named_run("b", dataset="ml-100k")]
    groups = {"person": {"a": "<b>Ann</b>"}}
    text = runs_html(runs_content(runs, groups=groups, made_with=MADE_WITH))
    assert "Energy by person" in text
    assert "<td>&lt;b&gt;Ann&lt;/b&gt;</td><td>1</td><td>3</td>" in text
    assert "<td>-</td><td>1</td><td>3</td>" in text  # whoever started the other is not known
    assert "<b>Ann" not in text
    assert "<script" not in text


def test_a_figure_has_the_interval_of_the_table(named_run):
    runs = [named_run("a"), named_run("b", (0.4, 0.42, 0.46)), named_run("c", dataset="ml-100k")]
    content = runs_content(runs, groups={}, made_with=MADE_WITH)
    assert len(content.pictures) == 2
    drawn = {}
    for picture in content.pictures:
        for trace in picture.make().data:
            if trace.error_x.array is not None:
                for facts, half_width in zip(trace.customdata, trace.error_x.array, strict=True):
                    drawn[facts[0]] = f"± {half_width:.4f}"
    assert drawn == {row.name: row.cells["These folds"] for row in content.rows}


def test_each_pair_of_runs_is_tested_once(named_run, monkeypatch):
    compared = []

    def counted(best, runs):
        compared.append([run.run_id for run in runs])
        return comparisons_with_best(best, runs)

    monkeypatch.setattr(runs_table, "comparisons_with_best", counted)
    runs = [named_run("a"), named_run("b", algorithm="popular")]
    runs_html(runs_content(runs, groups={}, made_with=MADE_WITH))
    assert compared == [["a", "b"]]


def test_a_pdf_has_pages_and_takes_any_text(named_run):
    runs = [named_run(f"{number}", seed=number) for number in range(40)]
    groups = {"person": {"1": "Žofie (<b>) \u202e 李"}}
    content = runs_content(runs, groups=groups, made_with=MADE_WITH)
    pdf = runs_pdf(content)
    assert pdf.startswith(b"%PDF-")
    pages = re.findall(rb"/Type /Page\b", pdf)
    assert len(pages) >= 3  # 40 runs are more than a page of the table
    assert len(re.findall(rb"/FontFile2", pdf)) >= 2  # the fonts are inside


def test_a_sum_of_energy_that_nobody_measured_is_not_zero_but_not_known(named_run):
    runs = [named_run("a", source="none"), named_run("b", source="none", dataset="ml-100k")]
    content = runs_content(runs, groups={"person": {"a": "Ada"}}, made_with=MADE_WITH)
    values = {number.name: number.value for number in content.numbers}
    assert values["Folds run"] == "6 of 20"
    for name in ("Energy used", "Energy saved by stopping", "Emissions"):
        assert values[name] == "-"
    _of_nobody, of_ada = content.sums[0].rows
    assert of_ada == ("Ada", "1", "3", "-", "-", "-")


def test_a_sum_that_lacks_the_energy_of_a_run_does_not_pass_for_that_of_all(named_run):
    runs = [named_run("a"), named_run("b", source="none", dataset="ml-100k")]
    assert sums_of(runs).energy_cells == ("-", "-", "-")


def test_csv_has_a_row_per_run_in_si_units(named_run):
    text = runs_csv([named_run("a"), named_run("b", dataset="ml-100k")])
    rows = {row["run_id"]: row for row in csv.DictReader(io.StringIO(text))}
    assert float(rows["a"]["joules"]) == 108
    assert float(rows["a"]["joules_low"]) == 48
    assert (rows["b"]["dataset"], rows["b"]["folds_used"]) == ("ml-100k", "3")


def test_what_is_not_known_of_a_run_is_no_number_of_the_table(named_run):
    runs = [named_run("a", (0.4, 0.42, 0.43)), named_run("b", seed=7, source="none", stopped_at=2)]
    metered, unmetered = csv.DictReader(io.StringIO(runs_csv(runs)))
    assert (metered["p_holm"], unmetered["p_holm"]) == ("", "")  # the folds are not the same
    assert float(metered["grams_co2e"]) == 1.5
    assert unmetered["energy_source"] == "none"
    for name in ("joules", "joules_low", "joules_high", "saved_joules_low", "grams_co2e"):
        assert unmetered[name] == ""
    _, row = rows_of_runs(runs)
    assert (row.cells["Energy"], row.cells["Saved"]) == ("-", "-")


def test_a_table_for_a_paper_has_the_best_in_bold(named_run):
    best = named_run("best", (0.4, 0.41, 0.42))
    text = runs_latex([named_run("worse", algorithm="popular"), best])
    lines = [line for line in text.splitlines() if "Synthetic" in line]
    assert r"\textbf{0.4100}" in lines[0]
    assert "textbf" not in lines[1]
