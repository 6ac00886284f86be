"""A split taken apart: who is learnt from and tested on, from when, what leaks, what is left."""
