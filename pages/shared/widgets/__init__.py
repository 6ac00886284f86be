"""Widgets and words that several pages show."""
