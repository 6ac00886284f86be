"""Several runs -> which may be compared, what paired tests say, and how their settings differ."""
