"""The parts of the Splits page."""
