"""What other code is handed of a fold, and what it reports of it, every value checked."""

from ecv_core.jobs.tracking.handed import Handed
from ecv_core.jobs.tracking.reported import Measured, measure

__all__ = ["Handed", "Measured", "measure"]
