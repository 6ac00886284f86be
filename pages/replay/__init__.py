"""What the Replay page is made of: what is played, how it is shown, and the presentation."""
