"""The frame of every page and its address: navigation, links, choices that stay."""
