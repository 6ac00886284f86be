"""Figures on a page: drawn in place, played, printed."""
