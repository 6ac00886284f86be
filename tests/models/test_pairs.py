import numpy as np
import torch
from scipy.sparse import csr_array

from ecv_core.models.device import BinaryMatrix
from ecv_core.models.pair_net import LookupByKeys, LookupByMarks, TrainingPairs


def test_negatives_are_items_the_user_does_not_have():
    dense = (np.random.default_rng(0).random((20, 200)) < 0.05).astype(np.float32)
    pairs = TrainingPairs(csr_array(dense), torch.device("cpu"))
    users = torch.arange(20).repeat(2000)
    items = pairs.sample_negatives(users, torch.Generator().manual_seed(1))
    # A draw hits with chance 0.05, so four draws in a row do with 6e-6: none or one of 40,000.
    assert dense[users, items].sum() <= 3
    assert len(torch.unique(items)) == 200


def test_negatives_are_spread_evenly_over_what_is_left():
    dense = np.zeros((1, 10), dtype=np.float32)
    dense[0, :5] = 1
    pairs = TrainingPairs(csr_array(dense), torch.device("cpu"))
    users = torch.zeros(10_000, dtype=torch.int64)
    counts = torch.bincount(
        pairs.sample_negatives(users, torch.Generator().manual_seed(1)), minlength=10
    )
    # Half of the items are the user's, and so are 1/16 of what four draws end with.
    assert abs(int(counts[:5].sum()) - 625) < 120
    assert (counts[5:] - 1875).abs().max() < 200


def test_only_items_of_the_user_are_drawn_again():
    dense = (np.random.default_rng(0).random((30, 300)) < 0.02).astype(np.float32)
    users = torch.arange(30).repeat(500)
    random = torch.Generator().manual_seed(1)
    expected = torch.randint(300, (len(users),), generator=random)
    places = range(len(users))
    for _ in range(3):
        places = [place for place in places if dense[users[place], expected[place]]]
        expected[places] = torch.randint(300, (len(places),), generator=random)
    pairs = TrainingPairs(csr_array(dense), torch.device("cpu"))
    items = pairs.sample_negatives(users, torch.Generator().manual_seed(1))
    assert items.tolist() == expected.tolist()


def test_both_lookups_find_the_pairs_of_the_matrix():
    dense = (np.random.default_rng(0).random((30, 300)) < 0.2).astype(np.float32)
    dense[4] = 0
    dense[5] = 1
    users = torch.arange(30).repeat_interleave(300)
    items = torch.arange(300).repeat(30)
    rows = BinaryMatrix.from_csr(csr_array(dense), torch.device("cpu"))
    keys = rows.row_of_entry * 300 + rows.columns
    expected = np.flatnonzero(dense).tolist()
    for lookup in (LookupByKeys(keys, 300), LookupByMarks(rows, keys, 300)):
        assert lookup.indices_of_training_pairs(users, items).tolist() == expected


def test_user_who_has_everything_does_not_hold_it_up():
    pairs = TrainingPairs(csr_array(np.ones((2, 3), dtype=np.float32)), torch.device("cpu"))
    items = pairs.sample_negatives(torch.tensor([0, 1, 1]), torch.Generator().manual_seed(1))
    assert ((items >= 0) & (items < 3)).all()


def test_a_pass_gives_every_pair_once_in_another_order(lopsided):
    pairs = TrainingPairs(lopsided, torch.device("cpu"))
    random = torch.Generator().manual_seed(1)
    passes = []
    for _ in range(2):
        batches = list(pairs.shuffled_batches(10, random))
        assert max(len(users) for users, _ in batches) == 10
        passes.append(
            [pair for u, i in batches for pair in zip(u.tolist(), i.tolist(), strict=True)]
        )
    stored = sorted(zip(*(part.tolist() for part in lopsided.nonzero()), strict=True))
    assert sorted(passes[0]) == sorted(passes[1]) == stored
    assert passes[0] != passes[1]
