"""Every action of the terminal UI, once: bindings, key line, help, palette and `:` commands are made from this table.

A letter means one thing on a screen. What changes a host has no Ctrl key, a command that does the same, and is off
until writing is on; only stopping a run is always on. Nothing is accepted or started by one key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

MODES = ("fleet", "runs", "measure", "history")
# Full screens, where the keys of `EVERYWHERE` work; the others are questions and lists above them.
FULL = (*MODES, "target", "runbooks", "plan", "run", "again", "series", "text")
# What Esc leads back from.
BEHIND = (*(one for one in FULL if one not in MODES), "variables")
TABLES = ("fleet", "runs", "measure", "history")


@dataclass(frozen=True)
class Situation:
    """What the table must know of a screen to say what is off, and why."""

    write: bool = False
    target: str = ""
    run: str = ""
    alive: bool = False
    open: bool = False
    changed: bool = False
    waits: bool = False
    asks: bool = False
    plan: str = ""  # reading · refused · pending · accepted · ready
    record: str = ""
    marked: int = 0
    points: int = 0
    foreign: str = ""  # an open change on the host, of a run that this machine does not know
    baseline: bool = False
    unanswered: bool = False  # a host asked something at login, or sudo did, and nobody was there


Off = Callable[[Situation], str]


def never(_: Situation) -> str:
    return ""


def first(*checks: Off) -> Off:
    """The first reason of several."""
    return lambda now: next((reason for check in checks if (reason := check(now))), "")


def needs_write(now: Situation) -> str:
    return "" if now.write else "read-only: press W to write"


def needs_target(now: Situation) -> str:
    return "" if now.target else "no target is chosen"


def needs_run(now: Situation) -> str:
    return "" if now.run else "no run is chosen"


def needs_record(now: Situation) -> str:
    return "" if now.record else "no record is chosen"


def needs_two(now: Situation) -> str:
    return "" if now.marked == 2 else f"mark two with Space to compare them; {now.marked} marked"


def needs_plan(now: Situation) -> str:
    said = {
        "ready": "",
        "accepted": "",
        "reading": "the plan is not made yet",
        "pending": "others left changes that would go live too: read ALSO LIVE; `a` includes them in the plan",
    }
    return said.get(now.plan, "this plan is refused: see the top of the screen")


def needs_pending(now: Situation) -> str:
    return "" if now.plan in ("pending", "accepted") else "nothing of others is pending on this host"


def needs_life(now: Situation) -> str:
    return "" if now.alive else "this run does not go on: there is nothing to stop"


def needs_question(now: Situation) -> str:
    return "" if now.alive and now.asks else "this run asks nothing now"


def needs_wait(now: Situation) -> str:
    return "" if now.alive and now.waits else "it is not waiting for a service: there is nothing to extend"


def needs_open(now: Situation) -> str:
    if now.alive:
        return "this run still goes on"
    return "" if now.open else "this run has ended: plan and run again"


def needs_change(now: Situation) -> str:
    if now.alive:
        return "this run still goes on: x stops it"
    return "" if now.changed else "this run changed nothing: there is nothing to put back"


def needs_points(now: Situation) -> str:
    return "" if now.points else "nothing is measured yet"


def needs_foreign(now: Situation) -> str:
    return "" if now.foreign else "no run of another machine is open on this target"


def needs_asking(now: Situation) -> str:
    return "" if now.unanswered else "no host asked for a password that it did not get"


def needs_baseline(now: Situation) -> str:
    return "" if now.baseline else "no earlier measurement of this target on this machine"


@dataclass(frozen=True)
class Action:
    """`id` names the method `action_ID` of the screens, a `:` command and an entry of [keys] in the settings.

    The first of `keys` is the one that is shown. `cli` is the command that does the same without this UI. `mutates`: a
    host may change because of it; `off` says why it cannot be done now, or nothing. `minor` ones are in the help and
    the palette, but not in the key line.
    """

    id: str
    screens: tuple[str, ...]
    keys: tuple[str, ...]
    title: str
    help: str
    cli: str = ""
    mutates: bool = False
    off: Off = never
    minor: bool = False


WRITING = first(needs_run, needs_write)

ACTIONS: tuple[Action, ...] = (
    # What opens the thing under the cursor, or goes one step on.
    Action("open", ("fleet",), ("enter",), "open", "all about this target", "console facts TARGET", off=needs_target),
    Action("open", ("runs",), ("enter",), "open", "look at this run, or follow it", "console attach RUN",
           off=needs_run),
    Action("open", ("measure",), ("enter",), "open", "its table and chart", "console history show RUN", off=needs_run),
    Action("open", ("history",), ("enter",), "show", "this record", "console history show RUN", off=needs_record),
    Action("choose", ("runbooks",), ("enter",), "choose", "set its variables, then plan it", "console lint RUNBOOK"),
    Action("plan", ("variables",), ("enter",), "plan", "read the target and plan; touches nothing", "console plan"),
    # A target.
    Action(
        "runbook",
        ("fleet", "target"),
        ("r",),
        "run…",
        "choose a runbook for this target, then read its plan",
        "console plan RUNBOOK TARGET",
        off=needs_target,
    ),
    Action(
        "measure",
        ("fleet", "target", "measure"),
        ("m",),
        "measure…",
        "choose what is measured; it sends requests to the service",
        "console measure decode TARGET",
        off=first(needs_target, needs_write),
    ),
    Action("journal", ("fleet",), ("l",), "log", "the unit's journal, live", "journalctl -fu UNIT",
           off=needs_target),
    Action(
        "drift", ("fleet",), ("d",), "drift", "disk, loaded, running, serving: what differs", "console facts TARGET",
        off=needs_target, minor=True,
    ),
    Action("next_tab", ("target",), ("tab", "right"), "next", "Status, Log, Config, GPU, Drift, History"),
    Action("previous_tab", ("target",), ("shift+tab", "left"), "previous", "the view before", minor=True),
    Action(
        "take_over", ("fleet", "target"), ("T",), "take over…",
        "finish a run whose machine is gone, from the host's ledger",
        "console takeover RUN", mutates=True, off=first(needs_target, needs_foreign, needs_write), minor=True,
    ),
    Action(
        "log_in", ("fleet", "target"), ("L",), "log in…", "answer what a host or its sudo asks; kept in memory only",
        "console hosts login HOST", off=first(needs_target, needs_asking), minor=True,
    ),
    # A plan and its question.
    Action(
        "carry_out",
        ("plan",),
        ("r",),
        "run…",
        "asks for the host's name first; nothing happens before that",
        "console run RUNBOOK TARGET",
        mutates=True,
        off=first(needs_plan, needs_write),
    ),
    Action(
        "accept",
        ("plan",),
        ("a",),
        "with pending",
        "plan again with what others left on disk (ALSO LIVE); this starts nothing",
        "console plan --accept-pending",
        off=needs_pending,
    ),
    Action("save", ("plan",), ("s",), "save", "keep this plan as a file", "console plan --out FILE",
           off=needs_plan, minor=True),
    Action(
        "confirm",
        ("confirm",),
        ("enter",),
        "start",
        "start it, when what is asked for is typed in full",
        "console run RUNBOOK TARGET",
        mutates=True,
        off=needs_write,
    ),
    # A run.
    Action(
        "stop",
        ("run",),
        ("x",),
        "stop…",
        "choose how to stop it; nothing is sent before that",
        "console run --on-abort leave|rollback, and Ctrl-C in its terminal",
        off=needs_life,
    ),
    Action(
        "leave",
        ("stop",),
        ("l",),
        "leave",
        "stop, and leave the host as it is now",
        "console run --on-abort leave, and Ctrl-C in its terminal",
        mutates=True,
    ),
    Action(
        "roll_back",
        ("stop",),
        ("b",),
        "roll back",
        "stop, and put the old state back",
        "console rollback RUN",
        mutates=True,
    ),
    Action(
        "more_time", ("run",), ("greater_than_sign",), "5 more min", "wait five minutes longer for the service",
        "console attach RUN", off=needs_wait,
    ),
    Action("answer", ("run",), ("a",), "answer…", "answer what the run asks; nothing is sent before that is typed",
           "console attach RUN --answer WORD", off=first(needs_question, needs_write)),
    Action("send_answer", ("answer",), ("enter",), "send", "send the answer, when it is typed in full",
           "console attach RUN --answer WORD", mutates=True, off=needs_write),
    Action("diff", ("run",), ("D",), "diff", "what this run changes, word by word", "console history show RUN"),
    Action("output", ("run",), ("o",), "output", "every line that was said, or only what matters",
           "console run --json"),
    Action("follow", ("run", "target"), ("F",), "follow", "stay at the newest line, or stop there", minor=True),
    Action("review", ("run", "runs", "history"), ("R",), "review", "its events one by one; touches nothing",
           "console runs --json", off=needs_run, minor=True),
    Action(
        "go_on",
        ("run", "runs"),
        ("s",),
        "resume…",
        "go on with a run that was cut off",
        "console resume RUN",
        mutates=True,
        off=first(needs_run, needs_open, needs_write),
    ),
    Action(
        "put_back",
        ("run", "runs"),
        ("b",),
        "roll back…",
        "undo what this run changed, as a run of its own",
        "console rollback RUN",
        mutates=True,
        off=first(needs_run, needs_change, needs_write),
    ),
    Action(
        "recover",
        ("runs",),
        ("v",),
        "recover",
        "close runs whose process is gone and commit their records; no host is changed",
        "console recover",
        minor=True,
    ),
    Action(
        "start",
        ("again",),
        ("r",),
        "go…",
        "asks for the host's name first; nothing happens before that",
        "console resume RUN",
        mutates=True,
        off=first(needs_run, needs_write),
    ),
    Action("only_open", ("runs",), ("o",), "all/open", "all runs, or those that wait for somebody",
           "console runs --open"),
    # Measurements.
    Action("decode", ("choose",), ("d",), "decode", "the rate of one stream, two-point",
           "console measure decode TARGET"),
    Action("sweep", ("choose",), ("s",), "sweep", "step time over context lengths", "console measure sweep TARGET"),
    Action("capacity", ("choose",), ("p",), "capacity", "what fits in the KV pool; reads only",
           "console capacity TARGET"),
    Action("diagnose", ("choose",), ("w",), "why slow", "what explains its speed", "console diagnose TARGET"),
    Action("limit", ("choose",), ("b",), "bottleneck", "what limits it under load",
           "console diagnose TARGET --bottleneck"),
    Action("profile", ("choose",), ("f",), "profile", "the shape of its traffic, from its request log",
           "console workload profile --target TARGET"),
    Action("load", ("choose",), ("l",), "load", "latencies of several streams", "console measure load TARGET"),
    Action("replay", ("choose",), ("r",), "replay", "a frozen trace, sent as it came",
           "console measure replay TRACE TARGET"),
    Action("experiment", ("choose",), ("t",), "try", "one change at a time, over restarts; keeps what helps",
           "console run RUNBOOK TARGET --yes"),
    Action("pick_line", ("pick",), ("enter",), "choose", "this one; a question follows"),
    Action("try_out", ("tries",), ("enter",), "start", "begin the experiment, when the target is typed in full",
           "console run RUNBOOK TARGET --yes", mutates=True, off=needs_write),
    Action("begin", ("sends",), ("enter",), "start", "send the requests, when the target is typed in full",
           "console measure decode TARGET", off=needs_write),
    Action("table", ("series",), ("t",), "table/chart", "the table or the chart first", off=needs_points),
    Action("baseline", ("series",), ("B",), "baseline", "lay an earlier measurement under it, the next at each press",
           "console history compare RUN RUN", off=needs_baseline),
    # History.
    Action("mark", ("fleet", "history"), ("space",), "mark", "mark or unmark this row"),
    Action("compare", ("history",), ("equals_sign",), "compare", "the two marked records",
           "console history compare RUN RUN", off=needs_two),
    Action("blame", ("history",), ("b",), "blame", "who set what this target runs with", "console history blame TARGET",
           off=needs_record),
    Action("report", ("history",), ("p",), "report", "its report, with charts", "console history report RUN",
           off=needs_record, minor=True),
    Action("show_commit", ("history",), ("v",), "git show", "the commit as git has it", "console history show RUN",
           off=needs_record, minor=True),
    Action("handover", ("fleet", "history"), ("H",), "handover", "what the next shift must know",
           "console handover --since 12h", minor=True),
    # Everywhere.
    Action("again", ("fleet", "plan", "runs", "target", "measure", "history", "text"), ("u",), "look again",
           "read it again now", "console facts TARGET", minor=True),
    Action("filter", TABLES, ("slash",), "filter", "rows with all these words; !word without; Esc clears"),
    Action("sort", TABLES, ("S",), "sort", "by the next column", minor=True),
    Action("zoom", ("fleet", "runs", "run", "measure", "history"), ("plus",), "zoom", "the lower part alone, and back",
           minor=True),
    Action("pager", ("target", "plan", "run", "text", "again"), ("e",), "pager", "what is shown, in $PAGER",
           minor=True),
    Action("shell", ("fleet", "target"), ("exclamation_mark",), "shell", "ssh to the host; Ctrl-D comes back",
           "ssh HOST", off=first(needs_target, needs_write), minor=True),
    Action("copy", FULL, ("y",), "copy", "name, command, row or Markdown, to the clipboard and a file", minor=True),
    Action("copy_command", FULL, ("c",), "copy command", "the command of what is on this screen", minor=True),
    Action("name", ("copy",), ("n",), "name", "the name of what is chosen"),
    Action("command_text", ("copy",), ("c",), "command", "the command that shows the same"),
    Action("row_text", ("copy",), ("r",), "row", "the row, or the text, as it is shown"),
    Action("markdown", ("copy",), ("m",), "Markdown", "the same for a ticket"),
    Action("mode_fleet", FULL, ("1",), "fleet", "every target", "console facts", minor=True),
    Action("mode_runs", FULL, ("2",), "runs", "the runs of this machine", "console runs", minor=True),
    Action("mode_measure", FULL, ("3",), "measure", "what was measured", "console history list", minor=True),
    Action("mode_history", FULL, ("4",), "history", "the results repository", "console history list", minor=True),
    Action("write", FULL, ("W",), "write", "allow what changes hosts for 15 minutes of use, or lock it again"),
    Action("command", FULL, ("colon",), "command", "a command of the command line, or an action by its name"),
    Action("palette", FULL, ("ctrl+p",), "all", "everything that can be done here, and why not", minor=True),
    Action("messages", FULL, ("E",), "messages", "everything that was said at the bottom", minor=True),
    Action("choose_line", ("palette", "command"), ("enter",), "do", "do it"),
    Action("go", ("leave",), ("y",), "leave", "leave the console; the run goes on by itself"),
    Action("help", (*FULL, "variables"), ("question_mark", "f1"), "help", "these keys"),
    Action("back", BEHIND, ("escape",), "back",
           "back; nothing is stopped or lost", minor=True),
    Action("back", MODES, ("escape",), "clear", "take the filter away", minor=True),
    Action("back", ("confirm", "sends", "tries", "answer"), ("escape",), "cancel", "nothing is started or sent"),
    Action("back", ("stop",), ("escape", "w"), "keep waiting", "nothing is sent to the run"),
    Action("back", ("leave", "help", "choose", "copy", "palette", "command", "messages", "pick"), ("escape",), "stay",
           "back to where you were"),
    Action("quit", FULL, ("q",), "quit", "leave; a run goes on by itself"),
)  # fmt: skip


def actions_of(screen: str) -> list[Action]:
    """The actions of a screen, in the order they are shown."""
    return [action for action in ACTIONS if screen in action.screens]


def action_of(screen: str, name: str) -> Action:
    """The action of that id on a screen. Raises KeyError."""
    for action in actions_of(screen):
        if action.id == name:
            return action
    raise KeyError(f"{name} is no action of {screen}")
