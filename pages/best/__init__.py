"""Which of several is best: a selection recorded, replayed, started, followed."""
