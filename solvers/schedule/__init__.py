"""Exact schedules and their bounds, one file per method.

* `brute_force`: `BruteForce`, every plan through the referee
* `cp_sat`: `CpSat`, the gate model (`gate_model`)
* `milp`: `Milp`, the phase model (`phase_model`)
* `labels`: `LabelDp`, the dynamic programme
* `thinned`: `Thinned`, any of them on fewer options (`cover`)
* `bounds`: `best_bounds` and `Ideal` (`path`, `renewal`, `ideal`)

Nothing is imported here: OR-Tools and PuLP load with the method that needs them.
"""
