"""`add` and `remove` from the command line."""

from __future__ import annotations

import json

import pytest

from ecv_core.cli import main

TEXT = "\n".join(
    [
        "wer;was;wieviel",
        *(f"Jos\u00e9{user};i{item};{item % 5},5" for user in range(6) for item in range(6)),
        ";i1;3",
    ]
).encode("latin-1")


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.setenv("ECV_DATA_DIR", str(tmp_path / "data"))
    path = tmp_path / "shop.csv"
    path.write_bytes(TEXT)
    return path


def test_a_file_is_added_run_and_removed(shop, capsys):
    columns = ["--user", "wer", "--item", "was", "--rating", "3"]
    assert main(["add", "shop", str(shop), *columns]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "36 of 37 rows can be used",
        "  1 cannot: no user",
        "6 users, 6 items; after 5-core pruning 6 users, 6 items, 36 interactions, density 100 %",
        "added as shop; run it with: python -m ecv_core run shop item-knn",
    ]
    assert "delimited text: user_id = wer, item_id = was, rating = wieviel" in said.err
    assert main(["run", "shop", "popular", "-k", "3", "-n", "5", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["spec"]["data_sha256"]) == 64
    assert found["spec"]["cutoffs"] == [1, 5]
    assert main(["datasets", "--json"]) == 0
    out = capsys.readouterr().out
    rows = {row["id"]: row for row in json.loads(out[out.index("[") :])}
    assert (rows["shop"]["users"], rows["shop"]["interactions"]) == (6, 36)
    assert main(["datasets"]) == 0
    (line,) = [one for one in capsys.readouterr().out.splitlines() if one.startswith("shop ")]
    assert line.split() == ["shop", "6", "6", "36", "on", "disk"]
    assert main(["remove", "shop"]) == 0
    assert main(["run", "shop", "popular"]) == 2


def test_a_file_that_would_lose_more_than_a_tenth_is_kept_only_with_a_yes(shop, capsys):
    rows = [f"u{user};i{item};22.01.2023 16:37" for user in range(6) for item in range(6)]
    shop.write_text("\n".join(["Kunde;Artikel;Datum", *rows, *["u1;i1;gestern"] * 5]))
    call = ["add", "shop", str(shop), "--timestamp", "Datum"]
    assert main(call) == 2
    err = capsys.readouterr().err
    assert err.startswith(
        "error: It was read with Kunde as the user, Artikel as the item, Datum as"
    )
    assert (
        "5 of 41 rows (12 %) would be lost: 5 have no time, or not a time from 1700 to 2199 as "
        "dates, day first: 22.01.2023"
    ) in err
    assert err.count("\n") == 1
    assert main([*call, "--yes"]) == 0
    said = capsys.readouterr()
    assert "36 of 41 rows can be used" in said.out
    assert "22.01.2023 16:37 is 22 January 2023, 16:37 UTC" in said.err
    assert main(["add", "month", str(shop), "--time-unit", "month-first"]) == 2
    assert "none of its 41 rows can be used; 41 of them have no time" in capsys.readouterr().err
    assert main(["add", "anyway", str(shop), "--timestamp", "none"]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["add", "shop", "nowhere.csv"], "nowhere.csv cannot be used: No such file or directory"),
        (["add", "shop", "."], "cannot be used"),
        (["add", "a b", "FILE"], "'a b' cannot be the name of a dataset"),
        (["add", "ml-100k", "FILE"], "there is a dataset 'ml-100k' already"),
        (["add", "shop", "FILE", "--user", "who"], "no column is called 'who'"),
        (["add", "shop", "FILE", "--time-unit", "weeks"], "argument --time-unit"),
        (
            ["add", "shop", "FILE", "--rating", "wer"],
            "has no column that looks like a user; name the column (--user COLUMN)",
        ),
        (["add", "shop"], "the following arguments are required: file"),
        (["add", "shop", "9" * 5000], "too long"),
        (["remove", "../data"], "no added dataset is called '../data'"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(shop, capsys, arguments, said):
    assert main([str(shop) if word == "FILE" else word for word in arguments]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    assert not (shop.parent / "data" / "added" / "shop").exists()


def test_the_form_is_corrected_as_on_the_page(shop, capsys):
    form = ["--separator", "vertical-bar", "--no-header", "--no-quotes", "--encoding", "latin-1"]
    assert main(["add", "shop", str(shop), *form]) == 2
    assert "it has one column" in capsys.readouterr().err
    form[1] = "semicolon"
    assert main(["add", "shop", str(shop), *form]) == 0
    assert "user_id = column 1" in capsys.readouterr().err
