"""Who may do what in a dashboard that several people use."""
