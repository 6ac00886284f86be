"""Many runs as one: recorded on disk, or live in the database."""
