"""Exact methods: proofs of how good a plan can be. Imports `elkhound.model` only."""
