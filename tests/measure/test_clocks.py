"""Clocks of the GPUs in the middle of answers, and what is marked where they were not the same."""

from __future__ import annotations

import random

import pytest

from console.facts.clocks import Clocks, parse_clocks
from console.measure.clocks import odd_cells
from console.measure.decode import DecodeCell, Shape
from console.schema.cells import Arm, Cell
from tests.measure.made_up import MadeUpEngine, Truth, bench, prompt


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        (b"1980, 61, 512.5\n1965, 64, 498.0\n", Clocks(1972.5, 64.0, 1010.5)),
        (b"1980, [N/A], [N/A]\n", Clocks(1980.0, None, None)),
        (b"[N/A], 61, 512.5\n", None),
        (b"NVIDIA-SMI has failed\n", None),
        (b"", None),
        (b"\xff, , \n,,\n1,2\n", None),
    ],
)
def test_what_nvidia_smi_says(said: bytes, seen: Clocks | None) -> None:
    assert parse_clocks(said) == seen


async def cell_of(engine: MadeUpEngine) -> Cell:
    at = bench(engine)
    at.clocks_take_s = 0.0
    return await DecodeCell(at, await prompt(at), Shape(), "prose", random.Random(3)).measure()


async def test_long_answers_carry_the_clock_they_ran_under() -> None:
    cell = await cell_of(MadeUpEngine(truth=Truth(step_noise=0.003), mhz=lambda _: "1980, 61, 512\n"))
    seen = {arm.sm_mhz for arm in cell.arms if arm.output_tokens == cell.long_tokens and not arm.refused}
    assert 1980.0 in seen
    assert cell.flags == ()


async def test_a_clock_that_falls_during_a_cell_is_marked() -> None:
    cell = await cell_of(
        MadeUpEngine(truth=Truth(step_noise=0.003), mhz=lambda sent: f"{1980 if sent < 12 else 1710}, 80, 512\n")
    )
    assert "clocks differ: 1710 to 1980 MHz" in cell.flags


async def test_a_host_without_gpus_is_asked_once() -> None:
    asked: list[int] = []

    def mhz(sent: int) -> str:
        asked.append(sent)
        return ""

    cell = await cell_of(MadeUpEngine(truth=Truth(step_noise=0.003), mhz=mhz))
    assert len(asked) == 1
    assert cell.flags == ()


def test_a_cell_of_a_sweep_under_another_clock_is_named() -> None:
    def cell(name: str, mhz: float) -> Cell:
        arm = Arm(order=1, output_tokens=256, sm_mhz=mhz)
        return Cell(name=name, step="sweep", text_class="prose", arms=(arm,))

    cells = [cell("a", 1980), cell("b", 1975), cell("c", 1900), cell("d", 1980)]
    assert odd_cells(cells) == ("clock-confounded: c ran at 1900 MHz, the others at 1978",)
    assert odd_cells(cells[:2]) == ()
