"""What the Study page is made of."""
