"""`import` and `report`: a run from one database is carried to another and printed."""

import json
from dataclasses import replace

import pytest

from ecv_core import cli
from ecv_core.store.schema import runs
from ecv_core.store.store import open_store


@pytest.fixture
def exported(tmp_path, capsys):
    target = tmp_path / "run.json"
    arguments = ["run", "synthetic", "popular", "-k", "3", "--rule", "never", "--json", str(target)]
    assert cli.main(arguments) == 0
    capsys.readouterr()
    return target


@pytest.fixture
def another_database(exported, tmp_path, monkeypatch):
    """Uses another database from here on."""
    monkeypatch.setenv("ECV_DATABASE_URL", f"sqlite:///{tmp_path / 'other.sqlite'}")


def test_a_run_goes_from_one_database_to_another(exported, another_database, capsys):
    run_id = json.loads(exported.read_text())["run_id"]
    assert cli.main(["import", str(exported)]) == 0
    assert capsys.readouterr().out == f"{run_id}: popular on synthetic is imported\n"
    scores = [fold["score"] for fold in json.loads(exported.read_text())["folds"]]
    assert [fold.score for fold in open_store().run(run_id).folds] == scores
    assert cli.main(["import", str(exported)]) == 0
    assert "is here already" in capsys.readouterr().out


def test_a_report_is_written_where_it_was_asked_for(exported, tmp_path, capsys):
    run_id = json.loads(exported.read_text())["run_id"]
    target = tmp_path / "report.html"
    assert cli.main(["report", run_id, "-o", str(target)]) == 0
    text = target.read_text()
    assert "<h1>Popularity on Synthetic</h1>" in text
    assert "python -m ecv_core run synthetic popular --rule never -k 3" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["import", "missing.json"], "missing.json cannot be read"),
        (["import", "."], "cannot be read"),
        (["report", "nothing"], "there is no run 'nothing'"),
        (["report", "x", "-o", "no/such/folder.html"], "does not exist"),
        (["report"], "RUN ..."),
        (["report", "--since", "2026-13-01"], "'2026-13-01' is no day of the calendar"),
        (["report", "ml-100k--popular", "--tag", "thesis"], "in one way"),
    ],
)
def test_a_mistake_is_one_line(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(arguments) == 2
    output = capsys.readouterr()
    assert words in output.err
    assert output.err.count("\n") == 1


def test_a_foreign_file_is_one_line(tmp_path, capsys):
    file = tmp_path / "cake.json"
    file.write_text("{}")
    assert cli.main(["import", str(file)]) == 2
    assert "cake.json" in capsys.readouterr().err


def test_a_report_is_of_all_runs_of_a_time_or_of_several(exported, tmp_path, capsys):
    assert cli.main(["run", "synthetic", "item-knn", "-k", "3", "--rule", "never", "-q"]) == 0
    ids = [run.run_id for run in open_store().runs()]
    page, table, numbers = (tmp_path / f"report.{ending}" for ending in ("html", "tex", "csv"))
    assert cli.main(["report", "--since", "2020-01-01", "-o", str(page)]) == 0
    assert f"<h1>{len(ids)} runs of e-fold cross-validation</h1>" in page.read_text()
    assert cli.main(["report", *ids, "-o", str(table)]) == 0
    assert table.read_text().count("Synthetic &") == len(ids)
    assert cli.main(["report", *ids, "-o", str(numbers)]) == 0
    assert len(numbers.read_text().splitlines()) == len(ids) + 1
    assert cli.main(["report", "--until", "2020-01-01"]) == 2
    assert "no run matches" in capsys.readouterr().err


def test_a_report_of_a_time_has_runs_of_rules_that_are_not_here_and_names_damaged_ones(
    exported, tmp_path, capsys
):
    """The first stopped the whole report, unnamed, and the second were left out, unsaid."""
    assert cli.main(["run", "synthetic", "item-knn", "-k", "3", "--rule", "never", "-q"]) == 0
    store = open_store()
    of_item_knn, of_popular = store.runs()
    spec = replace(of_item_knn.spec, rule="half-moon").to_json()
    store.write(
        runs.update().filter_by(run_id=of_item_knn.run_id).values(spec=spec),
        runs.update().filter_by(run_id=of_popular.run_id).values(spec="{"),
    )
    capsys.readouterr()
    page = tmp_path / "report.html"
    assert cli.main(["report", "--since", "2020-01-01", "-o", str(page)]) == 0
    output = capsys.readouterr()
    assert output.out == f"{page}: item-knn on synthetic\n"
    assert f"run {of_popular.run_id} in the database is damaged" in output.err
    several = [of_item_knn.run_id, "ml-100k--popular"]
    assert cli.main(["report", *several, "-o", str(page)]) == 0
    assert "half-moon" in page.read_text()
