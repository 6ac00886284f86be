"""Many runs as one: planned, filled with what is there, computed, recorded, summed up."""
