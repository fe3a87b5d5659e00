"""Links between the cores, and from HBM to them, shared by max-min fairness."""
