import numpy as np
from numpy.typing import NDArray

import ecv_core as ecv


def upper_half(hits: NDArray[np.bool_], held_out: NDArray[np.intp]) -> NDArray[np.intp]:
    total: NDArray[np.intp] = hits[:, :5].sum(axis=1)
    return total


metric = ecv.register_metric(ecv.Metric("upper-half", upper_half, unit="items"))
run = ecv.evaluate("synthetic", "popular", metric=metric, rule="fixed", min_folds=2)
print(run.spec.metric_name)
