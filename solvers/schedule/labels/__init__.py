"""Label-setting dynamic programme over the executes (docs/exact-methods.md).

* `classes`: preload states clustered, rounded up for a plan or down for a bound
* `completion`: the least time a label still needs
* `stage`: labels, and what issuing and executing do to them
* `search`: one pass over all stages
* `dp`: the method, passes from coarse to fine
"""
