"""Which runs can be compared fairly, and what paired tests say of each such pair."""
