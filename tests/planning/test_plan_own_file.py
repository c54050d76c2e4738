"""What is not a file of this unit alone to edit: a package's gets a drop-in, an engine of several parts a refusal."""

from __future__ import annotations

import pytest

from console.errors import RefusedError, SudoError
from console.planning import policy
from console.schema.change import FileChange
from console.schema.facts import Facts
from console.schema.splice import apply
from console.views.by_hand import by_hand
from tests.fakes import ARGV, FRAGMENT, UNIT, facts, sha256
from tests.planning.test_plan import made


@pytest.mark.parametrize("folder", ["", "/srv/chat.d"])
@pytest.mark.parametrize("real_path", ["/usr/lib/systemd/system/chat.service", "/usr/share/chat/chat.service"])
def test_a_link_to_what_a_package_writes_gets_a_drop_in(real_path: str, folder: str) -> None:
    seen = facts()
    linked = seen.files[0].model_copy(update={"real_path": real_path})
    plan = made(seen=seen.model_copy(update={"files": (linked,), "drop_in_folder": folder}))
    change = plan.change("c1")
    assert isinstance(change, FileChange)
    path = "/etc/systemd/system/chat.service.d/50-console.conf"
    assert (change.path, change.real_path) == (path, f"{folder or path.rpartition('/')[0]}/50-console.conf")
    assert (change.sha256_before, change.mode, change.folder) == ("absent", 0o644, not folder)
    assert sha256(apply(b"", change.splices)) == change.sha256_after
    (edit,) = plan.edits
    assert edit.diff.startswith(f"--- /dev/null\n+++ b{path}\n@@ -0,0 ")
    assert plan.deciding == {real_path: sha256(UNIT.encode())}
    assert any(f"a new file, as {FRAGMENT} belongs to a package" in text for text in plan.warnings)
    assert plan.answers.undo[0] == f"{path} is taken away again"
    differing = [(a, b) for a, b in zip(plan.argv_before, plan.argv_after, strict=True) if a != b]
    assert differing == [("32768", "200000")]


def test_two_settings_of_a_packages_unit_make_one_file() -> None:
    seen = facts()
    linked = seen.files[0].model_copy(update={"real_path": "/usr/lib/systemd/system/chat.service"})
    plan = made(seen=seen.model_copy(update={"files": (linked,)}), mem_fraction="0.9")
    assert [change.kind for change in plan.changes] == ["file", "reload", "restart"]
    change = plan.change("c1")
    assert isinstance(change, FileChange)
    written = apply(b"", change.splices).decode()
    assert "--context-length 200000" in written
    assert "--mem-fraction-static 0.9 " in written


def test_a_limited_sudo_is_asked_for_a_new_file_only_where_one_is_made() -> None:
    seen = facts()
    host = seen.host.model_copy(update={"sudo": "limited", "sudo_missing_for_new": ("ln -T -- a b",)})
    limited = seen.model_copy(update={"host": host})
    policy.permitted(made(seen=limited), limited)
    linked = seen.files[0].model_copy(update={"real_path": "/usr/lib/systemd/system/chat.service"})
    packaged = limited.model_copy(update={"files": (linked,)})
    with pytest.raises(SudoError, match="sudo ln -T -- a b"):
        policy.permitted(made(seen=packaged), packaged)


def test_by_hand_a_file_that_is_written_twice_is_one_file_and_goes_back_to_its_first_text() -> None:
    plan = made()
    change = plan.change("c1")
    assert isinstance(change, FileChange)
    later = change.model_copy(update={"id": "c9", "sha256_before": change.sha256_after, "sha256_after": "d" * 64})
    lines = by_hand(plan.model_copy(update={"changes": (change, later)}))
    assert [line for line in lines if line.startswith("sudo cp -a")] == [
        f"sudo cp -a {FRAGMENT} /var/tmp/chat.service.before"
    ]
    assert [line.split("# ")[1][:12] for line in lines if line.startswith("sha256sum")] == [
        change.sha256_before[:12],
        "d" * 12,
    ]


@pytest.mark.parametrize(
    "seen",
    [
        facts(UNIT.replace("--port 30000", "--port 30000 --nnodes 2")),
        facts(running=(*ARGV, "--nnodes", "2")),
    ],
    ids=["on disk", "running"],
)
def test_a_part_of_an_engine_on_several_machines_is_refused(seen: Facts) -> None:
    with pytest.raises(RefusedError, match="--nnodes 2: this unit is one part of an engine in several") as caught:
        made(seen=seen)
    assert 'nodes = ["HOST", …]' in caught.value.hint
