"""What the page Studies is made of."""
