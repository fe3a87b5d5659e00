from __future__ import annotations

import pytest

from elkhound.experiments.methods import (
    ALLOCATION,
    ALLOCATION_DEFAULTS,
    PLACEMENT,
    PLACEMENT_DEFAULTS,
    SCHEDULE,
    SCHEDULE_DEFAULTS,
    Entry,
    Role,
    split_names,
    variant,
    variants,
)
from elkhound.model.errors import BadInputError
from elkhound.model.result import OrderClass


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param("basic,static", ("basic", "static"), id="plain"),
        pytest.param(
            "milp:order=free,backend=cbc,static",
            ("milp:order=free,backend=cbc", "static"),
            id="comma inside a variant",
        ),
        pytest.param(
            "elk-dyn:allocator=knapsack-dp,order=permuted,static",
            ("elk-dyn:allocator=knapsack-dp,order=permuted", "static"),
            id="last setting before a plain name",
        ),
        pytest.param(
            "cp-sat:order=identity,cp-sat:order=free",
            ("cp-sat:order=identity", "cp-sat:order=free"),
            id="two variants of one method",
        ),
        pytest.param(
            "dp:order=window:2,backend=x,milp",
            ("dp:order=window:2,backend=x", "milp"),
            id="colon inside a value",
        ),
        pytest.param(" basic , static ", ("basic", "static"), id="spaces"),
    ],
)
def test_a_list_of_methods_is_split_between_methods_only(
    text: str, names: tuple[str, ...]
) -> None:
    assert split_names(text) == names


def test_settings_that_are_not_given_take_their_defaults() -> None:
    assert variant("milp", SCHEDULE).settings == {"order": "free", "backend": "highs"}
    given = variant("milp:backend=cbc", SCHEDULE)
    assert given.settings == {"order": "free", "backend": "cbc"}
    assert given.text == "milp:backend=cbc"


def test_the_order_setting_names_the_class_searched() -> None:
    assert variant("cp-sat", SCHEDULE).order == OrderClass.free()
    assert variant("cp-sat:order=identity", SCHEDULE).order == OrderClass.identity()
    assert variant("dp", SCHEDULE).order == OrderClass.identity()
    assert variant("dp:order=window:3", SCHEDULE).order == OrderClass.windowed(3)
    assert variant("static", SCHEDULE).order is None
    assert variant("elk-dyn:order=permuted", SCHEDULE).order is None


def test_elk_dyn_in_permuted_order_is_elk_full() -> None:
    text = "elk-dyn:allocator=knapsack-dp,order=permuted"
    built = variant(text, SCHEDULE).build()
    assert built.name == "elk-full:allocator=knapsack-dp"
    assert variant("elk-dyn:order=identity", SCHEDULE).build().name == "elk-dyn"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "cpsat", r"unknown method 'cpsat' \(did you mean cp-sat", id="name"
        ),
        pytest.param("quantum", r"legal: basic, brute-force, cp-sat", id="far name"),
        pytest.param("", "unknown method ''", id="empty"),
        pytest.param(
            "elk-dyn:alocator=delta",
            r"no setting 'alocator' \(did you mean allocator",
            id="setting",
        ),
        pytest.param(
            "basic:order=free", r"basic has no setting 'order' \(it has none", id="none"
        ),
        pytest.param(
            "cp-sat:order=fre",
            r"order cannot be 'fre' \(did you mean free",
            id="value",
        ),
        *(
            pytest.param(f"dp:order={window}", "order cannot be", id=window)
            for window in ("window", "window:", "window:-1", "window:x", "window:<int>")
        ),
        pytest.param(
            "milp:order=window:2", "order cannot be 'window:2'", id="no window"
        ),
        pytest.param(
            "elk-full:order=identity", "elk-full has no setting 'order'", id="fixed"
        ),
        pytest.param("cp-sat:", "'' is not of the form setting=value", id="no setting"),
        pytest.param(
            "milp:order=free,order=identity", "order is given twice", id="twice"
        ),
    ],
)
def test_a_method_that_does_not_exist_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        variant(text, SCHEDULE)


def test_a_method_is_named_once() -> None:
    with pytest.raises(BadInputError, match="basic is named twice"):
        variants(("basic", "static", "basic"), SCHEDULE)


@pytest.mark.parametrize(
    ("registry", "defaults"),
    [
        pytest.param(SCHEDULE, SCHEDULE_DEFAULTS, id="schedule"),
        pytest.param(ALLOCATION, ALLOCATION_DEFAULTS, id="allocation"),
        pytest.param(PLACEMENT, PLACEMENT_DEFAULTS, id="placement"),
    ],
)
def test_every_method_can_be_built_with_every_setting(
    registry: dict[str, Entry], defaults: tuple[str, ...]
) -> None:
    for name, entry in registry.items():
        texts = [name] + [
            f"{name}:{key}={value.replace('<int>', '2')}"
            for key, values in entry.settings.items()
            for value in values
        ]
        for text in texts:
            assert callable(variant(text, registry).build().solve)
    assert set(defaults) <= set(registry)


def test_methods_play_the_role_that_decides_when_they_run() -> None:
    roles = {name: entry.role for name, entry in SCHEDULE.items()}
    assert roles["static"] is Role.HEURISTIC
    assert roles["ideal"] is Role.BOUND
    assert roles["cp-sat"] is Role.EXACT
