"""The simulated engine's command line."""

from __future__ import annotations

import pytest

from console.lab.simulator.arguments import human_readable_int, parse_server_args
from console.lab.simulator.options import Options, read_options


@pytest.mark.parametrize(
    ("text", "value"), [("200000", 200_000), ("200k", 200_000), ("200Ki", 204_800), ("25.6k", 25_600)]
)
def test_sizes_people_write(text: str, value: int) -> None:
    assert human_readable_int(text) == value


@pytest.mark.parametrize("text", ["200K", "25.6", "", "-1", "1e5"])
def test_sizes_the_engine_refuses(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        parse_server_args(["--model-path", "m", f"--context-length={text}"])
    assert error.value.code == 2
    assert "--context-length" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["--context-length", "200000"],
        ["--context-length=200000"],
        ["--context-len", "200000"],
        ["--context-length", "32768", "--context-length", "200000"],
    ],
)
def test_spellings_of_one_setting(words: list[str]) -> None:
    assert parse_server_args(["--model-path", "m", *words]).context_length == 200_000


def test_parallelism_by_any_name() -> None:
    for flag in ("--tp", "--tp-size", "--tensor-parallel-size"):
        assert parse_server_args(["--model", "m", flag, "8"]).tp_size == 8


def test_a_flag_of_a_fork_is_taken_and_one_of_nobody_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse_server_args(["--model-path", "m", "--speculative-tree-budget", "64"]).model_path == "m"
    with pytest.raises(SystemExit):
        parse_server_args(["--model-path", "m", "--context-size", "5"])
    assert "unrecognized arguments" in capsys.readouterr().err


def test_options_of_the_simulator_stand_apart_from_the_engines() -> None:
    options, rest = read_options(["--sim-speed", "50", "--port", "1", "--sim-load-s=2"], {"SIM_SEED": "3"})
    assert options == Options(speed=50.0, load_s=2.0, seed=3)
    assert rest == ["--port", "1"]


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(ValueError, match="spede"):
        read_options(["--sim-spede", "50"], {})
