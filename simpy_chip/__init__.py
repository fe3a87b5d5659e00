"""simpy_chip."""
