"""A file of one's own, in whatever form -> a dataset under a name: recognised, read, kept."""
