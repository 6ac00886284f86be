"""What people give: how much of it is read, where it is read, how it is written."""
