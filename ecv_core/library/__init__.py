"""What `import ecv_core as ecv` offers to notebooks and scripts; its functions load lazily."""
