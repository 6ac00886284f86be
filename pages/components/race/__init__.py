"""What the Race page is made of: two lanes, what was saved, what it is like, what it comes to."""
