"""What goes on: the store that sessions share, who looks, what runs."""
