from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

import ecv_core as ecv


def by_item(
    data: ecv.Interactions, k: int, seed: int, settings: Mapping[str, object]
) -> NDArray[np.int32]:
    folds: NDArray[np.int32] = data.items % np.int32(k)
    return folds


folds: ecv.Folds = ecv.split("synthetic", ecv.Strategy("by-item", by_item), k=3)
print(ecv.fold_matrices(ecv.load("synthetic"), folds, 0).train.shape)
print(ecv.register_split(by_item).title)
