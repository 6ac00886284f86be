"""What the page Baselines is made of."""
