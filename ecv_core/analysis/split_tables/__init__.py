"""A split -> what it does: the counts of its parts, and the same on ten people of a toy."""
