"""Runs whose folds somebody else's code computes: handed out, reported, kept like any other."""

from ecv_core.tracking.asked import ask, tell, wait_for
from ecv_core.tracking.beginning import begin
from ecv_core.tracking.handed import Handed
from ecv_core.tracking.reported import Measured, measure

__all__ = ["Handed", "Measured", "ask", "begin", "measure", "tell", "wait_for"]
