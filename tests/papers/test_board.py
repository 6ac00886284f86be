"""A result file is accepted where its scores follow from its table, and refused where not."""

import hashlib
import io
import json
import re
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

import ecv_core as ecv
from ecv_core import cli, stopping
from ecv_core.figures.verdicts import p_words
from ecv_core.jobs.tracked_fold import TrackedFold
from ecv_core.papers.board import FOLDS, RUN, TABLE, check_result, folds_sha256
from ecv_core.records.errors import EcvError
from ecv_core.records.interactions import Part
from ecv_core.store.document import run_document
from ecv_core.untrusted import bounded

LISTS, RANKS, SCORED, RATED, USERS = "lists", "ranks", "scored", "rated", "users"
USERS_OF_DATA, ITEMS, K = 20, 24, 3


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    pairs = [
        (f"u{user}", f"i{item}", int(rng.integers(1, 6)))
        for user in range(USERS_OF_DATA)
        for item in rng.permutation(ITEMS)[:14]
    ]
    return pd.DataFrame(pairs, columns=["user_id", "item_id", "rating"])


@pytest.fixture(autouse=True)
def folder(data, tmp_path, monkeypatch):
    monkeypatch.setenv("ECV_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    data.to_csv(tmp_path / "data" / "shop.csv", index=False)


@pytest.fixture
def read_here(monkeypatch):
    """Files are read in this process: a child for each takes most of a test's time."""
    monkeypatch.setattr(bounded, "run_in_child", lambda function, *given, **_: function(*given))


def reported(kind, fold, rng):
    """What a model gives that knows nothing, and sometimes guesses right."""
    if kind == RATED:
        return fold.test[["user_id", "item_id"]].assign(
            prediction=rng.uniform(1, 5, len(fold.test))
        )
    users = fold.test.user_id.unique()
    if kind == USERS:
        return pd.DataFrame({"user_id": users, "score": rng.random(len(users))})
    known = fold.train.groupby("user_id").item_id.agg(set)
    items = sorted({*fold.train.item_id, *fold.test.item_id})
    lists = [
        (user, item, rank)
        for user in users
        for rank, item in enumerate(
            [one for one in rng.permutation(items) if one not in known[user]][:5], start=1
        )
    ]
    table = pd.DataFrame(lists, columns=["user_id", "item_id", "rank"])
    if kind == SCORED:
        return table.assign(score=-table["rank"] / 10).drop(columns="rank")
    return table if kind == RANKS else table.drop(columns="rank")


def made(kind, seed, **settings):
    """A run of other code and the table of what it gave."""
    asked = {"dataset": "shop", "k": K, "seed": seed, "full": True, "no_energy": True}
    asked |= {"metric": "rmse"} if kind == RATED else {"metric": "ndcg@5"}
    rng, tables = np.random.default_rng(seed), []
    cv = ecv.track(f"{kind} {seed}", **asked | settings)
    for fold in cv:
        tables.append(reported(kind, fold, rng))
        cv.report(tables[-1])
    tables = [table.assign(fold=fold) for fold, table in enumerate(tables)]
    return cv.run.record, pd.concat(tables, ignore_index=True)


def written(path, document, table, sha256):
    text = table if isinstance(table, str) else table.to_csv(index=False)
    parts = {RUN: json.dumps(document), FOLDS: sha256, TABLE: text}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            if content is not None:
                archive.writestr(name, content)
    return path


def hash_of(run):
    return folds_sha256(TrackedFold(run.spec, fold) for fold in range(len(run.folds)))


def with_scores(run, deltas):
    """The same with other scores, and everything that follows from them."""
    folds = [
        replace(
            fold,
            score=fold.score + delta,
            metrics=dict(fold.metrics) | {run.spec.metric_name: fold.score + delta},
        )
        for fold, delta in zip(run.folds, deltas, strict=True)
    ]
    moments = stopping.moments(stopping.rule_for(run.spec), folds, run.spec.confidence)
    stop = stopping.stop_of(moments, run.k)
    return replace(run, folds=tuple(folds), moments=tuple(moments), stopped_at=stop)


def forgeries(run, table):
    """Twenty ways to claim what is not so: each a document, a table and a hash."""
    document, sha256 = run_document(run), hash_of(run)
    for delta in (1e-4, 0.001, 0.01, 0.1, -0.01):
        yield run_document(with_scores(run, [delta] * K)), table, sha256
    for fold in range(K):
        yield run_document(with_scores(run, 0.05 * np.eye(K)[fold])), table, sha256
    more = json.loads(json.dumps(document))
    more["folds"][0]["users"] += 1
    yield more, table, sha256
    yield document, table[table["fold"] > 0], sha256
    yield document, table.assign(fold=(table["fold"] + 1) % K), sha256
    yield document, pd.concat([table, table.head(1)]), sha256
    yield document, table.assign(user_id=table["user_id"].replace("u3", "nobody")), sha256
    fold = TrackedFold(run.spec, 0)
    known = fold.train.head(1)[["user_id", "item_id"]].assign(fold=0)
    yield (
        document,
        pd.concat([known.assign(**dict.fromkeys(table.columns[2:-1], 9)), table]),
        sha256,
    )
    last = table.columns[-2]
    worse = table.assign(**{last: table[last].to_numpy()[::-1]})
    yield document, worse, sha256
    yield document, table, "0" * 64
    other = json.loads(json.dumps(document))
    other["spec"]["seed"] += 1
    yield other, table, sha256
    if "item_id" in table.columns:  # the table is of other folds than the run and the hash say
        again = replace(run, spec=replace(run.spec, seed=run.spec.seed + 1))
        yield other, table, hash_of(again)
    else:
        yield document, table.assign(score=table["score"] + 1), sha256  # none is above 1
    short = json.loads(json.dumps(document))
    short["folds"], short["moments"], short["stopped_at"] = (
        short["folds"][:2],
        short["moments"][:2],
        2,
    )
    short["moments"][1]["stop"], short["mean"] = True, short["moments"][1]["mean"]
    lines = table[table["fold"] < 2]
    yield short, lines, folds_sha256(TrackedFold(run.spec, fold) for fold in range(2))
    yield document, "fold,user_id\n0,u1\n", sha256


@pytest.mark.usefixtures("read_here")
@pytest.mark.parametrize(
    "kind", [pytest.param(LISTS, marks=pytest.mark.slow), RANKS, SCORED, RATED, USERS]
)
def test_honest_results_are_accepted_and_forged_ones_refused(kind, tmp_path):
    """Of each of five kinds of report: 4 honest, and 20 forged ones of one of them."""
    for seed in range(4):
        run, table = made(kind, seed)
        path = written(tmp_path / f"{seed}.zip", run_document(run), table, hash_of(run))
        checked = check_result(path)
        assert checked.recomputed == (kind != USERS)
        scores = [fold.score for fold in run.folds]
        assert [fold.score for fold in checked.run.folds] == pytest.approx(scores)
    refused = 0
    for number, forged in enumerate(forgeries(run, table)):
        path = written(tmp_path / f"forged-{number}.zip", *forged)
        with pytest.raises(EcvError) as error:
            check_result(path)
        assert "\n" not in str(error.value), number
        refused += 1
    assert refused == 20


def test_the_hash_of_folds_is_that_of_sorted_lines():
    run, _ = made(USERS, 0)
    lines = []
    for index in range(K):
        fold = TrackedFold(run.spec, index)
        assert len(fold.columns(Part.TEST)["user_id"]) == len(fold.test)
        lines += [f"{index},{row.user_id},{row.item_id}\n" for row in fold.test.itertuples()]
    assert hash_of(run) == hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


@pytest.mark.slow
def test_the_command_says_what_holds_and_what_is_only_claimed(tmp_path, capsys):
    run, table = made(LISTS, 0)
    path = written(tmp_path / "r.zip", run_document(run), table, hash_of(run))
    assert cli.main(["board", "check", str(path)]) == 0
    said = capsys.readouterr().out
    assert "lists 0 on shop, ndcg@5" in said
    assert "3 of 3 folds: accepted" in said
    assert "unchecked" in said
    forged = written(
        tmp_path / "f.zip", run_document(with_scores(run, [0.1] * K)), table, hash_of(run)
    )
    assert cli.main(["board", "check", str(forged)]) == 2
    assert "fold 0 claims ndcg@5" in capsys.readouterr().err


@pytest.mark.slow
def test_check_and_site_give_a_run_that_stopped_early_one_interval(tmp_path, capsys):
    """That of its mean, wherever the rule stops, and not the narrower one by which it stopped."""
    run, table = made(USERS, 0, k=6, full=False, rule=ecv.EFold(alpha=1.0))
    path = written(tmp_path / "r.zip", run_document(run), table, hash_of(run))
    assert run.folds_used < 6
    assert cli.main(["board", "check", str(path)]) == 0
    (said,) = re.findall(r"\((.* to .*)\)", capsys.readouterr().out)
    low, high = map(float, said.split(" to "))
    assert low < run.at_stop.interval.low < run.at_stop.interval.high < high
    assert cli.main(["board", "site", str(tmp_path)]) == 0
    assert f"<td>{said}</td>" in (tmp_path / "index.html").read_text("utf-8")


@pytest.mark.parametrize("only", [(2,), (0, 1)])
def test_folds_that_may_have_been_chosen_are_refused(only, tmp_path):
    run, table = made(USERS, 0)
    folds = tuple(fold for fold in run.folds if fold.fold in only)
    spec = replace(run.spec, only_folds=only if only == (2,) else ())
    part = with_scores(replace(run, spec=spec, folds=folds), [0.0] * len(only))
    sha256 = folds_sha256(TrackedFold(spec, fold) for fold in only)
    path = tmp_path / "r.zip"
    written(path, run_document(part), table[table["fold"].isin(only)], sha256)
    with pytest.raises(
        EcvError, match=rf"its {len(only)} of {K} folds were asked for one by one, or cut"
    ):
        check_result(path)


def test_folds_that_the_table_lacks_are_named(tmp_path):
    run, table = made(USERS, 0)
    path = tmp_path / "r.zip"
    written(path, run_document(run), table[table["fold"] != 1], hash_of(run))
    with pytest.raises(EcvError, match="folds 0 and 2, but the run 0, 1 and 2"):
        check_result(path)


def packed_by_lzma_and_damaged():
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr(RUN, "{}" * 99)
    content = bytearray(held.getvalue())
    content[50] ^= 255  # of what is packed
    return bytes(content)


@pytest.mark.usefixtures("read_here")
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no archive", "is no result file"),
        (packed_by_lzma_and_damaged(), "is no result file"),
        ({RUN: "{}"}, "holds no folds.sha256"),
        ({RUN: "{}", FOLDS: "0", TABLE: "fold,user_id\n"}, "is not a run that e-fold exported"),
        ({RUN: "{}", FOLDS: "0" * 999, TABLE: ""}, "has more than 100 bytes"),
        ({RUN: "{}", FOLDS: "0", TABLE: ""}, "is no result file"),
    ],
)
def test_what_is_no_result_file_is_refused_in_a_sentence(content, said, tmp_path, capsys):
    path = tmp_path / "r.zip"
    if isinstance(content, dict):
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w") as archive:
            for name, text in content.items():
                archive.writestr(name, text)
        content = held.getvalue()
    path.write_bytes(content)
    assert cli.main(["board", "check", str(path)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1


@pytest.mark.usefixtures("read_here")
def test_a_site_has_what_holds_the_best_first_and_says_which_differences_are_shown(
    tmp_path, capsys
):
    """Three models on the same folds, one better by far; and one with claims that do not follow."""
    board, means, users = tmp_path / "board", {}, {}
    board.mkdir()
    for name, better in (("<img src=x onerror=alert(1)>", 0.0), ("another", 0.0), ("best", 0.6)):
        rng, tables = np.random.default_rng(len(name)), []
        cv = ecv.track(name, dataset="shop", k=K, metric="ndcg@5", full=True, no_energy=True)
        for fold in cv:
            given = reported(USERS, fold, rng)
            given["score"] = 0.3 * given["score"] + better
            tables.append(given.assign(fold=fold.index))
            cv.report(given)
        run, table = cv.run.record, pd.concat(tables)
        means[name] = run.at_stop.mean
        users[name] = table.groupby("user_id").score.mean()
        path = board / f"{name}.zip"
        written(path, run_document(run), table, hash_of(run))
    forged = with_scores(run, [0.1] * K)
    written(board / "forged.zip", run_document(forged), table, hash_of(run))
    assert cli.main(["board", "site", str(board)]) == 0
    told = capsys.readouterr()
    assert told.out == f"{board / 'index.html'}\n"
    assert told.err.startswith("forged.zip is left out: fold 0 claims ndcg@5")
    page = (board / "index.html").read_text("utf-8")
    assert "<script" not in page
    assert "forged" not in page
    assert "<img" not in page  # neither as a model's name nor as that of its file
    rows = [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", page)]
    rows = [row for row in rows if row]
    order = sorted(means, key=means.get, reverse=True)
    assert [row[0].replace("&lt;", "<").replace("&gt;", ">") for row in rows] == order
    assert [row[1] for row in rows] == [f"{means[name]:.4f}" for name in order]
    pairs = {(a, b): ttest_rel(users[a], users[b]).pvalue for a, b in
             (order[:2], order[::2], order[1:])}  # fmt: skip
    ranked = sorted(pairs, key=pairs.get)
    holm = {pair: pairs[pair] * (3 - at) for at, pair in enumerate(ranked)}
    assert max(holm[order[0], other] for other in order[1:]) < 0.001
    for row in rows:
        low, high = map(float, row[2].split(" to "))  # the interval for new users
        assert low < float(row[1]) < high
    assert [row[4] for row in rows] == ["the first", "worse (p &lt; 0.001)", "worse (p &lt; 0.001)"]
    (board / "best.zip").unlink()
    assert cli.main(["board", "site", str(board)]) == 0
    page = (board / "index.html").read_text("utf-8")
    assert f"level with it ({p_words(pairs[order[1], order[2]])})" in page


def test_a_folder_without_a_result_makes_no_site(tmp_path, capsys):
    assert cli.main(["board", "site", str(tmp_path)]) == 2
    assert "has no result that" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.html"))
