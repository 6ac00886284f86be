from pathlib import Path

import numpy as np
import pytest

from ecv_core.analysis.score_files import read_contenders, with_varying_scores
from ecv_core.records.errors import InputError


@pytest.fixture
def read_scores(tmp_path: Path):
    """Content of a file -> name of a contender -> its fold scores, where every order can be had."""

    def read(content: bytes):
        path = tmp_path / "scores.csv"
        path.write_bytes(content)
        scores = with_varying_scores(read_contenders(path), "the file scores.csv")
        return {contender.name: contender.folds for contender in scores.contenders}

    return read


def test_reads_one_column_per_system(read_scores):
    scores = read_scores(b"\xef\xbb\xbfknn, mf\r\n0.1,1e-3\r\n0.2 ,2\r\n\r\n0.30,-3\r\n")
    assert list(scores) == ["knn", "mf"]
    np.testing.assert_array_equal(scores["knn"], [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(scores["mf"], [0.001, 2, -3])


def test_reads_one_row_per_system_and_fold_in_any_order(read_scores):
    scores = read_scores(b"score,Fold,system\n0.1,b,knn\n7,a,mf\n0.3,a,knn\n5,b,mf\n")
    assert list(scores) == ["knn", "mf"]
    np.testing.assert_array_equal(scores["knn"], [0.1, 0.3])  # fold b is named first
    np.testing.assert_array_equal(scores["mf"], [5, 7])


@pytest.mark.parametrize(
    "content",
    [
        "Model,Fold,NDCG@10\nknn,1,0.1\nmf,1,7\nknn,2,0.3\nmf,2,5\n",
        'MODEL,NDCG@10,Fold ID\nknn,"0,1",1\nmf,7,1\nknn,"0,3",2\nmf,5,2\n',
        "Model;Fold;NDCG@10\nknn;1;0,1\nmf;1;7,0\nknn;2;0,3\nmf;2;5,0\n",
        "Algorithm\tFold 1\tFold 2\nknn\t0.1\t0.3\nmf\t7\t5\n",
        "knn;mf\n0,1;7\n0,3;5\n",
        "Model,Fold,Recall,Score\nknn,1,9,0.1\nmf,1,9,7\nknn,2,9,0.3\nmf,2,9,5\n",
    ],
)
def test_capitals_a_metrics_name_separators_and_both_wide_forms_are_recognised(
    content, read_scores
):
    scores = read_scores(content.encode())
    assert {name: values.tolist() for name, values in scores.items()} == {
        "knn": [0.1, 0.3],
        "mf": [7, 5],
    }


def test_a_column_that_numbers_the_rows_is_no_system_where_there_are_others(read_scores):
    assert list(read_scores(b"fold,score,other\n0,0.1,0.3\n1,0.3,0.2\n")) == ["score", "other"]
    assert list(read_scores(b"nr,a\n1,0.1\n2,0.3\n")) == ["a"]
    assert list(read_scores(b"index\n3\n5\n")) == ["index"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file scores.csv cannot be read as a table of scores"),
        (b"score\n", "has no rows"),
        (b"score\n0.1\n", "has 1 fold; between 2 and 22 folds"),
        (b"score\n" + b"0.1\n0.2\n" * 12, "has 24 folds; .* so take the first 22"),
        (b"0.1\n0.2\n0.3\n", "the first line of the file scores.csv must name its columns"),
        (b"a,a\n1,2\n3,4\n", "must have different names, but are a, a"),
        (b"a,b\n1,2\n3\n", "cannot be read as a table of scores"),
        (b"a,b\n1,2\n3,\n", "fold 2 of 'b' has the score nan"),
        (b"model,fold,score\na,1,2\nb,1,3\na,2,4\n", "no row for fold 2 of 'b'"),
        (b"model,fold,score\na,1,2\na,1,3\n", "more than one row for contender 'a', fold 1"),
        (b"model,fold,score\na,1,2\na,,3\n", "row 2 of the file scores.csv has no fold"),
        (b"model,fold,score\na,1,2\na,2,x\n", "column 'score' of the file scores.csv must hold"),
        (b"a\n1\nx\n", "'x' in the column 'a' of the file scores.csv is not a number"),
        (b"a\n1\nnan\n", "fold 2 of 'a' has the score nan"),
        (b"a\n1\ninf\n", "fold 2 of 'a' has the score inf"),
        (b"a\n1\n1_0\n", "'1_0' in the column 'a' of the file scores.csv is not a number"),
        (b"b\n0.3\n0.3\n", "all scores of 'b' in the file scores.csv are 0.3; folds that never"),
        (b"a\n\xff\xfe\n", "is not a number|is not text in UTF-8"),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(content, message, read_scores):
    with pytest.raises(InputError, match=message) as caught:
        read_scores(content)
    assert "\n" not in str(caught.value)
