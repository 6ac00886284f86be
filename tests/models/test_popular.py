import numpy as np
from scipy.sparse import csr_array

from ecv_core.models import algorithm


def test_score_is_the_items_number_of_training_interactions():
    train = csr_array(np.array([[1, 0, 1, 0], [1, 0, 0, 0]], dtype=np.float32))
    model = algorithm("popular").build({})
    model.fit(train, seed=0)
    assert model.score(np.array([1, 0])).tolist() == [[2, 0, 1, 0], [2, 0, 1, 0]]
