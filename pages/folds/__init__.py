"""What the page How many folds? is made of."""
