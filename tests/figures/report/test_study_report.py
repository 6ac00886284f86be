"""The report of a study: headline by hand, every cell once, names escaped."""

import pandas as pd
import pytest

from ecv_core.figures.report.study_report import study_report

CELLS = pd.DataFrame(
    {
        "alpha": [1e-4, 1e-4, 1e-3],
        "dataset": ["synthetic", "<b>ml</b>", "synthetic"],
        "algorithm": ["item-knn", "popular", "item-knn"],
        "difference_percent": [1.0, 2.0, 9.0],
        "mean_stop": [3.5, 4.5, 3.0],
        "energy_percent": [30.0, 50.0, 30.0],
        "k_fold_mean": [0.32, 0.21, 0.32],
    }
)


def test_the_headline_is_the_mean_of_the_cells_at_this_alpha(a_run, known):
    report = study_report(CELLS, [a_run()], known, alpha=1e-4)
    assert "uses 4.00 folds and 40.0 % of the energy on average" in report
    assert "the score differs from that of all folds by 1.50 %" in report
    assert "paper 1.81 %" in report
    assert "9.00" not in report


def test_every_cell_is_in_the_table_with_the_energy_of_its_run(a_run, known):
    report = study_report(CELLS, [a_run()], known, alpha=1e-4)
    assert "<td>synthetic</td><td>item-knn</td><td>0.3200</td><td>3.50</td>" in report
    assert "<td>30 mWh</td>" in report  # 3 folds of 36 J
    assert report.count("python -m ecv_core run") == 1  # there is one run, of two cells


def test_names_are_text(a_run, known):
    report = study_report(CELLS, [], known, alpha=1e-4, title="<i>mine</i>")
    assert "<b>ml" not in report
    assert "<i>mine" not in report
    assert "&lt;b&gt;ml&lt;/b&gt;" in report
    assert "No energy was recorded" in report


def test_an_alpha_that_was_not_worked_out_is_refused(known):
    with pytest.raises(ValueError, match=r"alpha 0\.5"):
        study_report(CELLS, [], known, alpha=0.5)
