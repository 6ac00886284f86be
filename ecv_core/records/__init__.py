"""What the stages hand to each other: frozen records, no I/O, only derived values."""

__version__ = "0.2.0"
