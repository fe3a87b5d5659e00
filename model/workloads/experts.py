"""The routed experts of one layer, all of them one generic expert.

Every row picks `chosen` experts by the largest scores. The picks are sorted by expert,
their rows are gathered group by group, go through the experts, and are brought back
into the order of the picks, weighted and summed. Shares are not normalised.
"""

from __future__ import annotations

from elkhound.model.composites import PRODUCT_SUM_PASSES
from elkhound.model.graph import Access, OperatorKind, Pass
from elkhound.model.passes import (
    ADD_PASSES,
    COPY_PASSES,
    GATHER_PASSES,
    MATMUL_PASSES,
)
from elkhound.model.units import ceil_div
from elkhound.model.workloads.builder import GraphBuilder, access
from elkhound.model.workloads.catalogue import Activation, LatentMixture

INDEX = "int64"


class Experts:
    """Appends the experts of a layer to a graph.

    Dimensions: m row, n column or expert, k reduced, c which of the chosen, e expert at
    work, m its rows.

    Parameters
    ----------
    build : GraphBuilder
        Inside the layer.
    model : LatentMixture
        Its shape.
    rows : int
        Tokens.
    group : int
        Experts at work at once.
    """

    def __init__(
        self, build: GraphBuilder, model: LatentMixture, rows: int, group: int
    ) -> None:
        self.build = build
        self.model = model
        self.rows = rows
        self.group = group
        self.picks = rows * model.chosen
        self.working = min(model.experts, self.picks)
        self.each = ceil_div(self.picks, self.working)

    def append(self, x: str) -> str:
        """Return the weighted sum of the experts that every row picks."""
        chosen, shares = self.route(x)
        order = self.sort("order", chosen, {"n": self.picks})
        firsts = range(0, self.working, self.group)
        sizes = [min(self.group, self.working - first) for first in firsts]
        places = self.places(order, sizes)
        made = [
            self.work(f"group{number}", size, x, place)
            for number, (size, place) in enumerate(zip(sizes, places, strict=True))
        ]
        back = self.sort("inverse", order, {"n": self.picks})
        return self.combine(self.joined(made, sizes), back, shares)

    def route(self, x: str) -> tuple[str, str]:
        """Append scores of all experts; return the chosen ones, and their shares."""
        model, build = self.model, self.build
        sizes = {"m": self.rows, "n": model.experts}
        scores = build.projection("router", x, {**sizes, "k": model.hidden}, bias=False)
        affinity = build.operator(
            "affinity",
            OperatorKind.ACTIVATION,
            sizes,
            (access(scores, "m", "n"),),
            ("m", "n"),
            (Pass.UNARY,),
        )
        vector = build.streamed(build.scoped("router.bias"), model.experts)
        biased = build.operator(
            "biased",
            OperatorKind.ELEMENTWISE,
            sizes,
            (access(affinity, "m", "n"), access(vector, "n")),
            ("m", "n"),
            ADD_PASSES,
        )
        ranked = self.sort("ranked", biased, sizes)
        picked = {"m": self.rows, "c": model.chosen}
        chosen = self.indices(
            "chosen",
            OperatorKind.COPY,
            picked,
            access(ranked, "m", "c"),
            COPY_PASSES,
        )
        shares = build.operator(
            "shares",
            OperatorKind.GATHER,
            picked,
            (access(chosen, "m", "c"), access(affinity, "m", "c")),
            ("m", "c"),
            GATHER_PASSES,
        )
        return chosen, shares

    def sort(self, name: str, x: str, sizes: dict[str, int]) -> str:
        """Append the order of every row: ⌈log₂ n⌉ sweeps, compare and exchange."""
        sweeps = max(1, (sizes["n"] - 1).bit_length())
        target = self.build.resident(
            self.build.scoped(name), *sizes.values(), dtype=INDEX
        )
        return self.build.operator(
            name,
            OperatorKind.REDUCE,
            sizes,
            (access(x, *sizes),),
            tuple(sizes),
            ADD_PASSES * sweeps,
            rows=("n",),
            rounds=sweeps,
            part_of=target,
        )

    def indices(
        self,
        name: str,
        kind: OperatorKind,
        sizes: dict[str, int],
        source: Access,
        passes: tuple[Pass, ...],
    ) -> str:
        """Append an operator that makes indices."""
        target = self.build.resident(
            self.build.scoped(name), *sizes.values(), dtype=INDEX
        )
        return self.build.operator(
            name, kind, sizes, (source,), tuple(sizes), passes, part_of=target
        )

    def places(self, order: str, sizes: list[int]) -> list[str]:
        """Append the row behind every sorted pick; return the part of every group."""
        token = self.indices(
            "token",
            OperatorKind.ELEMENTWISE,
            {"n": self.picks},
            access(order, "n"),
            (Pass.UNARY,),
        )
        slots = self.working * self.each
        if slots > self.picks:
            token = self.indices(
                "padded",
                OperatorKind.COPY,
                {"n": slots},
                access(token, "n"),
                COPY_PASSES,
            )
        if len(sizes) == 1:
            return [token]
        return [
            self.indices(
                f"group{number}.places",
                OperatorKind.COPY,
                {"n": size * self.each},
                access(token, "n"),
                COPY_PASSES,
            )
            for number, size in enumerate(sizes)
        ]

    def work(self, name: str, size: int, x: str, places: str) -> str:
        """Append `size` experts, from the rows of their tokens to their outputs."""
        model = self.model
        spread = {"e": size, "m": self.each}
        given = self.build.operator(
            f"{name}.dispatch",
            OperatorKind.GATHER,
            {**spread, "n": model.hidden},
            (access(places, "e", "m"), access(x, "e", "m", "n")),
            (*spread, "n"),
            GATHER_PASSES,
        )
        into = {**spread, "n": model.expert_ffn, "k": model.hidden}
        out = {**spread, "n": model.hidden, "k": model.expert_ffn}
        sides = [self.expert(name, side, given, into) for side in ("gate", "up")]
        inner = self.build.activate(
            f"{name}.activation",
            sides,
            {**spread, "n": model.expert_ffn},
            Activation.SILU,
        )
        return self.expert(name, "down", inner, out)

    def expert(self, group: str, side: str, x: str, sizes: dict[str, int]) -> str:
        """Append x[e, m, k] · weight[e, k, n] of a group's experts."""
        weight = self.build.streamed(
            self.build.scoped(f"expert_{side}.weight"),
            self.model.experts,
            sizes["k"],
            sizes["n"],
        )
        several = sizes["e"] > 1
        return self.build.operator(
            f"{group}.{side}",
            OperatorKind.BATCHED_MATMUL if several else OperatorKind.MATMUL,
            sizes,
            (access(x, "e", "m", "k"), access(weight, "e", "k", "n")),
            ("e", "m", "n"),
            MATMUL_PASSES,
        )

    def joined(self, made: list[str], sizes: list[int]) -> str:
        """Append copies of every group's outputs into one tensor."""
        if len(made) == 1:
            return made[0]
        build, hidden = self.build, self.model.hidden
        whole = build.resident(build.scoped("experts"), self.working, self.each, hidden)
        for number, (part, size) in enumerate(zip(made, sizes, strict=True)):
            build.operator(
                f"group{number}.join",
                OperatorKind.COPY,
                {"e": size, "m": self.each, "n": hidden},
                (access(part, "e", "m", "n"),),
                ("e", "m", "n"),
                COPY_PASSES,
                part_of=whole,
            )
        return whole

    def combine(self, made: str, back: str, shares: str) -> str:
        """Append outputs in the order of the picks, and every row's weighted sum."""
        build, hidden = self.build, self.model.hidden
        collected = build.operator(
            "collect",
            OperatorKind.GATHER,
            {"m": self.picks, "n": hidden},
            (access(back, "m"), access(made, "m", "n")),
            ("m", "n"),
            GATHER_PASSES,
        )
        return build.operator(
            "combine",
            OperatorKind.REDUCE,
            {"m": self.rows, "c": self.model.chosen, "n": hidden},
            (access(collected, "m", "c", "n"), access(shares, "m", "c")),
            ("m", "n"),
            PRODUCT_SUM_PASSES,
        )
