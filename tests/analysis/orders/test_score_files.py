import numpy as np
import pytest

from ecv_core.analysis.orders import read_scores
from ecv_core.errors import InputError


def test_reads_one_column_per_system(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_bytes(b"\xef\xbb\xbfknn, mf\r\n0.1,1e-3\r\n0.2 ,2\r\n\r\n0.30,-3\r\n")
    scores = read_scores(path)
    assert list(scores) == ["knn", "mf"]
    np.testing.assert_array_equal(scores["knn"], [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(scores["mf"], [0.001, 2, -3])
    assert read_scores(path.read_bytes()).keys() == scores.keys()


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
        (b"a,b\n1,2\n3\n", "row 2 of the file has 1 values for 2 columns"),
        (b"a,b\n1,2\n3,4,5\n", "row 2 of the file has 3 values for 2 columns"),
        (b"a,b\n1,2\n3,\n", "row 2 of column 'b' in the file is missing"),
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
