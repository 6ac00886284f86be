# ruff: isort: skip_file
"""What `import ecv_core as ecv` offers, and where it is: each loads when it is first used.

The reference on the site has these names in this order, under these headings.
"""

# Evaluate, choose, tune
from .library.evaluate import evaluate as evaluate
from .library.evaluate import select as select
from .jobs.plans.select import Selected as Selected
from .library.evaluate import tune as tune
from .library.evaluate import power as power
from .library.evaluate import study as study
from .library.evaluate import orders as orders

# Runs
from .library.gate import gate as gate
from .library.run import Run as Run
from .library.run import Runs as Runs
from .library.run import runs as runs
from .library.run import report as report
from .library.run import figure as figure

# Data, folds and metrics
from .library.data import Data as Data
from .library.data import add as add
from .library.stages import datasets as datasets
from .library.stages import load as load
from .library.stages import split as split
from .splits import fold_matrices as fold_matrices
from .library.stages import metrics as metrics
from .evaluation.metrics import Metric as Metric
from .evaluation.metrics import register_metric as register_metric
from .splits import Strategy as Strategy
from .splits import register_split as register_split
from .library.stages import algorithms as algorithms
from .records.interactions import Interactions as Interactions
from .records.interactions import Folds as Folds

# Intervals
from .stopping.new_data import NewDataInterval as NewDataInterval
from .stopping.new_data import new_data_interval as new_data_interval

# Code of your own
from .library.track import track as track
from .library.track import Tracked as Tracked
from .models.base import Algorithm as Algorithm
from .records.parameters import Parameter as Parameter
from .selection.pruner import FoldPruner as FoldPruner

# Estimators of scikit-learn
from .estimators.validation import cross_validate as cross_validate
from .estimators.validation import CrossValidated as CrossValidated
from .estimators.search import EFoldRandomizedSearchCV as EFoldRandomizedSearchCV
from .estimators.search import EFoldSearchCV as EFoldSearchCV
from .evaluation.scoring import sample_scores as sample_scores

# Rules
from .stopping import EFold as EFold
from .stopping import Precision as Precision
from .stopping import StdStagnation as StdStagnation
from .stopping import Fixed as Fixed
from .stopping import Never as Never
from .stopping import StoppingRule as StoppingRule
from .stopping import Rule as Rule
from .stopping import register_rule as register_rule
from .records.run import Decision as Decision
from .records.run import FoldResult as FoldResult

# Errors
from .records import errors as errors

__version__: str
