"""`gate`: exit codes, JSON and JUnit XML, from runs, their files and files of scores."""

import json
from xml.etree import ElementTree

import pytest

from ecv_core import cli


@pytest.fixture
def scores(tmp_path):
    path = tmp_path / "scores.csv"
    rows = [
        f"{name},{fold},{0.5 + 0.01 * (fold * place % 3) - loss}"
        for place, (name, loss) in enumerate([("old", 0.0), ("same", 0.0), ("bad", 0.3)], start=1)
        for fold in range(1, 11)
    ]
    path.write_text("\n".join(["model,fold,ndcg", *rows]) + "\n")
    return path


def gate(path, candidate, *options):
    return cli.main(["gate", f"{path}#old", f"{path}#{candidate}", *map(str, options)])


@pytest.mark.parametrize(
    ("candidate", "margin", "code", "failures", "skipped"),
    [("bad", "1%", 1, "1", "0"), ("same", "0.1", 0, "0", "0"), ("same", "0.0001", 3, "0", "1")],
)
def test_the_exit_code_and_the_files_say_the_verdict(
    scores, tmp_path, capsys, candidate, margin, code, failures, skipped
):
    xml, document = tmp_path / "gate.xml", tmp_path / "gate.json"
    options = ("--margin", margin, "--junit", xml, "--json", document)
    assert gate(scores, candidate, *options) == code
    suite = ElementTree.parse(xml).getroot()
    assert (suite.get("failures"), suite.get("skipped")) == (failures, skipped)
    written = json.loads(document.read_text())
    assert [written["sentence"], *written["notes"]] == capsys.readouterr().out.splitlines()
    assert written["verdict"] == {0: "passes", 1: "fails", 3: "unknown"}[code]


@pytest.mark.parametrize("option", ["--json", "--junit"])
def test_a_file_that_cannot_be_written_is_no_candidate_that_is_worse(scores, option):
    assert gate(scores, "same", "--margin", "0.1", option, "/dev/full") == 2


def test_of_an_unknown_metric_the_direction_is_said_and_can_be_turned(tmp_path, capsys):
    path = tmp_path / "scores.csv"
    # The candidate scores about 0.08 more in each fold, so it is better, or worse.
    rows = [f"{fold},0.50{fold},0.58{9 - fold}" for fold in range(1, 9)]
    path.write_text("\n".join(["fold,old,new", *rows]) + "\n")
    sides = [f"{path}#old", f"{path}#new"]
    assert cli.main(["gate", *sides]) == 0
    assert "Higher is better, because" in capsys.readouterr().out
    assert cli.main(["gate", *sides, "--lower-is-better"]) == 1
    assert "Lower is better, as was asked" in capsys.readouterr().out


def test_runs_are_gated_by_their_users_and_by_their_files(tmp_path, capsys):
    assert cli.main(["gate", "ml-100k--ease", "ml-100k--popular"]) == 1
    assert "for new users" in capsys.readouterr().out
    path = tmp_path / "run.json"
    run = ["run", "synthetic", "item-knn", "-k", "3", "--rule", "never", "--json", str(path), "-q"]
    assert cli.main(run) == 0
    capsys.readouterr()
    assert cli.main(["gate", str(path), str(path)]) == 0
    assert "from the fold scores alone" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ml-100k--ease", "ml-1m--ease"], "different datasets"),
        (["ml-100k--ease", "ml-100k--popular", "--metric", "recall@10"], "by its metric, ndcg@10"),
        (["ml-100k--ease", "ml-100k--popular", "--lower-is-better"], "says itself which way"),
        (["nothing", "ml-1m--ease"], "there is no run 'nothing'"),
        (["{scores}", "{scores}#old"], "has 3 contenders; name one of them"),
        (["{scores}#old", "{scores}#new"], "has no contender 'new'; choose one of: old, same, bad"),
        (["{scores}#old", "ml-1m--ease"], "are a run and a file of scores"),
        (["{scores}#old", "{scores}#bad", "--margin=-1%"], "'-1%' is not a margin"),
        (["{scores}#old", "{scores}#bad", "--margin", "x"], "'x' is not a margin"),
        (["{scores}#old", "{scores}#bad", "--confidence", "2"], "confidence must be between"),
    ],
)
def test_a_mistake_is_one_line(scores, capsys, arguments, words):
    code = cli.main(["gate", *(text.format(scores=scores) for text in arguments)])
    assert code == 2
    output = capsys.readouterr()
    assert words in output.err
    assert output.err.count("\n") == 1
