"""The front page: what e-fold does, as a race that plays by itself, and the four ways in."""
