"""The command line keeps its contract: words, JSON, exit codes, one line for a mistake."""

import json
import shlex
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecv_core import cli
from ecv_core.cli import parse
from ecv_core.cli.run_command import spec_of
from ecv_core.fold.computing import run_fold
from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import RunError
from ecv_core.store.document import command_for
from ecv_core.store.store import open_store


def run(*arguments: str) -> int:
    return cli.main(["run", "synthetic", "popular", *arguments])


def test_datasets_as_json_have_their_prepared_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["datasets", "--json"]) == 0
    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)}
    assert {
        "synthetic",
        "ml-100k",
        "ml-1m",
        "hetrec-lastfm",
        "amazon-instant-video",
        "amazon-cell-phones",
        "amazon-apps",
        "ta-feng",
    } <= set(rows)
    ml = rows["ml-100k"]  # table 1 of the paper
    assert (ml["users"], ml["items"], ml["interactions"]) == (943, 1349, 99287)
    assert rows["synthetic"]["on_disk"] is True


def test_datasets_for_people_name_every_dataset(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["datasets"]) == 0
    assert "amazon-cell-phones" in capsys.readouterr().out


def test_a_runs_json_is_the_contracts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "run.json"
    assert run("-k", "4", "--rule", "never", "--seed", "7", "--json", str(target)) == 0
    document = json.loads(target.read_text())
    assert {"run_id", "spec", "state", "stopped_at", "mean", "interval", "folds"} <= set(document)
    assert document["state"] == "finished"
    assert document["stopped_at"] == 4
    scores = [fold["score"] for fold in document["folds"]]
    assert document["mean"] == pytest.approx(sum(scores) / 4)
    low, high = document["interval"]
    assert low < document["mean"] < high
    first = document["folds"][0]
    assert {"fold", "score", "metrics", "seconds", "energy"} <= set(first)
    assert set(first["seconds"]) == {"fit", "evaluate", "total", "processor"}
    assert set(first["energy"]) == {
        "joules",
        "cpu_joules",
        "gpu_joules",
        "gpu_seconds",
        "ram_joules",
        "grams_co2e",
        "source",
        "other_work",
        "machine_shared",
        "readings",
        "idle_joules",
        "memory_basis",
    }
    assert {"above_idle", "forecast", "processor_assumed"} <= set(document["energy"])
    others = [fold["energy"]["other_work"] for fold in document["folds"]]
    assert all(0 <= share <= 1 for share in others if share is not None)  # null: too short to tell
    assert sum(fold["seconds"]["processor"] for fold in document["folds"]) > 0
    assert first["metrics"]["ndcg@10"] == first["score"]
    kept = open_store().run(document["run_id"])
    assert [result.score for result in kept.folds] == scores
    assert capsys.readouterr().err.count("\n") == 4  # one line per fold


def test_only_the_folds_asked_for_are_run_and_equal_those_of_the_whole_run(tmp_path: Path) -> None:
    target = tmp_path / "run.json"
    assert run("--only-folds", "3,1", "--seed", "5", "--json", str(target)) == 0
    folds = json.loads(target.read_text())["folds"]
    assert [fold["fold"] for fold in folds] == [3, 1]
    spec = make_spec(dataset="synthetic", algorithm="popular", seed=5)
    assert folds[0]["score"] == run_fold(spec, 3).score


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "nope", "popular"], "no dataset is called 'nope'"),
        (["run", "synthetic", "nope"], "no algorithm is called 'nope'"),
        (
            ["run", "synthetic", "vbcar"],
            "synthetic has no baskets (a column 'basket'), which vbcar",
        ),
        (["run", "synthetic", "popular", "--rule", "nope"], "'nope'"),
        (["run", "synthetic", "popular", "--split", "nope"], "no split is called 'nope'"),
        (["run", "synthetic", "popular", "--metric", "nope"], "no metric is called 'nope'"),
        (["run", "synthetic", "popular", "--param", "nope=1"], "'nope'"),
        (["run", "synthetic", "item-knn", "--param", "neighbours=0"], "neighbours"),
        (["run", "synthetic", "item-knn", "--param", "neighbours=some"], "whole number"),
        (["run", "synthetic", "popular", "--param", "nope"], "--param takes name=value"),
        (["run", "synthetic", "popular", "--alpha", "0"], "alpha"),
        (["run", "synthetic", "popular", "--alpha", "-1"], "alpha"),
        (["run", "synthetic", "popular", "--alpha", "nan"], "alpha"),
        (["run", "synthetic", "popular", "--alpha", "x"], "alpha"),
        (["run", "synthetic", "popular", "--confidence", "1"], "confidence"),
        (["run", "synthetic", "popular", "-k", "1"], "k must be at least 2, but is 1"),
        (["run", "synthetic", "popular", "-k", "99999999"], "k must be at most"),
        (["run", "synthetic", "popular", "-n", "0"], "at least 1"),
        (["run", "synthetic", "popular", "--seed", "-1"], "seed"),
        (["run", "synthetic", "popular", "--only-folds", "10"], "no fold 10"),
        (["run", "synthetic", "popular", "--only-folds", "a"], "--only-folds"),
        (["run", "synthetic", "popular", "--only-folds", "1,1"], "once"),
        (["run", "synthetic", "popular", "--country", "XX"], "'XX'"),
        (["run", "synthetic", "popular", "--folds", "missing.csv"], "missing.csv"),
        (["run", "synthetic", "popular", "--json", "no/such/folder.json"], "does not exist"),
        (["run", "synthetic"], "algorithm"),
        ([], "COMMAND"),
        (["datasets", "--jsn"], "--jsn"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    assert words in output.err
    assert open_store().runs() == []


def test_a_failed_run_is_exit_code_1_and_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*args: object, **kwargs: object) -> None:
        raise RunError("training came to nothing in epoch 3; lower the learning rate")

    monkeypatch.setattr("ecv_core.jobs.executors.run_fold", fails)
    assert run() == 1
    assert capsys.readouterr().err == (
        "error: training came to nothing in epoch 3; lower the learning rate\n"
    )


def test_a_broken_database_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.sqlite").write_bytes(b"no database at all" * 300)
    monkeypatch.setenv("ECV_DATABASE_URL", f"sqlite:///{tmp_path}/broken.sqlite")
    assert run() == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_released_folds_go_round(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Export our folds, run on the file, and get the scores of the run that made them."""
    released, first, second = (tmp_path / name for name in ("f.csv.gz", "1.json", "2.json"))
    assert cli.main(["folds", "synthetic", str(released), "-k", "3", "--seed", "9"]) == 0
    assert run("-k", "3", "--seed", "9", "--json", str(first)) == 0
    assert run("--folds", str(released), "--seed", "9", "--json", str(second)) == 0
    scores = [
        [fold["score"] for fold in json.loads(file.read_text())["folds"]]
        for file in (first, second)
    ]
    assert len(scores[0]) == 3
    assert scores[0] == scores[1]


@settings(max_examples=50, deadline=None)
@given(
    alpha=st.floats(1e-9, 1),
    k=st.integers(3, 20),
    seed=st.integers(0, 2**32 - 1),
    neighbours=st.integers(1, 500),
    rule=st.sampled_from(["e-fold", "never"]),
    confidence=st.sampled_from([0.9, 0.95, 0.99]),
    full=st.booleans(),
    only=st.lists(st.integers(0, 2), unique=True),
    metric=st.sampled_from(["ndcg", "recall"]),
    n=st.integers(1, 30),
)
def test_the_command_of_a_run_repeats_it(
    alpha: float,
    k: int,
    seed: int,
    neighbours: int,
    rule: str,
    confidence: float,
    full: bool,
    only: list[int],
    metric: str,
    n: int,
) -> None:
    spec = make_spec(
        dataset="synthetic",
        algorithm="item-knn",
        params={"neighbours": neighbours},
        k=k,
        seed=seed,
        alpha=alpha,
        rule=rule,
        confidence=confidence,
        full=full,
        only_folds=only,
        metric=metric,
        n=n,
        country="FRA",
    )
    again = spec_of(parse(shlex.split(command_for(spec))[3:]))
    assert again == spec


def test_a_cheap_model_without_a_meter_is_not_said_to_cost_nothing(capsys):
    settings = ["-k", "3", "--rule", "precision", "--tolerance", "0.02", "--adjust-by", "popular"]
    assert cli.main(["run", "synthetic", "item-knn", *settings, "--no-energy"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "adjusted by popular: 3 folds, not metered"
