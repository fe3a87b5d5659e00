"""Flags that several verbs share, and their value types."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

import click

from elkhound.experiments.source import DEFAULT_CHIP, ModelFlags
from elkhound.model.errors import BadInputError, nearest
from elkhound.model.limits import Limits

Function = TypeVar("Function", bound=Callable[..., Any])

CONTENTION_RULES = ("none", "stretch", "charge")
MOST_WORKERS = 256  # HiGHS never ends with thousands of threads


class OneOf(click.ParamType):  # type: ignore[type-arg]
    """One of a few words; a wrong one is answered with the nearest."""

    name = "word"

    def __init__(self, *words: str) -> None:
        self.words = words

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return what help shows for the value."""
        return "|".join(self.words)

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str:
        """Return the word if it is legal."""
        if value not in self.words:
            self.fail(f"{value!r} ({nearest(value, list(self.words))})", param, ctx)
        return str(value)


class Number(click.ParamType):  # type: ignore[type-arg]
    """A number within a range.

    Parameters
    ----------
    name : str
        What help calls it.
    noun : str
        What a word that is no number should have been.
    legal : callable
        Whether a number is in the range.
    must : str
        The range, for the refusal.
    """

    def __init__(
        self, name: str, noun: str, legal: Callable[[float], bool], must: str
    ) -> None:
        self.name = name
        self._noun = noun
        self._legal = legal
        self._must = must

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Return the number if it is legal."""
        try:
            number = float(value)
        except ValueError:
            self.fail(f"{value!r} is not a {self._noun}", param, ctx)
        if not self._legal(number):
            self.fail(f"is {value}, must be {self._must}", param, ctx)
        return number


SECONDS = Number(
    "seconds",
    "number of seconds",
    lambda seconds: math.isfinite(seconds) and seconds > 0,
    "above 0 seconds and finite",
)
GAP = Number("gap", "number", lambda gap: 0 <= gap < 1, "in [0, 1): 0.01 stops at 1 %")
EPSILON = Number(
    "eps",
    "number",
    lambda epsilon: 0.001 <= epsilon <= 1,
    "in [0.001, 1]: 0.05 is 5 %",
)


class Bindings(click.ParamType):  # type: ignore[type-arg]
    """Values of symbols: a=1,b=2."""

    name = "a=1,b=2"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[tuple[str, int], ...]:
        """Return the pairs if all are legal."""
        if isinstance(value, tuple):
            return value
        pairs = []
        for piece in value.split(","):
            symbol, _, number = (part.strip() for part in piece.partition("="))
            whole = number.isascii() and number.isdecimal() and len(number) <= 16
            if not symbol or not whole or not 1 <= int(number) <= 10**15:
                self.fail(
                    f"{piece[:80]!r} is not of the form symbol=positive integer "
                    "of at most 10^15",
                    param,
                    ctx,
                )
            pairs.append((symbol, int(number)))
        return tuple(pairs)


def merged(
    context: click.Context, parameter: click.Parameter, value: Any
) -> dict[str, int]:
    """Return the symbols of all `--bind` flags; none may have two values."""
    together: dict[str, int] = {}
    for pairs in value:
        for symbol, number in pairs:
            if together.get(symbol, number) != number:
                raise click.BadParameter(
                    f"{symbol} is bound to {together[symbol]} and to {number}",
                    context,
                    parameter,
                )
            together[symbol] = number
    return together


class Named(click.ParamType):  # type: ignore[type-arg]
    """A choice about one node: NAME=value; the name may hold an equals sign."""

    name = "choice"

    def __init__(self, kind: type[str] | type[int]) -> None:
        self.kind = kind

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[str, str | int]:
        """Return name and value if both are there."""
        if isinstance(value, tuple):
            return value
        name, _, chosen = (part.strip() for part in value.rpartition("="))
        whole = chosen.isdecimal() and len(chosen) <= 16
        if not name or not chosen or (self.kind is int and not whole):
            what = "then or else"
            if self.kind is int:
                what = "a whole number of at most 16 digits"
            self.fail(f"{value[:80]!r} is not a node's name, = and {what}", param, ctx)
        return name, self.kind(chosen)


def _by_name(
    context: click.Context, parameter: click.Parameter, value: Any
) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    for name, choice in value:
        if chosen.setdefault(name, choice) != choice:
            raise click.BadParameter(
                f"{name} is {chosen[name]} and {choice}", context, parameter
            )
    return chosen


def verbatim(*lines: str) -> str:
    """Return lines that help shows as they are; an empty one parts paragraphs."""
    blocks = "\n".join(lines).split("\n\n")
    return "\n\n".join("\b\n" + block for block in blocks)


def together(function: Function, *flags: Callable[[Any], Any]) -> Function:
    """Add flags; help lists them in this order."""
    wrapped: Any = function
    for flag in reversed(flags):
        wrapped = flag(wrapped)
    return wrapped  # type: ignore[no-any-return]


bind_flag = click.option(
    "--bind",
    type=Bindings(),
    multiple=True,
    callback=merged,
    help="Values of the model's symbols; may be repeated.",
)
phase_flag = click.option(
    "--phase",
    metavar="NAME",
    help="Phase of a built-in workload.  [default: its first]",
)


ONNX_FLAGS = (
    "weights",
    "activations",
    "no_patterns",
    "branches",
    "trips",
    "unknown",
    "strict",
)
"""Parameters that `onnx_flags` adds."""


def onnx_flags(function: Function) -> Function:
    """Add the flags that say how an ONNX file is read."""
    return together(
        function,
        click.option(
            "--weight",
            "weights",
            multiple=True,
            metavar="NAME",
            help="Graph input that is streamed from HBM, whatever the rule says.",
        ),
        click.option(
            "--activation",
            "activations",
            multiple=True,
            metavar="NAME",
            help="Graph input that starts on the chip, whatever the rule says.",
        ),
        click.option(
            "--no-patterns",
            is_flag=True,
            help="Keep primitives: do not recognise norms, softmax and the like.",
        ),
        click.option(
            "--branch",
            "branches",
            type=Named(str),
            multiple=True,
            callback=_by_name,
            help="Branch of an If that is decided at run time.  [default: the larger]",
            metavar="NAME=then|else",
        ),
        click.option(
            "--trip",
            "trips",
            type=Named(int),
            multiple=True,
            callback=_by_name,
            help="Iterations of a Loop whose count is known only at run time.",
            metavar="NAME=N",
        ),
        click.option(
            "--unknown",
            metavar="error|zero|FILE",
            help="Operators that are not known: refuse the file, let them cost "
            "nothing and warn, or take shape and cost from a YAML file; installed "
            "packages describe theirs.  "
            "[default: error]",
        ),
        click.option(
            "--strict", is_flag=True, help="Refuse an ONNX file that gives a warning."
        ),
    )


def graph_flags(function: Function) -> Function:
    """Add the flags that say how a model is read."""
    return together(
        function,
        bind_flag,
        phase_flag,
        onnx_flags,
        click.option(
            "--spill",
            type=OneOf("none", "auto"),
            help="auto: move activations out to HBM until all operators fit the chip."
            "  [default: none]",
        ),
    )


chip_flag = click.option(
    "--chip",
    metavar="NAME|FILE",
    help=f"Chip preset or YAML file.  [default: {DEFAULT_CHIP}]",
)


tile_cost_flag = click.option(
    "--tile-cost",
    metavar="device|tree|FILE",
    help="Cycles of a tile: formulas of the chip's core, regression trees fitted to "
    "them, or a CSV of measured tiles.  [default: device]",
)


def problem_flags(function: Function) -> Function:
    """Add the flags that turn a model into a schedule problem."""
    return graph_flags(
        together(
            function,
            chip_flag,
            tile_cost_flag,
            click.option(
                "--fuse",
                type=OneOf("none", "pareto-join", "exact"),
                help="Let operators run as one where that is faster, their "
                "intermediates left where they are made: by Pareto join of the "
                "members' plans, or from every combination.  [default: none]",
            ),
            click.option(
                "--contention",
                type=OneOf(*CONTENTION_RULES),
                help="How a preload slows an execute.  [default: the problem file's, "
                "or stretch]",
            ),
            click.option(
                "--max-outstanding",
                type=click.IntRange(min=0),
                help="K: preloads outstanding at once.  [default: the problem file's, "
                "or no limit]",
            ),
        )
    )


def limit_flags(function: Function) -> Function:
    """Add the flags that bound a method."""
    defaults: Limits[Any] = Limits()
    return together(
        function,
        click.option(
            "--time-limit",
            type=SECONDS,
            default=defaults.seconds,
            show_default=True,
            help="Wall-clock limit of each method.",
        ),
        click.option(
            "--gap",
            type=GAP,
            default=defaults.relative_gap,
            show_default=True,
            help="Stop an exact method at this relative gap; 0.01 is 1 %.",
        ),
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            default=defaults.seed,
            show_default=True,
            help="Seed of everything random.",
        ),
        click.option(
            "--workers",
            type=click.IntRange(min=1, max=MOST_WORKERS),
            default=defaults.workers,
            show_default=True,
            help="Threads a solver may use; 1 makes CP-SAT repeatable.",
        ),
    )


def run_flags(function: Function) -> Function:
    """Add the flags of the run directory."""
    return together(
        function,
        click.option(
            "--run-dir",
            type=click.Path(path_type=Path),
            help="Where everything is kept.  [default: runs/<time>-<name>]",
        ),
        click.option("--no-plots", is_flag=True, help="Draw no plots."),
    )


thin_flag = click.option(
    "--thin",
    type=EPSILON,
    help="Thin the options: each left out is within a factor 1 + EPS of one kept; "
    "counted in permille.  [default: keep all]",
)


pin_flag = click.option(
    "--pin",
    metavar="FILE",
    help="Keep given decisions: options, splits and gates of some operators (YAML).",
)


prove_flag = click.option(
    "--prove",
    is_flag=True,
    help="Try every proof again by another formulation, from nothing, and compare.",
)


json_flag = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object and nothing else."
)


def permille(share: float | None) -> int | None:
    """Return a share in permille, None for none.

    Examples
    --------
    >>> permille(0.05)
    50
    """
    return None if share is None else round(1000 * share)


def model_flags(values: dict[str, Any]) -> ModelFlags:
    """Return the model flags among a verb's values."""
    return ModelFlags(
        bind=values["bind"],
        phase=values.get("phase"),
        weights=values["weights"],
        activations=values["activations"],
        patterns=not values["no_patterns"],
        spill=values.get("spill"),
        fuse=values.get("fuse"),
        branches=values["branches"],
        trips=values["trips"],
        unknown=values["unknown"],
        strict=values["strict"],
        chip=values.get("chip"),
        tile_cost=values.get("tile_cost"),
        contention=values.get("contention"),
        max_outstanding=values.get("max_outstanding"),
    )


def refuse_given(context: click.Context, names: Collection[str], what: str) -> None:
    """Refuse the parameters of these names that the user gave: they do nothing here."""
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        is_given = source is click.core.ParameterSource.COMMANDLINE
        if parameter.name in names and is_given:
            raise BadInputError(
                f"has no effect {what}", code="no-effect", where=parameter.opts[0]
            )


def limits_of(values: dict[str, Any]) -> Limits[Any]:
    """Return the limits among a verb's values."""
    return Limits(
        seconds=values["time_limit"],
        relative_gap=values["gap"],
        seed=values["seed"],
        workers=values["workers"],
    )
