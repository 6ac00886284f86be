import numpy as np
from scipy.sparse import csr_array

from ecv_core.models import algorithm


def test_score_is_the_items_number_of_training_interactions():
    train = csr_array(np.array([[1, 0, 1, 0], [1, 0, 0, 0]], dtype=np.float32))
    model = algorithm("popular").build({})
    model.fit(train, seed=0)
    assert model.score(np.array([1, 0])).tolist() == [[2, 0, 1, 0], [2, 0, 1, 0]]


def test_in_batches_an_item_counts_once_in_each_as_in_recbole() -> None:
    # Item 0 is everybody's, item 1 nobody's; with 40 interactions and batches of 10 of them each
    # of 4 batches has item 0 about five times, and counts it once, as whatever else it has.
    train = np.zeros((20, 6), dtype=np.float32)
    train[:, 0] = 1
    train[np.arange(20), 2 + np.arange(20) % 4] = 1
    plain, batched = (algorithm("popular").build({"batch_size": size}) for size in (0, 20))
    for model in (plain, batched):
        model.fit(csr_array(train), seed=3)
    plain_scores, scores = (model.score(np.array([0]))[0].tolist() for model in (plain, batched))
    assert plain_scores == [20, 0, 5, 5, 5, 5]
    assert scores[0] == 4
    assert max(scores) == 4
    assert 0 < scores[1] <= 4  # only ever drawn as a negative


def test_a_parameter_that_came_later_is_no_part_of_the_spec_at_its_default() -> None:
    # so that folds recorded before it are found
    known = algorithm("popular")
    assert known.resolve({}) == known.resolve({"batch_size": 0}) == ()
    assert known.resolve({"batch_size": "2048"}) == (("batch_size", 2048),)
    assert known.with_defaults(()) == {"batch_size": 0}
