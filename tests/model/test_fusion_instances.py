from __future__ import annotations

import pytest

from elkhound.model.errors import BadInputError
from elkhound.model.instances import FUSION_FAMILIES, random_workload


@pytest.mark.parametrize("family", FUSION_FAMILIES)
def test_the_same_arguments_give_the_same_workload(family: str) -> None:
    assert random_workload(3, 5, family) == random_workload(3, 5, family)
    assert random_workload(3, 5, family) != random_workload(4, 5, family)
    assert len(random_workload(3, 5, family).einsums) == 5


def test_a_chain_reads_the_result_before_and_a_star_the_first() -> None:
    chain, star = random_workload(0, 4, "chain"), random_workload(0, 4, "star")
    assert [e.inputs[0].tensor for e in chain.einsums] == ["T0", "T1", "T2", "T3"]
    assert [e.inputs[0].tensor for e in star.einsums] == ["T0", "T1", "T1", "T1"]


def test_trees_have_results_that_several_read_and_results_nobody_reads() -> None:
    read = [
        [e.inputs[0].tensor for e in random_workload(seed, 6, "tree").einsums]
        for seed in range(20)
    ]
    assert any(len(set(names)) < 6 for names in read)
    assert any("T1" not in names for names in read)


def test_an_unknown_family_names_the_nearest() -> None:
    with pytest.raises(BadInputError, match="did you mean chain"):
        random_workload(0, 3, "chian")
    with pytest.raises(BadInputError, match="size: 0, must be at least 1"):
        random_workload(0, 0)
