import numpy as np
import torch
from scipy.sparse import csr_array

from ecv_core.models.triple_net import Triples

# Users 0 and 1; the baskets of user 0 are {0, 2, 5} and {1, 4} and {3} alone, of user 1 {1, 2}.
TRAIN = csr_array(np.array([[1, 1, 1, 1, 1, 1], [0, 1, 1, 0, 0, 0]], dtype=np.float32))
BASKETS = np.array([7, 3, 7, 9, 3, 7, 7, 7])
TOGETHER = {(0, 0): {2, 5}, (0, 2): {0, 5}, (0, 5): {0, 2}, (0, 1): {4}, (0, 4): {1}} | {
    (1, 1): {2},
    (1, 2): {1},
}


def a_pass(seed, size=100):
    triples = Triples(TRAIN, BASKETS, torch.device("cpu"))
    random = torch.Generator().manual_seed(seed)
    batches = list(triples.shuffled_batches(size, random))
    return [
        triple for batch in batches for triple in zip(*(b.tolist() for b in batch), strict=True)
    ]


def test_a_pass_has_every_interaction_that_was_not_bought_alone_once():
    for size in (1, 3, 100):
        found = a_pass(1, size)
        assert sorted((user, item) for user, item, _ in found) == sorted(TOGETHER)
    assert a_pass(1) != a_pass(2)


def test_the_other_item_is_of_the_same_users_same_basket_and_any_of_them_alike():
    counts = {}
    for seed in range(400):
        for user, item, other in a_pass(seed):
            assert other in TOGETHER[user, item]
            counts[user, item, other] = counts.get((user, item, other), 0) + 1
    for item in (0, 2, 5):  # two others each: 200 times expected, with a deviation of 10
        for other in TOGETHER[0, item]:
            assert abs(counts[0, item, other] - 200) < 50


def test_baskets_of_one_leave_nothing():
    alone = Triples(TRAIN, np.arange(8), torch.device("cpu"))
    assert len(alone) == 0
