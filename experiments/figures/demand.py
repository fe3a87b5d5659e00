"""What a decode step demands of HBM and links while executes never wait.

Figures 6 to 8 of Elk show demands, not what a chip manages: the bandwidth that would
keep executes running back to back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from elkhound.experiments.figures.figure import Line
from elkhound.experiments.source import ModelFlags, Source, read_source
from elkhound.model.chip import Chip
from elkhound.model.schedule import OptionPayload, ScheduleOperator, ScheduleOption

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


@lru_cache(maxsize=4)
def decode_step(model: str, batch: int, seq: int, layers: int) -> Source:
    """Return the problem of a decode step on the default chip."""
    bind = {"batch": batch, "seq": seq, "layers": layers}
    return read_source(model, ModelFlags(bind=bind))


def fastest_within(operator: ScheduleOperator, room_bytes: int) -> list[ScheduleOption]:
    """Return the preload states of the fastest execute plan that fits a space.

    States are sorted by preload bytes. An operator without a plan that fits takes the
    smallest it has.
    """
    fits = [o for o in operator.options if o.execute_bytes <= room_bytes]
    if not fits:
        least = min(option.execute_bytes for option in operator.options)
        fits = [o for o in operator.options if o.execute_bytes == least]
    best = min(fits, key=lambda option: (_alone_cycles(option), option.execute_bytes))
    states = (o for o in operator.options if o.execute_plan == best.execute_plan)
    return sorted(states, key=lambda option: option.preload_bytes)


def _alone_cycles(option: ScheduleOption) -> int:
    """Return what an execute takes once its data is distributed."""
    return option.execute_cycles - (option.distribute_cycles or 0)


def payload_of(option: ScheduleOption) -> OptionPayload:
    """Return what an option of a model moves."""
    if option.payload is None:
        raise ValueError("an option of a problem file does not say what it moves")
    return option.payload


@dataclass(frozen=True, slots=True)
class Gate:
    """How much must have been delivered, and how much can have been, at a time."""

    time: float
    least: float
    most: float


def smoothest(start: float, gates: Sequence[Gate]) -> Iterator[tuple[int, float]]:
    """Yield (gate, amount) where the smoothest course through all gates bends.

    The course is a string pulled tight through the gates: of all that pass, it has the
    smallest highest rate, and wherever its rate changes it touches a gate's end.

    Parameters
    ----------
    start : float
        Amount at time 0.
    gates : sequence of Gate
        By increasing time above 0; the last has `least` equal to `most`.
    """
    time, amount, first = 0.0, start, 0
    while first < len(gates):
        low, high = -float("inf"), float("inf")
        low_at = high_at = first
        for k in range(first, len(gates)):
            gate = gates[k]
            span = gate.time - time
            below, above = (gate.least - amount) / span, (gate.most - amount) / span
            if below > high or above < low:
                break
            if below >= low:
                low, low_at = below, k
            if above <= high:
                high, high_at = above, k
        else:
            yield len(gates) - 1, gates[-1].least
            return
        turn = high_at if below > high else low_at
        amount = gates[turn].most if below > high else gates[turn].least
        time, first = gates[turn].time, turn + 1
        yield turn, amount


def hbm_demand(
    model: str, batch: int, seq: int, layers: int, preload_bytes: int
) -> Iterator[Line]:
    """Yield the least HBM bandwidth over time with which no execute waits.

    Executes run back to back, each with the fastest plan in what the preload space
    leaves of the SRAM, data in the smallest preload state. The space is full when the
    first execute starts; an operator leaves it when its execute starts. One that is
    larger than the space has it to itself.
    """
    source = decode_step(model, batch, seq, layers)
    problem, chip = source.problem, _chip(source)
    clock_hz = chip.clock_hz
    room = problem.sram_bytes - preload_bytes
    chosen = [fastest_within(operator, room)[0] for operator in problem.operators]
    starts: list[int] = []
    time = 0
    for option in chosen:
        starts.append(time)
        time += option.execute_cycles
    streamed = [(p.preload_bytes, payload_of(p).hbm_bytes) for p in chosen]
    gates: list[Gate] = []
    for k in range(1, len(chosen)):
        least = sum(hbm for _, hbm in streamed[: k + 1])
        most = max(least, _held(streamed, k, preload_bytes))
        gates.append(Gate(starts[k], least, most))
    at = 0.0
    amount = max(float(streamed[0][1]), _held(streamed, 0, preload_bytes))
    for k, reached in smoothest(amount, gates):
        seconds = (gates[k].time - at) / clock_hz
        yield {
            "model": model,
            "preload_space_bytes": preload_bytes,
            "start_us": 1e6 * at / clock_hz,
            "end_us": 1e6 * gates[k].time / clock_hz,
            "demand_bytes_per_second": (reached - amount) / seconds,
            "hbm_bytes_per_second": chip.hbm.bytes_per_second,
        }
        at, amount = gates[k].time, reached


def _held(streamed: Sequence[tuple[int, int]], k: int, space_bytes: int) -> float:
    """Return how much HBM can have delivered just before operator k starts.

    All of those before, and of those from k on as much as fills the space.
    """
    amount, left = float(sum(hbm for _, hbm in streamed[:k])), float(space_bytes)
    for preload, hbm in streamed[k:]:
        if preload > left:
            return amount + hbm * left / preload
        amount, left = amount + hbm, left - preload
    return amount


def link_demand(
    model: str, batch: int, seq: int, layers: int, execute_bytes: int
) -> Iterator[Line]:
    """Yield what every execute demands of a core's link, in both extreme states.

    MinPreload fetches all shared data from peers, MaxPreload as little as possible.
    `inter_core` is what peers send over the execute's time, `total` that and what HBM
    sends over the execute's and the preload's time, as figures 7 and 8 define them.
    """
    source = decode_step(model, batch, seq, layers)
    chip = _chip(source)
    clock_hz = chip.clock_hz
    for name, place in (("MinPreload", 0), ("MaxPreload", -1)):
        time = 0
        for operator in source.problem.operators:
            option = fastest_within(operator, execute_bytes)[place]
            moved = payload_of(option)
            peers = moved.exchange_bytes + moved.distribute_bytes
            execute = option.execute_cycles / clock_hz
            preload = option.preload_cycles / clock_hz
            end = time + option.execute_cycles
            yield {
                "model": model,
                "state": name,
                "operator": operator.name,
                "start_us": 1e6 * time / clock_hz,
                "end_us": 1e6 * end / clock_hz,
                "inter_core_bytes": peers,
                "preload_bytes": option.preload_bytes,
                "execute_us": 1e6 * execute,
                "preload_us": 1e6 * preload,
                "inter_core_bytes_per_second": peers / execute,
                "total_bytes_per_second": (peers + option.preload_bytes)
                / (execute + preload),
                "link_bytes_per_second": chip.links.bytes_per_second,
            }
            time = end


def _chip(source: Source) -> Chip:
    if source.chip is None:
        raise ValueError(f"{source.name} has no chip")
    return source.chip


def link_demand_pieces(quick: bool) -> Sequence[Mapping[str, Any]]:
    """Return the one piece of figures 7 and 8; the same quick and full."""
    step = {"model": "llama-2-13b", "batch": 32, "seq": 2048, "layers": 2}
    return [{**step, "execute_bytes": 308 * 1024}]


def draw_link_demand(lines: Sequence[Line], column: str, label: str) -> Drawing:
    """Draw a panel per state, over the time of executes back to back."""
    from elkhound.experiments.plots.demand import Step, demand_figure

    panels: dict[str, list[Step]] = {}
    for line in lines:
        step = Step(line["start_us"], line["end_us"], line[column] / 1e9)
        panels.setdefault(line["state"], []).append(step)
    return demand_figure(
        panels,
        x_label="time of executes back to back (µs), Llama-2-13B, 2 layers and head",
        y_label=label,
        limit=lines[0]["link_bytes_per_second"] / 1e9,
        limit_label="what a core's link has",
    )


def found_link_demand(lines: Sequence[Line], column: str) -> str:
    """Return mean over time, spread and peak of a demand in each state."""
    parts = []
    for state in dict.fromkeys(line["state"] for line in lines):
        steps = [line for line in lines if line["state"] == state]
        spans = [line["end_us"] - line["start_us"] for line in steps]
        rates = [line[column] / 1e9 for line in steps]
        parts.append(f"{state}: {told(spans, rates)} GB/s per core")
    return f"{'; '.join(parts)}."


def told(spans: Sequence[float], rates: Sequence[float]) -> str:
    """Return mean, standard deviation and peak of rates that hold for spans.

    Examples
    --------
    >>> told([1, 3], [4, 0])
    'mean 1.0, standard deviation 1.7, peak 4.0'
    """
    whole = sum(spans)
    mean = sum(s * r for s, r in zip(spans, rates, strict=True)) / whole
    square = sum(s * (r - mean) ** 2 for s, r in zip(spans, rates, strict=True))
    spread = (square / whole) ** 0.5
    return f"mean {mean:.1f}, standard deviation {spread:.1f}, peak {max(rates):.1f}"
