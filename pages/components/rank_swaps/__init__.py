"""What splits do to the ranking, as a section of a page."""

from pages.components.rank_swaps.section import rank_swaps_section

__all__ = ["rank_swaps_section"]
