import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import ecv_core as ecv


class Popular:
    def fit(self, matrix: csr_array) -> None:
        self.counts = np.asarray(matrix.sum(axis=0), dtype=np.float64).ravel()

    def score(self, users: NDArray[np.intp]) -> NDArray[np.float64]:
        return np.tile(self.counts, (len(users), 1))


events = ecv.load("synthetic")
run = ecv.evaluate((events.users, events.items), Popular(), name="mine", rule=ecv.Fixed(folds=1))
print(run.mean)
data = ecv.Data.from_frame(ecv.datasets().assign(user=1, item=2))
print(len(data.frame))
