"""Widgets that pages share or that would make a page too long to read."""
