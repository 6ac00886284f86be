"""The version, by itself, so that nothing else loads with it."""

__version__ = "0.1.0"
