"""Methods by name: one dictionary per problem, each entry built when it is asked for.

A variant is written behind the name: ``elk-dyn:allocator=knapsack-dp``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from elkhound.model.errors import BadInputError, nearest
from elkhound.model.result import Method, OrderClass


class Role(StrEnum):
    """When a method runs in a comparison, and whether it takes a warm start."""

    HEURISTIC = "heuristic"  # first; its plan may start the exact methods
    BOUND = "bound"  # gives a lower bound and no plan
    EXACT = "exact"  # last, with the best verified plan of its class


Settings = Mapping[str, str]
AnyMethod = Method[Any, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """How a method is built, and what may be written behind its name.

    Parameters
    ----------
    role : Role
        Heuristic, bound or exact.
    summary : str
        One line for `elkhound methods`.
    build : callable
        Takes a value for every setting and returns the method; imports inside.
    settings : mapping of str to tuple of str
        Legal values of each setting, the default first.
    is_complete : bool
        Whether a heuristic, which takes no warm start, proves optima all the same.
    """

    role: Role
    summary: str
    build: Callable[[Settings], AnyMethod]
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_complete: bool = False

    @property
    def proves(self) -> bool:
        """Whether "optimal" of it is a proof."""
        return self.role is Role.EXACT or self.is_complete


class Methods(dict[str, Entry]):
    """The built-in methods of a kind of problem; other packages may bring more.

    Parameters
    ----------
    kind : str
        Kind of problem: the end of the entry points' group.
    """

    def __init__(self, kind: str, entries: Mapping[str, Entry]) -> None:
        super().__init__(entries)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Variant:
    """A method as the user named it, ready to be built.

    Parameters
    ----------
    text : str
        What the user wrote; the name in every table and file.
    entry : Entry
        The method.
    settings : mapping of str to str
        Every setting of the method, defaults filled in.
    origin : str
        Package and version of a method that is not Elkhound's own; else empty.
    """

    text: str
    entry: Entry
    settings: Settings
    origin: str = ""

    @property
    def order(self) -> OrderClass | None:
        """The class of schedules an exact method is to search; None for others."""
        order = self.settings.get("order")
        if self.entry.role is not Role.EXACT or order is None:
            return None
        return order_class(order)

    def build(self) -> AnyMethod:
        """Import and construct the method."""
        return self.entry.build(self.settings)


def order_class(text: str) -> OrderClass:
    """Return the class of schedules that an `order` setting names."""
    name, _, window = text.partition(":")
    return OrderClass.windowed(int(window)) if window else OrderClass(name)


def _brute_force(settings: Settings) -> AnyMethod:
    from elkhound.solvers.schedule.brute_force import BruteForce

    return BruteForce(OrderClass(settings["order"]))


def _cp_sat(settings: Settings) -> AnyMethod:
    from elkhound.solvers.schedule.cp_sat import CpSat

    return CpSat(order_class(settings["order"]))


def _milp(settings: Settings) -> AnyMethod:
    from elkhound.solvers.schedule.milp import Milp

    return Milp(OrderClass(settings["order"]), settings["backend"])


def _dp(settings: Settings) -> AnyMethod:
    from elkhound.solvers.schedule.labels.dp import LabelDp

    return LabelDp(order_class(settings["order"]))


def _ideal(settings: Settings) -> AnyMethod:
    from elkhound.solvers.schedule.bounds import Ideal

    return Ideal()


def _basic(settings: Settings) -> AnyMethod:
    from elkhound.heuristics.schedule import Basic

    return Basic()


def _static(settings: Settings) -> AnyMethod:
    from elkhound.heuristics.schedule import Static

    return Static()


def _elk_dyn(settings: Settings) -> AnyMethod:
    from elkhound.heuristics.schedule import ElkDyn

    if settings["order"] == "permuted":
        return _elk_full(settings)
    return ElkDyn(_allocator(settings["allocator"]))


def _elk_full(settings: Settings) -> AnyMethod:
    from elkhound.heuristics.schedule import ElkFull

    return ElkFull(_allocator(settings["allocator"]))


def _allocator(name: str) -> Any:
    from elkhound.heuristics.allocation import DeltaEfficiency, DeltaHullFill
    from elkhound.solvers.allocation import KnapsackDp

    makers = {
        "delta": DeltaEfficiency,
        "delta-hull-fill": DeltaHullFill,
        "knapsack-dp": KnapsackDp,
    }
    return makers[name]()


_ORDERS = ("free", "identity")
_NUMBER = "<int>"  # stands for any whole number in a legal value
_WINDOW = f"window:{_NUMBER}"
_BACKENDS = ("highs", "cbc")
_ALLOCATORS = ("delta", "delta-hull-fill", "knapsack-dp")

SCHEDULE = Methods(
    "schedule",
    {
        "basic": Entry(Role.HEURISTIC, "preload one operator ahead", _basic),
        "static": Entry(
            Role.HEURISTIC,
            "one split of SRAM for the whole model, the best kept",
            _static,
        ),
        "elk-dyn": Entry(
            Role.HEURISTIC,
            "inductive scheduling with an allocator at each step, identity order",
            _elk_dyn,
            {"allocator": _ALLOCATORS, "order": ("identity", "permuted")},
        ),
        "elk-full": Entry(
            Role.HEURISTIC,
            "elk-dyn in every promising preload order of a layer, the best kept",
            _elk_full,
            {"allocator": _ALLOCATORS},
        ),
        "ideal": Entry(
            Role.BOUND,
            "separate links and memories for preload and execution: a lower bound",
            _ideal,
        ),
        "brute-force": Entry(
            Role.EXACT,
            "every plan through the referee",
            _brute_force,
            {"order": _ORDERS},
        ),
        "cp-sat": Entry(
            Role.EXACT,
            "gate model on OR-Tools CP-SAT",
            _cp_sat,
            {"order": (*_ORDERS, _WINDOW)},
        ),
        "dp": Entry(
            Role.EXACT,
            "label-setting dynamic programme, certifies whole models",
            _dp,
            {"order": ("identity", "free", _WINDOW)},
        ),
        "milp": Entry(
            Role.EXACT,
            "phase model through PuLP",
            _milp,
            {"order": _ORDERS, "backend": _BACKENDS},
        ),
    },
)


def _delta(settings: Settings) -> AnyMethod:
    from elkhound.heuristics.allocation import DeltaEfficiency

    return DeltaEfficiency()


def _delta_hull_fill(settings: Settings) -> AnyMethod:
    from elkhound.heuristics.allocation import DeltaHullFill

    return DeltaHullFill()


def _knapsack_dp(settings: Settings) -> AnyMethod:
    from elkhound.solvers.allocation import KnapsackDp

    return KnapsackDp()


def _allocation_cp_sat(settings: Settings) -> AnyMethod:
    from elkhound.solvers.allocation import CpSat

    return CpSat()


def _allocation_milp(settings: Settings) -> AnyMethod:
    from elkhound.solvers.allocation import Milp

    return Milp(settings["backend"])


def _allocation_brute_force(settings: Settings) -> AnyMethod:
    from elkhound.solvers.allocation import BruteForce

    return BruteForce()


ALLOCATION = Methods(
    "allocation",
    {
        "delta": Entry(
            Role.HEURISTIC, "shrink the operator with the best space per time", _delta
        ),
        "delta-hull-fill": Entry(
            Role.HEURISTIC,
            "Δ over the convex hull, then spend what is left",
            _delta_hull_fill,
        ),
        "knapsack-dp": Entry(
            Role.EXACT, "dynamic programme over Pareto labels", _knapsack_dp
        ),
        "cp-sat": Entry(
            Role.EXACT, "multiple-choice knapsack on CP-SAT", _allocation_cp_sat
        ),
        "milp": Entry(
            Role.EXACT,
            "multiple-choice knapsack through PuLP",
            _allocation_milp,
            {"backend": _BACKENDS},
        ),
        "brute-force": Entry(
            Role.EXACT, "every choice through the referee", _allocation_brute_force
        ),
    },
)


def _best_fit(settings: Settings) -> AnyMethod:
    from elkhound.heuristics.placement import BestFit

    return BestFit(settings["order"])


def _first_fit(settings: Settings) -> AnyMethod:
    from elkhound.heuristics.placement import FirstFit

    return FirstFit(settings["order"])


def _placement_cp_sat(settings: Settings) -> AnyMethod:
    from elkhound.solvers.placement import CpSat

    return CpSat()


def _search(settings: Settings) -> AnyMethod:
    from elkhound.solvers.placement import Search

    return Search()


_FIT_ORDERS = ("best", "size", "area", "start", "duration")

PLACEMENT = Methods(
    "placement",
    {
        "best-fit": Entry(
            Role.HEURISTIC,
            "each buffer into the smallest gap that holds it",
            _best_fit,
            {"order": _FIT_ORDERS},
        ),
        "first-fit": Entry(
            Role.HEURISTIC,
            "each buffer into the lowest gap that holds it",
            _first_fit,
            {"order": _FIT_ORDERS},
        ),
        "cp-sat": Entry(
            Role.EXACT, "rectangles that must not overlap on CP-SAT", _placement_cp_sat
        ),
        "search": Entry(
            Role.EXACT, "place the lowest buffer or delay it, with restarts", _search
        ),
    },
)

SCHEDULE_DEFAULTS = (
    "basic",
    "static",
    "elk-dyn",
    "elk-full",
    "ideal",
    "cp-sat",
    "milp",
)
ALLOCATION_DEFAULTS = ("delta", "delta-hull-fill", "knapsack-dp", "cp-sat", "milp")
PLACEMENT_DEFAULTS = ("best-fit", "first-fit", "search")


def split_names(text: str) -> tuple[str, ...]:
    """Split a comma-separated list of methods, keeping the settings of each together.

    A piece with ``=`` and no ``:`` belongs to the method before it.

    Examples
    --------
    >>> split_names("milp:order=free,backend=cbc,static")
    ('milp:order=free,backend=cbc', 'static')
    """
    names: list[str] = []
    for piece in text.split(","):
        piece = piece.strip()
        if names and "=" in piece and ":" not in piece.split("=", 1)[0]:
            separator = "," if ":" in names[-1] else ":"
            names[-1] += separator + piece
        else:
            names.append(piece)
    return tuple(names)


def variant(text: str, registry: Mapping[str, Entry]) -> Variant:
    """Return the method that `text` names, with every setting checked."""
    name, _, tail = text.partition(":")
    entry, origin = _find(name, registry)
    given = dict(_settings(name, tail, entry)) if ":" in text else {}
    defaults = {key: values[0] for key, values in entry.settings.items()}
    return Variant(text, entry, defaults | given, origin)


def _find(name: str, registry: Mapping[str, Entry]) -> tuple[Entry, str]:
    """Return a built-in method, else an installed one with its package."""
    if name in registry:
        return registry[name], ""
    others: dict[str, str] = {}
    if isinstance(registry, Methods):
        from elkhound.experiments.installed_methods import (
            installed_method,
            installed_methods,
        )

        entry = installed_method(registry.kind, name)
        others = installed_methods(registry.kind)
        if entry is not None:
            return entry, others[name]
    raise BadInputError(
        f"unknown method {name!r}",
        code="unknown-method",
        where="--methods",
        hint=nearest(name, [*registry, *others]),
    )


def variants(texts: tuple[str, ...], registry: Mapping[str, Entry]) -> list[Variant]:
    """Return the methods named, each once."""
    if not texts:
        raise BadInputError("no method is named", code="no-method", where="--methods")
    found = [variant(text, registry) for text in texts]
    for text in texts:
        if texts.count(text) > 1:
            raise BadInputError(
                f"method {text} is named twice", code="repeated", where="--methods"
            )
    return found


def _is_legal(value: str, legal: tuple[str, ...]) -> bool:
    if value in legal:
        return _NUMBER not in value
    head, colon, number = value.partition(":")
    if f"{head}{colon}{_NUMBER}" not in legal:
        return False
    return number.isascii() and number.isdigit() and len(number) < 10


def _settings(name: str, tail: str, entry: Entry) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for piece in tail.split(","):
        key, equals, value = piece.partition("=")
        if not equals:
            raise BadInputError(
                f"method {name}: {piece!r} is not of the form setting=value",
                code="bad-setting",
                where="--methods",
            )
        if key not in entry.settings:
            hint = nearest(key, list(entry.settings)) if entry.settings else ""
            raise BadInputError(
                f"method {name} has no setting {key!r}",
                code="unknown-setting",
                where="--methods",
                hint=hint or "it has none",
            )
        if not _is_legal(value, entry.settings[key]):
            raise BadInputError(
                f"method {name}: {key} cannot be {value!r}",
                code="bad-setting",
                where="--methods",
                hint=nearest(value, list(entry.settings[key])),
            )
        if key in dict(pairs):
            raise BadInputError(
                f"method {name}: {key} is given twice",
                code="repeated",
                where="--methods",
            )
        pairs.append((key, value))
    return pairs
