"""Input that is meant to break something: one sentence and exit code 2, at once, without a hang."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ecv_core.cli import main

LONG = "9" * 5000


@pytest.fixture
def pipe(tmp_path):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    os.link(path, tmp_path / "pipe.zip")
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "synthetic", "item-knn", "--param", f"neighbours={LONG[:400]}"], "from 1 to"),
        (["run", "synthetic", "item-knn", "--param", "neighbours=1e400"], "a whole number"),
        (["run", LONG, "popular"], "no dataset is called"),
        (["run", "synthetic", "popular", "--folds", LONG], "too long for a file name"),
        (["run", "synthetic", "popular", "--folds", "PIPE"], "regular file"),
        (["run", "synthetic", "popular", "--folds", "/dev/zero"], "regular file"),
        (["run", "synthetic", "popular", "--json", ""], "--json names no file"),
        (
            ["export", "ml-100k--popular", "--output", "no/x.json"],
            "the folder of --output no/x.json",
        ),
        (["run", "synthetic", "popular", "-k", "1e400"], "argument -k"),
        (["run", "synthetic", "popular", "--seed", "inf"], "argument --seed"),
        (["run", "synthetic", "popular", "-n", "0"], "at least 1"),
        (["run", "synthetic", "popular", "--negatives", "-1"], "negatives"),
        (["add", "x", LONG], "too long"),
        (["import", LONG], "too long"),
        (["orders", LONG, "--alpha", "1e-3"], "too long"),
        (["select", "--scores", LONG], "too long"),
        (["orders", "PIPE", "--alpha", "1e-3"], "regular file"),
        (["select", "--scores", "PIPE"], "regular file"),
        (["import", "/dev/zero"], "regular file"),
        (["add", "x", "PIPE"], "regular file"),
        (["import", "PIPE"], "regular file"),
        (["board", "check", "PIPE"], "regular file"),
        (["board", "site", "FOLDER"], "regular file"),
        (["run", "synthetic", "popular", "--on", "slurm", "--site", "PIPE"], "regular file"),
    ],
)
def test_it_is_refused_in_one_short_sentence(arguments, said, pipe, capsys):
    names = {"PIPE": pipe, "FOLDER": str(Path(pipe).parent)}
    given = [names.get(word, word) for word in arguments]
    assert main(given) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert len(error) < 500


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("score\r0.1\r0.2\r0.4\r", 0),  # lines that end as on an old Mac
        ("score\n0.1\n0.2\n" + "x" * 200_000 + "\n", 2),
        ("score\n0.1\n0.2\n1e999\n", 2),
    ],
)
def test_a_table_of_fold_scores_is_read_or_refused(tmp_path, content, code, capsys):
    path = tmp_path / "scores.csv"
    path.write_bytes(content.encode())
    assert main(["orders", str(path), "--alpha", "1e-3"]) == code
    assert "Traceback" not in capsys.readouterr().err
