"""Compare methods on one problem: plan, verify, simulate, and put in one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from elkhound.experiments.fused_groups import Fusion
from elkhound.experiments.kinds import called, kind_of
from elkhound.experiments.methods import Role, variants
from elkhound.experiments.observer import Observer, Silent
from elkhound.experiments.pinning import require_pins
from elkhound.experiments.proving import require_exact
from elkhound.experiments.running import Run
from elkhound.experiments.table import Interrupted, Table
from elkhound.model.chip import Chip
from elkhound.model.errors import BadInputError
from elkhound.model.graph import Graph
from elkhound.model.limits import Limits
from elkhound.model.pin import Pinned
from elkhound.model.placement import Buffer
from elkhound.model.result import Bound
from elkhound.model.schedule import ScheduleProblem


def compare(
    problem: Any,
    methods: Sequence[str] | None = None,
    *,
    chip: Chip | None = None,
    graph: Graph | None = None,
    held: tuple[Buffer, ...] | None = None,
    limits: Limits[Any] | None = None,
    observer: Observer | None = None,
    prove: bool = False,
    thin_permille: int | None = None,
    pins: Pinned | None = None,
    tile_cost: Mapping[str, Any] | None = None,
    bounds: tuple[Bound, ...] | None = None,
    fused: Fusion | None = None,
) -> Table:
    """Plan a problem with several methods and say how far each is from optimal.

    Heuristics run first, then bounds, then exact methods, which get the best verified
    plan of their class of schedules as a warm start. The referee judges every plan;
    every plan it accepts is simulated.

    Parameters
    ----------
    problem : ScheduleProblem, AllocationProblem or PlacementProblem
        What to plan.
    methods : sequence of str or None
        Names, with variants; None for the usual ones of the kind.
    chip : Chip or None
        The chip to simulate; None for the abstract chip of a problem file.
    graph : Graph or None
        What the problem was made of, so that held activations have addresses as
        tensors; None where only their sizes are known.
    held : tuple of Buffer or None
        These activations, where operators of the graph are fused; None: of the graph.
    limits : Limits or None
        Per method; None for the defaults. Its own warm start is offered too.
    observer : Observer or None
        Hears of every start and end.
    prove : bool
        Whether every proof is tried again by another formulation, without a warm
        start; its row is added.
    thin_permille : int or None
        ε in permille: methods see options of a schedule problem thinned (`Thinned`);
        None for all options. Bounds and plans are of the whole problem either way.
    pins : Pinned or None
        Decisions that every plan keeps, made for this problem; a method that cannot
        keep a gate is refused.
    bounds : tuple of Bound or None
        What `Kind.bounds` says of the problem, where it has been asked before.
    tile_cost : mapping or None
        What gave the cycles of the problem's tiles, for the report.
    fused : tuple of FusedGroup or None
        Groups of operators that were tried as one, for the report and the rows.

    Raises
    ------
    BadInputError
        For a method, setting or value that does not exist.
    InfeasibleError
        If no plan can exist, with the smallest capacity that works.
    Interrupted
        On Ctrl-C, with the table of what had ended.
    """
    kind = kind_of(problem)
    names = kind.default_methods if methods is None else tuple(methods)
    chosen = variants(names, kind.registry)
    if prove:
        require_exact(chosen)
    if thin_permille is not None:
        require_schedule(problem, "--thin")
    kind.require_feasible(problem)
    if pins is not None:
        require_pins(chosen, pins, thin=thin_permille is not None, prove=prove)
    hears = observer or Silent()
    run = Run(
        kind, problem, chip, graph, limits or Limits(), names, hears, thin_permille
    )
    run.pins = pins
    run.held = held
    run.tile_cost = tile_cost
    run.fused = fused
    try:
        hears.started("bounds")
        run.find_bounds(bounds)
        for variant in sorted(chosen, key=lambda v: list(Role).index(v.entry.role)):
            hears.started(variant.text)
            run.add(variant)
            hears.finished(variant.text, run.table())
        if prove:
            run.prove(chosen)
    except KeyboardInterrupt as interrupt:
        raise Interrupted(run.table()) from interrupt
    return run.table()


def require_schedule(problem: object, flag: str) -> None:
    """Refuse a flag about options on a problem that is no schedule problem."""
    if not isinstance(problem, ScheduleProblem):
        raise BadInputError(
            f"has no effect on {called(problem)}",
            code="no-effect",
            where=flag,
        )
