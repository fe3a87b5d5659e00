"""tile_cost."""
