"""Figures of the papers and studies of ours: measured, drawn, and held against them."""
