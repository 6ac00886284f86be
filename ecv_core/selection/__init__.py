"""Which of several is best: contenders are stopped as soon as they can no longer win."""
