"""Mappers of fused workloads, as the FFM paper has and compares them."""
