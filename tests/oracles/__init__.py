"""Evaluators and models built differently from the library, to check it against."""
