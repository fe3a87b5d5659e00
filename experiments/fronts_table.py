"""Tables of operators and their fronts for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from elkhound.experiments.output import cycles

if TYPE_CHECKING:
    from rich.console import Console

LISTED = 24  # rows of a front that are printed
LEAST = 9  # columns that names and splits get on a narrow console
WIDE = 130  # columns below which cells take several lines, and fewer are shown


def print_summary(console: Console, document: dict[str, Any]) -> None:
    """Print a row per distinct operator."""
    headings = ["splits", "plans", "execute front", "options", "4-field front"]
    keys = ["splits", "plans", "execute_plans", "options", "four_field_options"]
    if document["epsilon"] is not None:
        headings.append(f"thinned {100 * document['epsilon']:g} %")
        keys.append("thinned_options")
    rows = [
        (
            *_named(operator),
            operator["kind"],
            *(str(operator[key]) for key in keys),
            *_least(operator, document["clock_hz"]),
        )
        for operator in document["operators"]
    ]
    _print(
        console,
        f"{_heading(document)}: {len(rows)} distinct operators",
        ("operator", "like it", "kind"),
        (*headings, "least KiB", "least t", "least h"),
        rows,
    )
    console.print(
        "elkhound options … --op NAME: the fronts of one of them", markup=False
    )


def print_operator(
    console: Console, document: dict[str, Any], chosen: int | None
) -> None:
    """Print an operator's execute front, or the preload states of a chosen plan."""
    operator = document["operator"]
    dims = ", ".join(f"{name}={size}" for name, size in operator["dims"].items())
    for line in (
        f"{operator['name']} ({operator['kind']}, {dims}) of {_heading(document)}",
        *_counts(document),
    ):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    plans = document["execute_front"]
    if chosen is None:
        _print_plans(console, document, plans)
    else:
        _print_states(console, document, plans[chosen])


def _counts(document: dict[str, Any]) -> Iterator[str]:
    operator = document["operator"]
    yield (
        f"{operator['splits']} splits, {operator['plans']} with their rotations; "
        f"{operator['execute_plans']} on the execute front, {operator['options']} "
        f"options with their preload states, {operator['four_field_options']} on the "
        "four-field front"
    )
    if operator["thinned_options"] is not None:
        yield (
            f"thinned to {100 * document['epsilon']:g} %: "
            f"{operator['thinned_options']} options stand for all"
        )
    free_bytes = document["usable_bytes"] - document["resident_bytes"]
    plans = document["execute_front"]
    fit = sum(plan["execute_bytes"] <= free_bytes for plan in plans)
    yield (
        f"{operator['hbm_bytes']} B from HBM whatever the split; "
        f"{document['usable_bytes']} B of SRAM per core, {document['resident_bytes']} "
        f"B held for other operators: {fit} of {len(plans)} plans fit"
    )


def _print_plans(
    console: Console, document: dict[str, Any], plans: Sequence[dict[str, Any]]
) -> None:
    shown = _evenly(plans)
    left_out = f", {len(shown)} of {len(plans)}" if len(shown) < len(plans) else ""
    clock_hz = document["clock_hz"]
    wide = console.width >= WIDE
    rows = [
        (
            str(plan["execute_plan"]),
            _by_name(plan["splits"]),
            *([_rotations(plan)] if wide else []),
            f"{plan['use']:.1%}",
            f"{plan['padding']:.3f}",
            _kib(plan["execute_bytes"]),
            cycles(plan["cycles_after_distribute"], clock_hz),
            *([str(plan["exchange_cycles"])] if wide else []),
            _span([_kib(s["preload_bytes"]) for s in plan["preload_states"]]),
            _span([str(s["distribute_cycles"]) for s in plan["preload_states"]]),
        )
        for plan in shown
    ]
    _print(
        console,
        f"execute front{left_out}: none other is as good in execute KiB, time and "
        "exchange, so time may rise with KiB; time without distribution",
        ("plan", "splits", *(["rotations"] if wide else [])),
        (
            "cores",
            "padding",
            "execute KiB",
            "time",
            *(["exchange"] if wide else []),
            "preload KiB",
            "distribute",
        ),
        rows,
    )


def _rotations(plan: dict[str, Any]) -> str:
    rotations = plan["rotations"].items()
    return "; ".join(f"{name} {_by_name(cut)}" for name, cut in rotations) or "–"


def _print_states(
    console: Console, document: dict[str, Any], plan: dict[str, Any]
) -> None:
    clock_hz = document["clock_hz"]
    rows = [
        (
            str(state["option"]),
            _by_name(state["preload_shares"]) or "–",
            _kib(state["preload_bytes"]),
            cycles(state["distribute_cycles"], clock_hz),
            cycles(state["preload_cycles"], clock_hz),
            cycles(state["execute_cycles"], clock_hz),
        )
        for state in plan["preload_states"]
    ]
    _print(
        console,
        f"plan {plan['execute_plan']}: {_by_name(plan['splits'])}, "
        f"{_kib(plan['execute_bytes'])} KiB, "
        f"{cycles(plan['cycles_after_distribute'], clock_hz)} without distribution",
        ("option", "share of HBM's delivery 1/g"),
        ("preload KiB", "distribute", "preload h", "execute t"),
        rows,
    )


def _heading(document: dict[str, Any]) -> str:
    return f"{document['model']} on {document['chip']}, {document['cores']} cores"


def _named(operator: dict[str, Any]) -> tuple[str, str]:
    return operator["name"], str(len(operator["names"]))


def _least(operator: dict[str, Any], clock_hz: int) -> tuple[str, str, str]:
    return (
        _kib(operator["least_execute_bytes"]),
        cycles(operator["least_execute_cycles"], clock_hz),
        cycles(operator["least_preload_cycles"], clock_hz),
    )


def _evenly(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return at most `LISTED` rows at even distances, the first and the last."""
    if len(rows) <= LISTED:
        return list(rows)
    last = len(rows) - 1
    return [rows[k * last // (LISTED - 1)] for k in range(LISTED)]


def _span(texts: list[str]) -> str:
    """Return the first and the last of what runs from one to the other."""
    return texts[0] if texts[0] == texts[-1] else f"{texts[0]} … {texts[-1]}"


def _by_name(numbers: dict[str, int]) -> str:
    return " · ".join(f"{name} {number}" for name, number in numbers.items())


def _kib(size_bytes: int) -> str:
    return f"{size_bytes / 1024:.1f}"


def _print(
    console: Console,
    title: str,
    words: Sequence[str],
    numbers: Sequence[str],
    rows: Sequence[Sequence[str]],
) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    grid = Table(
        title=Text(title),
        box=box.SIMPLE_HEAD,
        title_justify="left",
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    fit = tuple if console.width >= WIDE else _several_lines
    for place, heading in enumerate(words):
        longest = max(len(row[place]) for row in rows)
        grid.add_column(heading, overflow="fold", min_width=min(longest, LEAST))
    for heading in fit(numbers):
        grid.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        grid.add_row(*map(Text, (*row[: len(words)], *fit(row[len(words) :]))))
    console.print(grid)


def _several_lines(cells: Sequence[str]) -> tuple[str, ...]:
    """Break numbers and headings where they may be, for a narrow console."""
    broken = (cell.replace(" … ", "\n… ").replace(" = ", "\n") for cell in cells)
    return tuple(
        cell if cell[:1].isdigit() else cell.replace(" ", "\n") for cell in broken
    )
