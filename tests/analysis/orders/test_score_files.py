import numpy as np
import pytest

from ecv_core.analysis.orders.files import read_scores
from ecv_core.records.errors import InputError


def test_reads_one_column_per_system(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_bytes(b"\xef\xbb\xbfknn, mf\r\n0.1,1e-3\r\n0.2 ,2\r\n\r\n0.30,-3\r\n")
    scores = read_scores(path)
    assert list(scores) == ["knn", "mf"]
    np.testing.assert_array_equal(scores["knn"], [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(scores["mf"], [0.001, 2, -3])
    assert read_scores(path.read_bytes()).keys() == scores.keys()


def test_reads_one_row_per_system_and_fold_in_any_order():
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
    ],
)
def test_capitals_a_metrics_name_separators_and_both_wide_forms_are_recognised(content):
    scores = read_scores(content.encode())
    assert {name: values.tolist() for name, values in scores.items()} == {
        "knn": [0.1, 0.3],
        "mf": [7, 5],
    }


def test_columns_that_somebody_names_are_taken_and_the_others_left():
    content = b"who,round,recall,ndcg\nknn,1,9,0.1\nknn,2,9,0.3\n"
    columns = {"contender": "who", "fold": "round", "score": "ndcg"}
    assert read_scores(content, columns)["knn"].tolist() == [0.1, 0.3]


def test_a_table_with_more_than_system_fold_and_score_has_one_column_per_system():
    scores = read_scores(b"fold,score,model,other\n0,0.1,0.2,0.3\n1,0.3,0.4,0.2\n")
    assert list(scores) == ["score", "model", "other"]  # the first numbers the rows
    assert list(read_scores(b"index\n3\n5\n")) == ["index"]  # or there is nothing else


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty; give one column per system"),
        (b"\n \n", "is empty"),
        (b"score\n", "has 0 rows of scores; between 2 and 22 folds"),
        (b"score\n0.1\n", "has 1 rows of scores"),
        (b"score\n" + b"0.1\n0.2\n" * 12, "has 24 rows of scores; .* so take the first 22"),
        (b"0.1\n0.2\n0.3\n", "the first line of the file must name its columns"),
        (b"a,a\n1,2\n3,4\n", "must have different names, but are a, a"),
        (b"a,\n1,2\n3,4\n", "must have different names"),
        (b"a," * 999 + b"a\n", "must have different names, but are (a, ){66}a,$"),
        (b"a,b\n1,2\n3\n", "row 2 of the file has 1 values for 2 columns"),
        (b"a,b\n1,2\n3,4,5\n", "row 2 of the file has 3 values for 2 columns"),
        (b"a,b\n1,2\n3,\n", "row 2 of column 'b' in the file is missing"),
        (b"model,fold,score\na,1,2\nb,1,3\na,2,4\n", "no score of fold 2 of 'b'"),
        (b"model,fold,score\na,1,2\na,1,3\n", "row 2 of the file is a second score of fold 1"),
        (b"model,fold,score\na,1,2\n,2,3\n", "row 2 of the file names no system"),
        (b"model,fold,score\na,1,2\na,,3\n", "row 2 of the file names no fold"),
        (b"model,fold,score\na,1,2\na,2\n", "row 2 of the file has 2 values for 3 columns"),
        (b"model,fold,score\na,1,2\na,2,x\n", "row 2 of column 'a' in the file is 'x'"),
        (b"a\n1\nx\n", "row 2 of column 'a' in the file is 'x', not a number"),
        (b"a\n1\nnan\n", "is 'nan', not a number"),
        (b"a\n1\ninf\n", "is 'inf', not a number"),
        (b"a\n1\n1_0\n", "is '1_0', not a number"),
        (b"a,b\n1,0.3\n2,0.3\n", "all scores of column 'b' in the file are 0.3; folds that never"),
        (b"a\n\xff\xfe\n", "is not text in UTF-8"),
        (b"a\n" + b"1" * 2**20, "larger than 1 MiB"),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(content, message):
    with pytest.raises(InputError, match=message) as caught:
        read_scores(content)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"none\.csv cannot be read \(No such file"):
        read_scores(tmp_path / "none.csv")
