import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from ecv_core.models.training import Validation

pytestmark = pytest.mark.usefixtures("on_the_processor")


@pytest.fixture
def train():
    return csr_array((np.random.default_rng(2).random((300, 150)) < 0.2).astype(np.float32))


def hidden_part(train, share=0.1, seed=1):
    validation = Validation.hide_share(train, share, seed)
    return (train - validation.visible).toarray()


def test_hides_the_share_asked_for_and_nothing_that_is_not_there(train):
    hidden = hidden_part(train)
    assert set(np.unique(hidden)) == {0, 1}
    assert hidden.sum() / train.nnz == pytest.approx(0.1, abs=0.015)


def test_same_seed_hides_the_same_and_another_seed_does_not(train):
    assert (hidden_part(train) == hidden_part(train)).all()
    assert (hidden_part(train) != hidden_part(train, seed=2)).any()


def test_every_user_keeps_at_least_one_interaction(train):
    visible = Validation.hide_share(train, 0.9, 1).visible
    assert (np.diff(visible.indptr) >= 1).all()
    assert visible.has_sorted_indices


def test_data_too_small_to_hide_anything_has_no_validation_part():
    assert Validation.hide_share(csr_array(np.eye(5, dtype=np.float32)), 0.5, 1) is None


def test_ranking_all_hidden_items_first_scores_one_and_last_scores_zero(train):
    validation = Validation.hide_share(train, 0.1, 1)
    hidden = torch.from_numpy(hidden_part(train))
    assert validation.ndcg(lambda users: hidden[users].clone()) == pytest.approx(1.0)
    assert validation.ndcg(lambda users: -hidden[users].clone()) < 0.1


def test_hand_worked_score():
    # 150 items, one user; item 1 of its two is hidden and ranked second: 1 / log2(3).
    train = csr_array(([1.0, 1.0], ([0, 0], [0, 1])), shape=(1, 150), dtype=np.float32)
    validation = next(
        found
        for seed in range(20)
        if (found := Validation.hide_share(train, 0.6, seed)) is not None
        and found.visible.indices.tolist() == [0]
    )
    scores = torch.arange(150, 0, -1, dtype=torch.float32)[None]
    scores[0, [1, 2]] = torch.tensor([148.5, 149.5])  # item 0 is in training and does not count
    assert validation.ndcg(lambda users: scores.clone()) == pytest.approx(1 / np.log2(3))
