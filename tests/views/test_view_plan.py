from __future__ import annotations

import re

import pytest

from console.schema.change import BalancerChange, FileChange, ReloadChange, RestartChange
from console.schema.plan import Answers, FileEdit
from console.views.cells import cells
from console.views.plan import plan_text
from console.views.plan_markdown import plan_markdown
from tests.views import story
from tests.views.golden import screen, too_wide
from tests.views.samples import DIFF, HOSTILE, LONG, WIDE, facts, plan, setting, target

COMMANDS = (f"console run runbooks/extend_context.toml {story.TARGET} --reason TEXT",)


def nothing_to_do() -> str:
    already = setting("context_length", "--context-length", "65536", "65536")
    same = tuple(plan().argv_after)
    made = plan(
        changes=(), edits=(), settings=(), unchanged=(already,), nothing_to_do=True, argv_before=same, argv_after=same
    )
    return plan_text(made, facts())


def test_a_plan_reads_as_its_screen() -> None:
    assert plan_text(plan(), facts(), commands=COMMANDS) + "\n" == screen("plan")


def test_nothing_to_do_reads_as_its_screen() -> None:
    assert nothing_to_do() + "\n" == screen("plan_nothing_to_do")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_plan_fits(width: int) -> None:
    assert too_wide(plan_text(plan(), facts(), width, commands=COMMANDS).partition("\n--- a")[0], width) == []


def test_colour_adds_escapes_and_nothing_else() -> None:
    plain = plan_text(plan(), facts(), commands=COMMANDS)
    coloured = plan_text(plan(), facts(), color=True, commands=COMMANDS)
    assert "\x1b" not in plain
    assert "\x1b[31m[-16384-]\x1b[0m\x1b[32m{+65536+}\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_a_target_without_jump_or_protection_says_neither() -> None:
    first = plan_text(plan(target=target(jump=None, protected=False)), None).split("\n")[0]
    assert first == "node7/chat  sglang-chat.service" + " " * 43 + "03:02Z"


def test_a_simulated_host_is_marked() -> None:
    assert "simulated" in plan_text(plan(target=target(speed=20.0)), None).split("\n")[0]


@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("poison", [HOSTILE, LONG, WIDE, "\ud800"])
def test_what_a_host_says_cannot_leave_its_line(poison: str, color: bool) -> None:
    made = plan(
        answers=Answers(fits=(poison,), also_live=(poison,)),
        warnings=(poison,),
        argv_before=("serve", poison),
        argv_after=("serve", "--flag", poison),
        edits=(
            FileEdit(
                path=poison,
                real_path="",
                splices=(),
                sha256_before="",
                sha256_after="",
                diff=poison,
                steps=(),
                change="c1",
            ),
        ),
    )
    text = plan_text(made, None, color=color)
    text.encode()
    bare = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert not [character for character in bare if character != "\n" and not character.isprintable()]
    # The diff stands as it is; everything before it fits.
    above = bare.rpartition("\n\n")[0].split("\n")
    assert max(cells(line) for line in above) <= 80


def test_markdown_says_the_same() -> None:
    text = plan_markdown(plan())
    assert text.startswith("# Plan: Extend the served context window on node7/chat\n")
    assert "| context\\_length | `--context-length` | `16384` | `65536` | `20-window.conf:3` |" in text
    assert "| kv\\_cache\\_dtype | `--kv-cache-dtype` | `absent` | `fp8_e4m3` (lossy) | `20-window.conf:3` |" in text
    assert "| 4 | `unit.set` | skipped: when = 'mem\\_fraction' does not hold |" in text
    assert "--context-length [-16384-]{+65536+}" in text
    assert "```diff\n--- a/etc/" in text


def test_markdown_has_digests_and_the_commands_by_hand() -> None:
    path = "/etc/systemd/system/chat.service.d/20-window.conf"
    file = FileChange(
        id="c1", step="s", path=path, real_path=path, sha256_before="a" * 64, sha256_after="b" * 64, splices=(),
        mode=0o644, uid=0, gid=0,
    )  # fmt: skip
    restart = RestartChange(id="c3", step="s", unit=story.UNIT, invocation_before="")
    edit = FileEdit(
        path=path, real_path=path, splices=(), sha256_before="a" * 64, sha256_after="b" * 64, diff=DIFF, steps=("s",),
        change="c1",
    )  # fmt: skip
    door = BalancerChange(
        id="c0", step="s", way="out", member="node7/chat", group="chat", out="touch /etc/lb/out", back="rm /etc/lb/out"
    )
    again = door.model_copy(update={"id": "c4", "way": "in"})
    changes = (door, again, file, ReloadChange(id="c2", step="s", unit=story.UNIT), restart)
    text = plan_markdown(plan(changes=changes, edits=(edit,), deciding={path: "a" * 64, "/etc/other.conf": "c" * 64}))
    assert f"| `{path}` | `{'a' * 64}` | `{'b' * 64}` |" in text
    assert f"| `/etc/other.conf` | `{'c' * 64}` | stays |" in text
    hand, back = text.split("## By hand")[1].split("## Back, by hand")
    assert [line.split("  #")[0] for line in hand.splitlines() if line and "```" not in line] == [
        "touch /etc/lb/out",
        f"sha256sum {path}",
        f"sudo cp -a {path} /var/tmp/20-window.conf.before",
        f"sudoedit {path}",
        f"sha256sum {path}",
        "sudo systemctl daemon-reload",
        f"sudo systemctl restart {story.UNIT}",
        f"journalctl -f -u {story.UNIT}",
        "curl -fsS http://127.0.0.1:30000/health",
        "rm /etc/lb/out",
    ]
    assert f"sudo cp -a /var/tmp/20-window.conf.before {path}\nsudo systemctl daemon-reload\n" in back


def test_nothing_in_a_plan_becomes_markup() -> None:
    made = plan(
        title="*x* <script>",
        warnings=("[a](http://b.invalid)", "- b", "> c", "| d |"),
        edits=(
            FileEdit(
                path="a`b|c", real_path="", splices=(), sha256_before="", sha256_after="",
                diff="+```\n+# not a heading", steps=(), change="c1",
            ),
        ),
    )  # fmt: skip
    text = plan_markdown(made)
    assert text.startswith("# Plan: \\*x\\* \\<script> on node7/chat\n")
    assert "- \\[a\\](http://b.invalid)\n- \\- b\n- \\> c\n- \\| d \\|\n" in text
    assert "## `aˋb¦c`\n\n````diff\n+```\n+# not a heading\n````\n" in text
