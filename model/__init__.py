"""Nouns: chip, graph, options, problems, plans, referee. Imports nothing of ours."""
