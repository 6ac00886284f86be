import gzip
import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from ecv_core.analysis.score_files import read_contenders
from ecv_core.cli import main
from ecv_core.records.errors import InputError

GOOD = "contender,fold,user,score\n" + "".join(
    f"{name},{fold},{user},{base + fold / 100 + len(user) / 1000}\n"
    for name, base in (("a", 0.5), ("b", 0.1))
    for fold in (3, 1, 2)
    for user in ("x", "yy", "zzz")
)


def file(folder: Path, text: str, name: str = "scores.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_names_that_differ_late_are_refused_and_never_taken_for_one(tmp_path: Path) -> None:
    one, other = ("MultiVAE " + "x" * 60 + last for last in "12")
    tall = f"contender,fold,score\n{one},0,0.1\n{one},1,0.2\n{other},0,0.3\n{other},1,0.4\n"
    for text in (tall, f"{one},{other}\n0.1,0.3\n0.2,0.4\n"):
        with pytest.raises(InputError, match="two contenders whose names begin with 'MultiV"):
            read_contenders(file(tmp_path, text))


@pytest.mark.parametrize(
    ("words", "best"),
    [
        (["--metric", "rmse"], "low"),
        (["--metric", "mine"], "high"),
        (["--lower-is-better"], "low"),
        (["--metric", "rmse", "--higher-is-better"], "high"),
    ],
)
def test_a_known_metric_says_whether_lower_is_better(
    words: list[str], best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        f"{name},{fold},{base + fold / 1000}"
        for fold in range(5)
        for name, base in (("low", 0.5), ("high", 0.9))
    ]
    path = file(tmp_path, "\n".join(["contender,fold,score", *rows]))
    assert main(["select", "--scores", str(path), *words]) == 0
    told = capsys.readouterr().out
    assert f"{best} has the best mean" in told
    way = {"low": "Lower is better, ", "high": "Higher is better, "}[best]
    assert way in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--split", "user-k-fold"], "--split is for folds that have yet to be computed"),
        (["--no-energy"], "--no-energy is for folds that have yet to be computed"),
        (["--nodes", "2"], "--nodes is for folds that have yet to be computed"),
        (["-k", "3"], "-k is for folds that have yet to be computed"),
        (["--split-param", "a=1"], "--split-param is for folds that have yet to be computed"),
    ],
)
def test_settings_of_folds_are_refused_beside_scores(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["select", "--scores", str(file(tmp_path, GOOD)), *words]) == 2
    assert said in capsys.readouterr().err
    assert main(["select", "--recorded", *words]) == 2


def test_folds_and_contenders_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    scores = read_contenders(file(tmp_path, GOOD))
    contenders, folds = scores.contenders, list(scores.folds)
    assert folds == ["3", "1", "2"]
    assert [one.name for one in contenders] == ["a", "b"]
    # users' thousandths are 1, 2, 3: on average 2
    assert contenders[0].folds == pytest.approx([0.532, 0.512, 0.522])
    assert contenders[1].users is not None
    assert contenders[1].users[0] == pytest.approx([0.131, 0.132, 0.133])


@pytest.mark.parametrize("rows", [1, 50_000])
def test_a_file_that_is_packed_twice_says_so(tmp_path: Path, rows: int) -> None:
    packed = tmp_path / "scores.csv.gz"
    text = GOOD + "".join(f"c{row},{row},0.{row}\n" for row in range(rows))
    packed.write_bytes(gzip.compress(gzip.compress(text.encode())))
    with pytest.raises(InputError, match=r"scores\.csv\.gz is packed twice; unpack it once"):
        read_contenders(packed)


def test_gz_and_parquet_say_the_same_as_csv(tmp_path: Path) -> None:
    packed = tmp_path / "scores.csv.gz"
    packed.write_bytes(gzip.compress(GOOD.encode()))
    rows = [line.split(",") for line in GOOD.splitlines()[1:]]
    table = tmp_path / "scores.parquet"
    parquet.write_table(
        pa.table(
            {
                "score": [float(row[3]) for row in rows],
                "user": [row[2] for row in rows],
                "fold": [int(row[1]) for row in rows],
                "contender": [row[0] for row in rows],
                "note": ["ignored"] * len(rows),
            }
        ),
        table,
    )
    expected = [one.folds.tolist() for one in read_contenders(file(tmp_path, GOOD)).contenders]
    for path in (packed, table):
        assert [one.folds.tolist() for one in read_contenders(path).contenders] == expected


def test_without_users_a_score_is_that_of_a_fold(tmp_path: Path) -> None:
    text = "system,fold,score\na,2,0.5\nb,2,0.25\nb,1,0.75\na,1,1\n"
    scores = read_contenders(file(tmp_path, text))
    contenders, folds = scores.contenders, list(scores.folds)
    assert folds == ["2", "1"]
    assert [one.name for one in contenders] == ["a", "b"]
    assert contenders[0].folds.tolist() == [0.5, 1.0]
    assert contenders[1].folds.tolist() == [0.25, 0.75]
    assert all(one.users is None for one in contenders)


@pytest.mark.parametrize(
    "text",
    [
        "Model,Fold,NDCG@10\na,2,0.5\nb,2,0.25\nb,1,0.75\na,1,1\n",
        "Model;Fold;NDCG@10\na;2;0,5\nb;2;0,25\nb;1;0,75\na;1;1,0\n",
        "Model,2,1\na,0.5,1\nb,0.25,0.75\n",
        ",Fold,a,b\n0,2,0.5,0.25\n1,1,1,0.75\n",
    ],
)
def test_capitals_a_metrics_name_separators_and_wide_tables_are_recognised(
    tmp_path: Path, text: str
) -> None:
    scores = read_contenders(file(tmp_path, text))
    contenders, folds = scores.contenders, list(scores.folds)
    assert folds == ["2", "1"]
    assert {one.name: one.folds.tolist() for one in contenders} == {
        "a": [0.5, 1.0],
        "b": [0.25, 0.75],
    }


def test_fold_scores_alone_that_differ_by_the_same_need_all_folds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        f"{name},{fold},{base + fold / 10}"
        for fold in range(4)
        for name, base in (("a", 0.5), ("b", 0))
    ]
    path = file(tmp_path, "\n".join(["contender,fold,score", *rows]))
    assert main(["select", "--scores", str(path), "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    # one difference has no spread to be judged by, nor have several that are the same
    assert (document["winner"], document["folds_used"]) == ("a", {"a": 4, "b": 4})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("contender,fold,user\na,0,1\n", "the file scores.csv has no column 'score'"),
        ("model,system,fold,score\nx,a,0,1\n", "is not a number; .* the columns contender, fold"),
        ("model,fold,score\na,0,1\na,0,2\n", "'a', fold 0; keep one, give .* or add column 'user'"),
        ("model,fold,score\na,0,1\na,1,2\nb,0,2\n", "no row for fold 1 of 'b'"),
        ("contender,fold,user,score\n", "no rows"),
        (GOOD + "a,3,x,0.9\n", "more than one row for contender 'a', fold 3, user x"),
        (
            GOOD.replace("b,1,yy,0.112\n", ""),
            "fold 1 of 'b' has no score for user yy, but the same fold of 'a'",
        ),
        (
            GOOD.replace("a,1,yy,0.512\n", ""),
            "fold 1 of 'a' has no score for user yy, but the same fold of 'b'",
        ),
        (GOOD + "c,3,x,0.1\nc,3,yy,0.1\nc,3,zzz,0.1\n", "no row for fold 1 of 'c'"),
        (GOOD.replace("0.512", "nan"), "has the score nan"),
        (GOOD.replace("0.512", "inf"), "has the score inf"),
        (GOOD.replace("0.512", "high"), "must hold numbers, and not 'high'"),
        (GOOD.replace("a,1,yy,0.512", "a,1,,0.512"), "row 5 of the file scores.csv has no user"),
        ("contender,fold,user,score\na,0,1,0.5,7\n", "cannot be read as a table of scores"),
        ("", "cannot be read as a table of scores"),
    ],
)
def test_files_that_cannot_serve_are_refused_in_one_sentence(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        read_contenders(file(tmp_path, text))


def test_a_picture_is_said_to_be_no_text(tmp_path: Path) -> None:
    path = tmp_path / "picture.csv"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x05,\x00\x08\n1,2\n")
    with pytest.raises(InputError, match=r"the file picture\.csv cannot .* \(it is not text\)"):
        read_contenders(path)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_contenders(tmp_path / "none.csv")


def test_select_plays_a_file_and_writes_the_contract(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file(tmp_path, GOOD)
    assert main(["select", "--scores", str(path), "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document) == {
        "contenders", "k", "metric", "confidence", "indifference", "until", "winner", "tied",
        "order", "folds_used", "rounds", "joules", "joules_of_all_folds", "asked", "expected_loss",
        "expected_loss_asked", "budget", "spent", "winner_mean", "winner_mean_corrected",
        "winner_mean_corrected_for", "winner_new_data",
        "shown_worse", "methods", "as_good", "higher_is_better", "direction", "left_out",
        "withheld",
    }  # fmt: skip
    assert document["winner"] == "a"
    assert document["withheld"] is None
    assert document["order"] == ["a", "b"]
    assert document["k"] == 3
    # Every user's difference is 0.4, which is not certain: after one fold of 3 users one may yet
    # differ by 1, a variance of 1 / 2 / 3; after two of 1 / 3 / 3, moderated 0.055, and of the mean
    # of two of three folds 0.095 squared: 0.4 is 4.2 of that, and Student's t at 3 % 3.7.
    assert document["folds_used"] == {"a": 2, "b": 2}
    first, last = document["rounds"][0], document["rounds"][-1]
    assert first["leader"] == "a"
    assert first["differences"]["b"]["difference"] == pytest.approx(-0.4)
    low, high = last["differences"]["b"]["interval"]
    assert low < -0.4 < high < 0
    assert (first["dropped"], last["dropped"]) == ([], ["b"])
    assert document["joules"] is None


@pytest.mark.parametrize(
    ("options", "folds"), [([], 10), (["--expected-loss", "0.001"], 1)], ids=["certain", "loss"]
)
def test_of_a_loss_without_a_bound_less_is_said_than_was_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], folds: int
) -> None:
    lines = ["contender,fold,user,log_loss"]
    for fold in range(10):
        for user in range(40):
            lines.append(f"a,{fold},{fold}-{user},{0.1 + 0.001 * (user % 7)}")
            lines.append(f"b,{fold},{fold}-{user},{0.9 + 0.001 * (user % 5)}")
    path = file(tmp_path, "\n".join(lines))
    assert main(["select", "--scores", str(path), *options, "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["folds_used"] == {"a": folds, "b": folds}
    assert document["withheld"].startswith("This score has no bound")
    assert document["withheld"] in document["methods"]
    assert document["expected_loss"] is None
    assert main(["select", "--scores", str(path), *options]) == 0
    assert document["withheld"] in capsys.readouterr().out


def test_select_over_orders_writes_the_contract(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file(tmp_path, GOOD)
    assert main(["select", "--scores", str(path), "--orders", "20", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {"orders", "folds_share", "right", "mean_loss_percent", "p95_loss_percent"} <= set(
        document
    )
    assert document["orders"] == 20
    assert document["right"] == 1.0
    assert document["folds_share"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--recorded", "--scores", "x.csv"],
        ["--scores", "none.csv"],
        ["--recorded", "--confidence", "2"],
        ["--recorded", "--orders", "0"],
    ],
)
def test_bad_calls_are_one_line_and_exit_code_2(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["select", *words]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize("words", [["--confidence", "2"], ["--orders", "0"], ["--budget", "3 x"]])
def test_wrong_options_are_refused_before_the_recorded_study_is_read(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def read() -> None:
        raise AssertionError("the study was read")

    monkeypatch.setattr("ecv_core.selection.contenders.recorded_contenders", read)
    assert main(["select", "--recorded", *words]) == 2


def test_a_header_that_is_no_text_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_bytes(b"contender,fo\x8bld,score\na,0,1\n")
    with pytest.raises(InputError, match=r"scores\.csv is not text in UTF-8"):
        read_contenders(path)


@pytest.mark.parametrize("name", ["wide.csv", "wide.parquet"])
def test_a_column_for_each_of_too_many_contenders_is_refused_at_once(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, table = tmp_path / name, pa.table({f"c{at}": [0.5] for at in range(503)})
    if name.endswith("csv"):
        csv.write_csv(table, path)
    else:
        parquet.write_table(table, path)
    with monkeypatch.context() as unread:
        unread.setattr(csv, "read_csv", None)
        unread.setattr(parquet.ParquetFile, "read", None)
        with pytest.raises(InputError, match=r"more than 500 columns, the most"):
            read_contenders(path)


@pytest.mark.parametrize(
    "users", [[{"a": 1}] * 2, pa.array([2**62] * 2, pa.timestamp("us"))], ids=["objects", "times"]
)
def test_a_column_of_what_are_no_names_is_one_sentence(tmp_path: Path, users: object) -> None:
    path = tmp_path / "scores.parquet"
    table = {"contender": ["a", "a"], "fold": [0, 1], "score": [0.1, 0.2], "user": users}
    parquet.write_table(pa.table(table), path)
    with pytest.raises(InputError, match=r"the column 'user' of .* has values that"):
        read_contenders(path)


def test_a_number_too_large_to_be_squared_is_no_score(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("fold,knn,svd\n1,0.3,0.2\n2,0.3,-1.7976931348623157e308\n")
    with pytest.raises(InputError, match=r"fold 2 of 'svd' has the score -1.79\S+, .* too large"):
        read_contenders(path)
