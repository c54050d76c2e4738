"""disk · loaded · running · serving of a setting, out of facts."""

from __future__ import annotations

from console.schema.facts import Process
from console.steps.levels import event_of, levels_of
from tests.fakes import ARGV, DROPIN, SGLANG, UNIT, facts, serving

WINDOW = "[Service]\nExecStart=\nExecStart=/opt/engine/bin/python -m sglang.launch_server --context-length 65536\n"


def test_all_four_agree() -> None:
    levels = levels_of(facts(), SGLANG, "context_length")
    assert [levels.disk.value, levels.loaded.value, levels.running.value, levels.serving.value] == ["32768"] * 4
    assert levels.agree
    assert levels.pool_tokens == 88_000


def test_the_file_of_a_package_is_read_like_any_other() -> None:
    seen, path = facts(), "/usr/lib/systemd/system/chat.service"
    moved = seen.files[0].model_copy(update={"path": path, "real_path": path})
    unit = seen.unit.model_copy(update={"fragment_path": path})
    levels = levels_of(seen.model_copy(update={"files": (moved,), "unit": unit}), SGLANG, "context_length")
    assert (levels.disk.value, levels.agree) == ("32768", True)


def test_an_edit_nobody_restarted_shows_at_the_running_process() -> None:
    seen = facts(dropins={DROPIN: WINDOW}, running=ARGV)
    seen = seen.model_copy(update={"unit": seen.unit.model_copy(update={"exec_start": (WINDOW.split("=")[-1],)})})
    levels = levels_of(seen, SGLANG, "context_length")
    assert (levels.disk.value, levels.running.value, levels.first_difference) == ("65536", "32768", "running")


def test_what_cannot_be_seen_says_why() -> None:
    seen = facts(
        unit={"exec_start": ()},
        process=Process(reason="the process belongs to a container"),
        serving=None,
        serving_reason="HTTP 503",
    )
    event = event_of("node7/chat", levels_of(seen, SGLANG, "context_length"))
    assert event.reasons == {
        "loaded": "systemd has loaded no command",
        "running": "the process belongs to a container",
        "serving": "HTTP 503",
    }
    assert event.agree
    assert event.pool_tokens is None


def test_what_only_systemd_can_fill_in_elsewhere_does_not_hide_the_value() -> None:
    levels = levels_of(facts(UNIT.replace("/models/chat-70b", "%h/chat")), SGLANG, "context_length")
    assert levels.disk.value == "32768"


def test_a_value_that_only_a_shell_could_compute_says_so() -> None:
    command = "exec python3 -m sglang.launch_server --context-length $(cat /etc/window)"
    levels = levels_of(facts(f"[Service]\nExecStart=/bin/bash -c '{command}'\n"), SGLANG, "context_length")
    assert levels.disk.value is None
    assert "only the shell can compute" in levels.disk.reason


def test_the_window_served_is_the_one_in_effect_not_the_flag() -> None:
    seen = facts(serving=serving(context_length=16_384, settings={"context_length": "32768"}))
    assert levels_of(seen, SGLANG, "context_length").serving.value == "16384"


def test_a_flag_the_engine_does_not_know_is_looked_for_verbatim() -> None:
    seen = facts(UNIT.replace("--port 30000", "--opaque-flag 7 --port 30000"))
    levels = levels_of(seen, SGLANG, "--opaque-flag")
    assert (levels.disk.value, levels.running.value, levels.serving.reason) == (
        "7",
        "7",
        "not reported by the engine",
    )
