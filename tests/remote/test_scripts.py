"""The shell that reaches hosts: checked, read-only where it says so, and whole or not run at all."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from console.errors import InternalError
from console.remote.scripts import cut, load, prelude, quote, render

FOLDER = Path(__file__).parents[2] / "console" / "remote" / "scripts"
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.sh"))
LOOKS = [name for name in SCRIPTS if name.startswith("look_")]
ACTS = [name for name in SCRIPTS if name.startswith("act_")]

# Commands and options that change a host; none may stand in what only looks.
# `journalctl --sync` writes out what was said already.
CHANGING = re.compile(
    r"(?<!journalctl --)\b(?:rm|mv|cp|dd|tee|touch|mkdir|rmdir|ln|chmod|chown|install|mktemp|truncate|sync|kill|curl|"
    r"pkill|logger|restorecon|setfacl|setfattr|daemon-reload|reset-failed|restart|stop|start|enable|disable|mask|edit|"
    r"set-property|systemd-run|reboot(?!-required)|nsenter|mount|umount)\b(?!\w*[(=])"
)
# Every command the looks call; a host that allows no more must do.
READING = {
    "awk", "base64", "cat", "command", "date", "find", "flock", "grep", "head", "id", "journalctl", "ls", "nvidia-smi",
    "readlink", "sed", "sha256sum", "sh", "sleep", "ss", "stat", "sudo", "systemctl", "tail", "test", "timeout", "tr",
    "true", "uname",
}  # fmt: skip


def code(name: str) -> str:
    """A script without its comments and without what it only prints."""
    lines = [re.sub(r"(^|\s)#.*", "", line) for line in load(name).splitlines()]
    return re.sub(r"(?:echo|printf) (?:'[^']*'|\"[^\"]*\")", "", "\n".join(lines))


def test_every_script_only_looks_or_acts_by_its_name() -> None:
    assert set(SCRIPTS) == {*LOOKS, *ACTS, "prelude.sh", "undo.sh", "guard.sh"}


@pytest.mark.parametrize("name", [*LOOKS, *ACTS])
def test_a_script_is_sent_each_function_it_calls_and_no_other(name: str) -> None:
    defined = set(re.findall(r"^(\w+)\(\) \{", load("prelude.sh"), re.MULTILINE))
    sent = prelude(name)
    there = set(re.findall(r"^(\w+)\(\) \{", sent, re.MULTILINE))
    words = set(re.findall(r"\w+", sent)) | set(re.findall(r"\w+", load(name)))
    assert there == defined & words
    uncalled = {each for each in there if len(re.findall(rf"\b{each}\b", sent + load(name))) < 2}
    assert not uncalled
    assert 'echo "$$ $console_uid"' in sent


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
@pytest.mark.parametrize("name", SCRIPTS)
def test_shellcheck_has_nothing_to_say(name: str) -> None:
    files = [load(name)]
    if name in LOOKS or name in ACTS:
        files.append(render(name, ["a", "b c"], mark="M", lock_file="/l", lock_run="r").decode())
    for text in files:
        done = subprocess.run(
            ["shellcheck", "--shell=sh", "-"], input=text, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
def test_every_shell_can_read_it(name: str, shell: str) -> None:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    command = [path, "sh", "-n"] if shell == "busybox" else [path, "-n"]
    done = subprocess.run(command, input=load(name), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", [*LOOKS, "prelude.sh"])
def test_what_looks_changes_nothing(name: str) -> None:
    # The prelude passes on what a script asks for; these two it must tell apart.
    passed_on = {"tee", "dd"} if name == "prelude.sh" else set()
    assert set(CHANGING.findall(code(name))) <= passed_on
    writes = [
        match
        for match in re.findall(r"(?<![<0-9&-])[0-9]?>{1,2}\s*(\S+)", code(name))
        if not match.startswith(("/dev/null", "&"))
    ]
    assert not writes


def test_the_list_of_changing_words_would_find_one() -> None:
    found = {name for name in ACTS if CHANGING.findall(code(name))}
    assert found == set(ACTS)


@pytest.mark.parametrize("name", SCRIPTS)
def test_systemd_is_asked_for_nothing_unexpected(name: str) -> None:
    verbs = set(re.findall(r"\bsystemctl (--?[\w-]+|\w[\w-]*)", code(name)))
    # Only timers and scopes of our own are stopped, and the ranks of an engine before all of them are started.
    ours = {
        "guard.sh": {"stop"},
        "act_guard_off.sh": {"stop"},
        "act_stop.sh": {"kill"},
        "act_halt.sh": {"stop"},
    }
    usual = {"show", "--version", "daemon-reload", "restart", "reset-failed"}
    assert verbs <= usual | ours.get(name, set())


def test_an_unknown_script_is_a_bug() -> None:
    with pytest.raises(InternalError):
        load("look_elsewhere.sh")


@pytest.mark.parametrize("word", ["", "plain", "it's", "$(rm -rf /)", "a\nb", "\\", "'; true '", "-n", "ü\udcff"])
def test_a_quoted_word_is_that_word(word: str) -> None:
    script = f"printf %s {quote(word)}".encode("utf-8", "surrogateescape")
    done = subprocess.run(["sh", "-s"], input=script, capture_output=True, check=True)
    assert done.stdout == word.encode("utf-8", "surrogateescape")


def test_nul_cannot_be_passed() -> None:
    with pytest.raises(InternalError):
        quote("a\0b")


@pytest.mark.parametrize("name", ACTS)
def test_a_torn_script_does_nothing(name: str, tmp_path: Path) -> None:
    """Wherever the connection dies while it is sent, a shell that gets the first part runs none of it."""
    whole = render(name, [str(tmp_path / "a"), "b", "c", "d", "e"], mark="M")
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    acted = tmp_path / "acted"
    for command in ("rm", "cp", "mv", "tee", "mkdir", "systemctl", "logger", "kill", "touch", "chmod"):
        (bin_folder / command).write_text(f"#!/bin/sh\necho {command} >>{acted}\n")
        (bin_folder / command).chmod(0o755)
    body = whole.index(b"script() {")
    end = whole.rindex(b"\n}\n")
    for cut_at in {*range(body, end, 97), end, end + 1}:
        subprocess.run(
            ["sh", "-s"],
            input=whole[:cut_at],
            env={"PATH": f"{bin_folder}:/usr/bin:/bin"},
            capture_output=True,
            check=False,
        )
        assert not acted.exists(), cut_at


def test_sections_are_the_bytes_between_the_marks() -> None:
    stdout = b"Welcome\nto this host\n\nMARK one\na\n\xff\0b\n\nMARK two\n\nMARK three\nno newline at the end"
    assert dict(cut(stdout, "MARK")) == {"one": b"a\n\xff\0b\n", "two": b"", "three": b"no newline at the end"}


def test_a_host_without_anything_but_the_reading_commands_is_enough(tmp_path: Path) -> None:
    """What planning sends works on a host where every other command refuses."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name in READING:
        real = shutil.which(name)
        if real and name not in ("sudo", "systemctl", "journalctl", "nvidia-smi"):
            (bin_folder / name).symlink_to(real)
    (bin_folder / "systemctl").write_text("#!/bin/sh\nexit 1\n")
    (bin_folder / "systemctl").chmod(0o755)
    for name, args in (
        ("look_facts.sh", ["a.service", "1", str(tmp_path / "s"), str(tmp_path / "r"), ""]),
        ("look_watch.sh", ["a.service", "1", "", "gpu"]),
        ("look_clocks.sh", []),
        ("look_files.sh", [str(tmp_path / "nothing")]),
        ("look_ledger.sh", [str(tmp_path / "s"), "a.service"]),
    ):
        script = render(name, args, mark="M").decode()
        only = script.replace("PATH=$PATH:/usr/local/sbin:/usr/sbin:/usr/local/bin:/usr/bin:/sbin:/bin", "")
        assert only != script
        done = subprocess.run(
            [shutil.which("sh") or "/bin/sh", "-s"],
            input=only.encode(),
            env={"PATH": str(bin_folder)},
            capture_output=True,
            check=False,
        )
        missing = [line for line in done.stderr.decode().splitlines() if "not found" in line]
        assert done.returncode == 0
        assert [line for line in missing if "journalctl" not in line] == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin"]
