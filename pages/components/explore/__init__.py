"""What the Explore page is made of."""
