import pandas as pd

from ecv_core.records.frames import column_texts, with_columns


def test_a_frame_keeps_what_its_columns_mean_even_when_it_is_filtered() -> None:
    @with_columns({"fold": "its index", "score": "nDCG@10", "gone": "not there"})
    def frame(scores: list[float]) -> pd.DataFrame:
        return pd.DataFrame({"fold": range(len(scores)), "score": scores})

    made = frame([0.3, 0.4])
    assert column_texts(made) == {"fold": "its index", "score": "nDCG@10"}
    assert column_texts(made[made["score"] > 0.35][["score"]]) == {"score": "nDCG@10"}


def test_a_frame_that_says_nothing_has_no_texts() -> None:
    assert column_texts(pd.DataFrame({"fold": [0]})) == {}
