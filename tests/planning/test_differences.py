"""Our edit, and what a restart also makes live: whole words, whole variables, no secret."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from console.planning.differences import activation, flag_groups, pair, same_shape, text_diff, without_prefix
from console.schema.facts import Facts, Process
from console.schema.plan import Activation
from console.secrets import Redactor
from console.settings.resolve import argv_on_disk, environment_on_disk, unit_of
from tests.fakes import ARGV, UNIT, facts, unit_file

KEY = "plain-word-9000"


def found(seen: Facts, redactor: Redactor | None = None) -> Activation:
    unit = unit_of(seen)
    variables = environment_on_disk(unit)
    return activation(seen, argv_on_disk(unit, variables), variables, redactor or Redactor())


@pytest.mark.parametrize(
    ("words", "groups"),
    [
        ([], []),
        (["/x"], [("/x",)]),
        (["/x", "serve", "--a", "1", "-b"], [("/x", "serve"), ("--a", "1"), ("-b",)]),
        (["--a", "1", "2", "3"], [("--a", "1", "2", "3")]),
        (["--a=1", "--b=2"], [("--a=1",), ("--b=2",)]),
        (["--bias", "-1", "--next", "-0.5", "-1e3"], [("--bias", "-1"), ("--next", "-0.5", "-1e3")]),
        (["--a", "-", "--b", ""], [("--a", "-"), ("--b", "")]),
    ],
)
def test_a_command_line_as_flags_with_their_values(words: list[str], groups: list[tuple[str, ...]]) -> None:
    assert flag_groups(words) == groups


@pytest.mark.parametrize(
    ("running", "planned", "same"),
    [
        (["/usr/bin/python3", "/opt/sglang", "serve"], ["/opt/sglang", "serve"], ["/opt/sglang", "serve"]),
        (["/usr/bin/env", "-S", "/opt/sglang", "a"], ["/opt/sglang", "a"], ["/opt/sglang", "a"]),
        (["/opt/sglang", "/opt/sglang"], ["/opt/sglang", "/opt/sglang"], ["/opt/sglang", "/opt/sglang"]),
        (["/opt/other", "a"], ["/opt/sglang", "a"], ["/opt/other", "a"]),
        ([], ["/opt/sglang"], []),
        (["/x"], [], ["/x"]),
    ],
)
def test_an_interpreter_that_a_script_names_is_no_difference(
    running: list[str], planned: list[str], same: list[str]
) -> None:
    assert same_shape(running, planned) == same


@pytest.mark.parametrize(
    "prefix",
    [
        "/usr/bin/numactl --interleave=all",
        "/usr/bin/numactl --cpunodebind 0 --membind 0",
        "/usr/bin/env A=1 B=2",
        "/usr/bin/nice -n 5 /usr/bin/env A=1",
        "/usr/bin/taskset 0xff",
    ],
)
def test_a_launcher_that_became_the_engine_is_no_difference(prefix: str) -> None:
    text = UNIT.replace("ExecStart=", f"ExecStart={prefix} ")
    assert not found(facts(text, running=ARGV)).needs_accept
    changed = [*ARGV[:-1], "30001"]
    assert pair(found(facts(text, running=changed))) == ["--port 30001 -> 30000"]


def test_a_program_found_on_the_path() -> None:
    planned = ["/usr/bin/env", "A=1", "python3", "-m", "x"]
    running = ["/opt/venv/bin/python3", "-m", "x"]
    assert without_prefix(planned, running) == running
    assert without_prefix(planned, ["/opt/venv/bin/python2", "-m", "x"]) == planned


def test_a_launcher_that_still_runs_is_compared_as_it_stands() -> None:
    planned = ["/usr/bin/timeout", "9", "/opt/x", "--a"]
    assert without_prefix(planned, planned) == planned


def test_a_process_that_runs_what_the_files_say_differs_in_nothing() -> None:
    assert found(facts()) == Activation()


def changed(*words: str) -> Sequence[str]:
    return [*ARGV, *words]


def test_somebodys_unfinished_edit() -> None:
    text = UNIT.replace("0.85", "0.90").replace("--port 30000", "--enable-metrics --port 30000")
    seen = found(facts(text, running=changed("--tp-size", "8")))
    assert seen.words_added == ("--mem-fraction-static 0.90", "--enable-metrics")
    assert seen.words_removed == ("--mem-fraction-static 0.85", "--tp-size 8")
    assert seen.needs_accept
    assert pair(seen) == ["--mem-fraction-static 0.85 -> 0.90", "+ --enable-metrics", "- --tp-size 8"]


def test_the_order_of_flags_is_no_difference() -> None:
    swapped = [*ARGV[:3], *ARGV[9:], *ARGV[3:9]]
    assert not found(facts(running=swapped)).needs_accept


def test_a_flag_given_twice_and_once() -> None:
    assert found(facts(running=changed("--port", "30000"))).words_removed == ("--port 30000",)


def test_a_value_that_became_a_switch() -> None:
    assert pair(Activation(words_added=("--a",), words_removed=("--a 1",))) == ["--a 1 -> (set)"]


def test_variables_are_listed_and_need_no_word() -> None:
    text = UNIT.replace("HF_HOME=/models", "HF_HOME=/srv NEW=1 PATH=/x")
    seen = found(facts(text, environment={"HF_HOME": "/models", "PATH": "/y", "ONLY_RUNNING": "1"}))
    assert seen.environment == ("HF_HOME: /models -> /srv", "NEW: absent -> 1")
    assert not seen.needs_accept


def test_secrets_are_masked_in_words_and_variables() -> None:
    text = UNIT.replace("--port 30000", f"--api-key {KEY} --port 30000").replace(
        "HF_HOME=/models", f"HF_TOKEN={KEY}-b HF_HOME=/models"
    )
    seen = found(facts(text, running=changed("--api-key", f"old-{KEY}"), environment={"HF_TOKEN": f"{KEY}-a"}))
    assert pair(seen) == ["--api-key *** -> ***"]
    assert "HF_TOKEN: *** -> ***" in seen.environment
    assert KEY not in seen.model_dump_json()


def test_a_secret_that_was_seen_elsewhere_is_masked_wherever_it_stands() -> None:
    redactor = Redactor()
    redactor.learn(KEY)
    seen = found(facts(UNIT.replace("--port 30000", f"--header X:{KEY} --port 30000"), running=ARGV), redactor)
    assert KEY not in seen.model_dump_json()


def test_controls_in_a_word_are_made_visible() -> None:
    seen = found(facts(running=changed("--name", "a\x1b[2Jb")))
    assert "\x1b" not in seen.words_removed[0]


@pytest.mark.parametrize("active", ["inactive", "failed"])
def test_nothing_runs_so_nothing_differs(active: str) -> None:
    seen = found(facts(unit={"active_state": active}, running=["/opt/other"]))
    assert seen.reason == f"the unit is {active}: nothing runs that could differ"
    assert not seen.needs_accept


def test_a_command_line_that_cannot_be_resolved() -> None:
    assert found(facts(UNIT.replace("chat-70b", "%h"))).reason == "the command line on disk cannot be resolved to words"


HIDDEN = Process(reason="the process belongs to a container")


def test_without_a_process_what_systemd_loaded_is_compared() -> None:
    same = found(facts(process=HIDDEN))
    assert not same.needs_accept
    assert same.reason.startswith("the running process cannot be seen (the process belongs to a container)")
    other = found(facts(process=HIDDEN, unit={"exec_start": (" ".join(ARGV).replace("0.85", "0.80"),)}))
    assert pair(other) == ["--mem-fraction-static 0.80 -> 0.85"]
    assert other.needs_accept


def test_words_with_blanks_are_the_same_in_systemds_unquoted_text() -> None:
    text = UNIT.replace("/models/chat-70b", '"/models/chat 70b"')
    assert not found(facts(text, process=HIDDEN)).needs_accept


def test_a_diff_masks_secrets_on_both_sides() -> None:
    before, after = f"Environment=API_KEY={KEY}\nA=1\n", f"Environment=API_KEY={KEY}x\nA=2\n"
    shown = text_diff("/etc/x", before.encode(), after.encode(), Redactor())
    assert KEY not in shown
    assert shown.splitlines()[:2] == ["--- a/etc/x", "+++ b/etc/x"]
    assert "-A=1" in shown
    assert "+A=2" in shown


def test_bytes_that_are_no_text_can_be_shown() -> None:
    assert "+" in text_diff("/x", b"\xff\n", b"\xff\xfe\x1b\n", Redactor())


def test_of_a_container_only_the_words_behind_its_image_are_compared() -> None:
    command = "/usr/bin/docker run -d --rm --name m vllm/vllm-openai:v1 --model /m --tp 2"
    text = f"[Service]\nEnvironment=A=1\nExecStart={command}\n"
    running = ["/usr/bin/python3", "/usr/bin/vllm", "serve", "--model", "/m", "--tp", "2"]
    assert found(facts(text, running=running)) == Activation()
    other = [*running[:-1], "4"]
    assert pair(found(facts(text, running=other))) == ["--tp 4 -> 2"]


def test_of_a_compose_file_the_words_of_its_engine_are_compared() -> None:
    text = "[Service]\nWorkingDirectory=/srv/m\nEnvironment=A=1\nExecStart=/usr/bin/docker compose up\n"
    file = "services:\n  m:\n    image: vllm/vllm-openai:v1\n    command: --model /m --tp 2\n"
    body = unit_file("/srv/m/compose.yaml", file).model_copy(update={"kind": "options"})
    seen = facts(text, running=["/usr/bin/python3", "/usr/bin/vllm", "serve", "--model", "/m", "--tp", "4"])
    seen = seen.model_copy(update={"files": (*seen.files, body)})
    seen = seen.model_copy(
        update={"unit": seen.unit.model_copy(update={"exec_start": ("/usr/bin/docker compose up",)})}
    )
    assert pair(found(seen)) == ["--tp 4 -> 2"]
    assert found(seen).environment == ()
