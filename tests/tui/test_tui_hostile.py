"""What a host, a file or git says is shown as text on every screen: it cannot crash, style or steer the terminal."""

from __future__ import annotations

import dataclasses
import os

from console.results.queries.list import HistoryRow
from console.schema.events import ConclusionMade, LogLine, QuestionAsked, StepProgress
from console.schema.facts import LedgerEntry
from tests.tui import made_up
from tests.tui.conftest import Opens
from tests.tui.test_tui_app import BACK, on_terminal
from tests.tui.walk import every_screen, finding
from tests.views import story

OSC52 = "\x1b]52;c;ZXZpbA==\x07"
EVIL = f"[/oops] list[int] [@click=app.quit]x[/] {OSC52}\x1b[2J\x9b31m right\u202eleft 漢字 {'x' * 10_000}"


def hostile_facts() -> object:
    read = made_up.facts()
    content = read.files[0].content + EVIL.encode()
    return read.model_copy(
        update={
            "host": read.host.model_copy(update={"hostname": EVIL, "os": EVIL, "xid_lines": (f"NVRM: Xid {EVIL}",)}),
            "unit": read.unit.model_copy(update={"sub_state": EVIL, "unit_file_state": EVIL}),
            "files": (read.files[0].model_copy(update={"content": content}),),
            "process": read.process.model_copy(update={"argv": (*read.process.argv, EVIL)}),
            "serving": dataclasses.replace(read.serving, model=EVIL, version=EVIL) if read.serving else None,
            "ledger": (LedgerEntry(run=made_up.RUN, state=EVIL, operator=EVIL, at=EVIL, summary=EVIL),),
        }
    )


def hostile_run() -> list[object]:
    events = story.numbered(story.waiting())
    said = [
        LogLine(target=story.TARGET, kind="weights", text=EVIL),
        StepProgress(target=story.TARGET, step="wait", phase=EVIL, message=EVIL),
        finding(EVIL).model_copy(update={"target": story.TARGET, "flags": (EVIL,)}),
        ConclusionMade(target=story.TARGET, kind="cause", text=EVIL),
    ]
    more = [event.model_copy(update={"seq": 100 + n, "ts": events[-1].ts}) for n, event in enumerate(said)]
    return [*events, *more]


RECORD = HistoryRow(
    sha="d" * 40, at="2026-03-04T03:00:00Z", run=made_up.RUN, target="node7/chat", runbook=EVIL, outcome=EVIL,
    operator=EVIL, subject=EVIL, changes=(EVIL,), findings=(EVIL,), reason=EVIL,
)  # fmt: skip
ASKED = QuestionAsked(target=EVIL, question="confirm", text=EVIL, choices=("yes", EVIL), prices={"yes": EVIL})


async def test_on_every_screen(open_app: Opens, looks: made_up.FakeLooks) -> None:
    looks.known["node7/chat"] = hostile_facts()  # type: ignore[assignment]
    looks.said.append((EVIL, "[/]"))
    app = open_app()
    made_up.write_run(app.session.base, hostile_run())  # type: ignore[arg-type]
    seen = set()
    async with app.run_test(size=(80, 24)) as pilot:
        app.notify(app.session.safe(EVIL), markup=False)
        async for name, shown in every_screen(app, pilot, RECORD, ASKED):
            seen.add(name)
            for bad in ("\x1b", "\x9b", "\x07", "\u202e"):
                assert bad not in shown, name
            assert max(map(len, shown.split("\n"))) <= 80, name
    assert app.crash is None
    assert len(seen) >= 20
    assert not [message for message in app.session.messages if "a bug in this screen" in message.text]


def test_no_escape_of_theirs_reaches_the_terminal(tmp_path, state_home) -> None:  # type: ignore[no-untyped-def]
    hosts = tmp_path / "hosts.toml"
    hosts.write_text("schema = 1\n")
    made_up.write_run(state_home, hostile_run())  # type: ignore[arg-type]
    with on_terminal(["-m", "console", "--hosts", str(hosts)], tmp_path / "state") as terminal:
        terminal.read_until(b"OPEN node7/chat")
        os.write(terminal.descriptor, b"\r")
        terminal.read_until(b"PROCESS IS GONE")
        terminal.read_until(b"oops")
        os.write(terminal.descriptor, b"q")
        assert terminal.ended() == 0
    assert BACK in terminal.output
    assert b"ZXZpbA" not in terminal.output.replace(rb"\x1b]52;c;ZXZpbA", b"")
    for bad in (b"\x1b]52", "\u202e".encode(), b"\xc2\x9b31m"):
        assert bad not in terminal.output
