"""What the page Runs is made of."""
