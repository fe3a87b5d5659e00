"""Pin files: decisions of a schedule that planning keeps, in YAML or JSON."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from pydantic import Field

from elkhound.model.errors import InfeasibleError, nearest
from elkhound.model.io.document import Document, read_document
from elkhound.model.io.fields import Count, FileModel, Name, Positive
from elkhound.model.io.validate import validated
from elkhound.model.pin import Pin, Pinned, options_left, pinned
from elkhound.model.schedule import ScheduleOperator, ScheduleProblem

_SHOWN = 6


class PinModel(FileModel):
    """What is kept of one operator."""

    operator: Name = Field(description="its name in the problem")
    option: Count | None = Field(None, description="index of its option")
    splits: dict[Name, Positive] = Field(
        default_factory=dict, description="parts of some dimensions: {m: 4, n: 2}"
    )
    gate: Count | None = Field(None, description="executes issued before its preload")
    after: Name | None = Field(
        None, description="instead of gate: the operator whose execute is the last"
    )


class PinFileModel(FileModel):
    """A pin file."""

    pin: list[PinModel] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class PinFile:
    """Pins as a file has them; `on` holds them against a problem.

    Parameters
    ----------
    document : Document
        The file.
    model : PinFileModel
        What it says.
    """

    document: Document
    model: PinFileModel

    def on(self, problem: ScheduleProblem) -> Pinned:
        """Return what the pins leave of a problem.

        Raises
        ------
        BadInputError
            An operator, option, dimension or gate that does not exist.
        InfeasibleError
            An operator has no option with the splits given.
        """
        numbers = {o.name: j for j, o in enumerate(problem.operators)}
        pins: list[Pin] = []
        for k, model in enumerate(self.model.pin):
            if model.operator not in numbers:
                self._refuse_name(k, "operator", model.operator, list(numbers))
            if any(pin.operator == model.operator for pin in pins):
                self._refuse(k, "operator", f"{model.operator} is pinned twice")
            number = numbers[model.operator]
            gate = self._gate(k, model, number, numbers, problem)
            operator = problem.operators[number]
            self._check_option(k, model, operator)
            splits = tuple(model.splits.items())
            pin = Pin(model.operator, model.option, splits, gate)
            if not options_left(operator, pin):
                self._refuse_splits(k, operator, model.option)
            pins.append(pin)
        return pinned(problem, tuple(pins))

    def _gate(
        self,
        k: int,
        model: PinModel,
        number: int,
        numbers: dict[str, int],
        problem: ScheduleProblem,
    ) -> int | None:
        """Return the gate that ``gate`` or ``after`` means."""
        key, gate = "gate", model.gate
        if model.after is not None:
            key = "after"
            if gate is not None:
                self._refuse(k, key, "after has no effect beside gate; give one")
            if model.after not in numbers:
                self._refuse_name(k, key, model.after, list(numbers))
            gate = numbers[model.after] + 1
        if gate is None:
            return None
        if not problem.operators[number].streams:
            self._refuse(
                k, key, f"{key} has no effect: {model.operator} streams nothing"
            )
        if gate > number:
            shown = "" if key == "gate" else f", {gate} executes"
            self._refuse(
                k,
                key,
                f"{key} is {getattr(model, key)}{shown}, must be at most {number}: "
                f"the preload of {model.operator} comes before its own execute",
            )
        return gate

    def _check_option(
        self, k: int, model: PinModel, operator: ScheduleOperator
    ) -> None:
        count = len(operator.options)
        if model.option is not None and model.option >= count:
            self._refuse(
                k, "option", f"option is {model.option}, must be from 0 to {count - 1}"
            )
        if not model.splits:
            return
        payload = operator.options[0].payload
        if payload is None:
            self._refuse(
                k, "splits", "splits has no effect on a problem file, whose options "
                "do not tell theirs; give option",
            )  # fmt: skip
        legal = [name for name, _ in payload.splits]
        for name in model.splits:
            if name not in legal:
                self._refuse_name(k, "splits", name, legal, what="dimension")

    def _refuse_splits(
        self, k: int, operator: ScheduleOperator, option: int | None
    ) -> NoReturn:
        """Say which splits the operator's options do have."""
        given = self.model.pin[k].splits
        there: dict[str, None] = {}
        for choice in operator.options:
            if choice.payload is not None:
                cut = dict(choice.payload.splits)
                there[" × ".join(f"{name}={cut[name]}" for name in given)] = None
        shown = ", ".join(list(there)[:_SHOWN])
        more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
        asked = " × ".join(f"{name}={parts}" for name, parts in given.items())
        which = f"option {option} has" if option is not None else "no option has"
        others = "other splits than" if option is not None else "the splits"
        raise InfeasibleError(
            f"{which} {others} {asked}: it does not fit, or is dominated",
            code="no-such-option",
            where=f"{self.document.where(('pin', k, 'splits'))}: operator "
            f"{operator.name}",
            hint=f"there are {shown}{more}",
        )

    def _refuse_name(
        self, k: int, key: str, name: str, legal: list[str], what: str = "operator"
    ) -> NoReturn:
        self.document.refuse(
            f"pin[{k}]: no {what} is called {name!r}",
            ("pin", k, key),
            hint=nearest(name, legal),
            code="unknown-name",
        )

    def _refuse(self, k: int, key: str, message: str) -> NoReturn:
        self.document.refuse(f"pin[{k}]: {message}", ("pin", k, key), code="bad-pin")


def load_pins(path: str | Path) -> PinFile:
    """Read a pin file.

    Raises
    ------
    BadInputError
        A key or value is wrong: named with file, line and nearest legal key.
    """
    document = read_document(path)
    return PinFile(document, validated(document, PinFileModel))
