import numpy as np

import ecv_core as ecv

outcome = ecv.orders([0.301, 0.322, 0.314, 0.309], ecv.StdStagnation(), draws=50)
stop: float = outcome.mean_stop
print(stop, ecv.orders(np.array([0.3, 0.4, 0.5]), "fixed").mean_stop)
try:
    ecv.orders([0.1], ecv.EFold(alpha=-1.0))
except ecv.errors.InputError as error:
    print(error)
pruner = ecv.FoldPruner(k=3, trials=5)
print(pruner, ecv.Precision(tolerance=0.03, adjust_by=["popular"]), ecv.__version__)
