"""The solver libraries behind the exact methods, each known to one file only.

`cp_sat` runs OR-Tools, `pulp` runs HiGHS and CBC; `present` says what is installed.
Importing this package loads none of them.
"""

from elkhound.solvers.backends.present import Backend, Probe, available, probe

__all__ = ["Backend", "Probe", "available", "probe"]
