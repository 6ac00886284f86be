"""Models of other libraries, each computed in an environment of its own."""
