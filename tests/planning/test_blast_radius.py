"""Whoever reads an edited file, moves with the restart or restarts the unit is named, and counted by a person."""

from __future__ import annotations

from typing import Any

import pytest

from console.errors import PendingChangesError, RefusedError
from console.planning import blast_radius, policy
from console.schema.change import ReloadChange
from console.schema.facts import Facts
from console.schema.plan import FileEdit, Plan
from console.schema.surroundings import GpuContainer, Place, Relations, SharedFile, Surroundings
from console.settings.drop_in import decides_others
from tests.fakes import FRAGMENT, facts, plan, state

SYSTEM = "/etc/systemd/system"
VARIABLES = "/etc/default/models"


@pytest.mark.parametrize(
    ("path", "others"),
    [
        (f"{SYSTEM}/chat.service", ""),
        (f"{SYSTEM}/chat.service.d/10-a.conf", ""),
        (f"{SYSTEM}/chat@1.service.d/10-a.conf", ""),
        (f"{SYSTEM}/chat@.service", "every instance of chat@.service"),
        (f"{SYSTEM}/chat@.service.d/10-a.conf", "every instance of chat@.service"),
        (f"{SYSTEM}/service.d/10-a.conf", "every service"),
        (f"{SYSTEM}/chat-.service.d/10-a.conf", "every unit named chat-*"),
    ],
)
def test_files_that_decide_other_units_too(path: str, others: str) -> None:
    assert decides_others(path) == others


def edit(path: str, real_path: str = "") -> FileEdit:
    return FileEdit(
        path=path,
        real_path=real_path or path,
        splices=(),
        sha256_before="",
        sha256_after="",
        diff="",
        steps=(),
        change="c1",
    )


def edited(path: str, real_path: str = "") -> Plan:
    return plan(edits=(edit(path, real_path),))


def around(**of_it: Any) -> Facts:
    return facts().model_copy(update={"around": Surroundings(**of_it)})


def sharing(*units: str) -> Facts:
    return around(shared=tuple(SharedFile(path=VARIABLES, unit=unit) for unit in units))


def test_each_reader_of_an_edited_file_is_listed_and_its_number_must_be_said() -> None:
    seen = sharing("other@1.service", "other@2.service", "third.service")
    with pytest.raises(RefusedError) as caught:
        policy.of_this_unit(edited(VARIABLES), seen)
    for unit in ("other@1.service", "other@2.service", "third.service"):
        assert f"{unit} reads {VARIABLES}" in caught.value.message
    assert "--also-affects 3 " in caught.value.hint
    for wrong in (0, 1, 2, 4):
        with pytest.raises(RefusedError, match=f"3 others, not {wrong}:"):
            policy.of_this_unit(edited(VARIABLES), seen, wrong)
    policy.of_this_unit(edited(VARIABLES), seen, 3)


def test_a_unit_that_reads_two_of_the_files_counts_once() -> None:
    seen = around(
        shared=(SharedFile(path=VARIABLES, unit="other.service"), SharedFile(path="/etc/b", unit="other.service"))
    )
    policy.of_this_unit(plan(edits=(edit(VARIABLES), edit("/etc/b"))), seen, 1)


def test_a_file_nobody_else_reads_needs_no_word() -> None:
    policy.of_this_unit(edited(FRAGMENT), sharing("other.service"))
    policy.of_this_unit(edited(VARIABLES), sharing())


def test_the_real_file_behind_a_link_is_the_one_that_others_read() -> None:
    with pytest.raises(RefusedError, match="third"):
        policy.of_this_unit(edited("/etc/default/own", VARIABLES), sharing("third.service"))


@pytest.mark.parametrize("fstype", ["nfs", "nfs4", "cifs", "ceph", "lustre", "fuse.glusterfs", "wekafs", "fuse.rclone"])
def test_a_file_on_a_network_file_system_is_read_by_other_hosts(fstype: str) -> None:
    seen = around(places=(Place(path="/srv/units/chat.service", fstype=fstype, source="filer:/units"),))
    planned = edited(FRAGMENT, "/srv/units/chat.service")
    with pytest.raises(RefusedError, match="every host that mounts filer:/units reads"):
        policy.of_this_unit(planned, seen)
    policy.of_this_unit(planned, seen, 1)


@pytest.mark.parametrize("fstype", ["ext4", "xfs", "overlay", "btrfs", "zfs", "nfsd", "fuseblk", "fuse.mergerfs", ""])
def test_a_local_one_is_not(fstype: str) -> None:
    policy.of_this_unit(edited(FRAGMENT), around(places=(Place(path=FRAGMENT, fstype=fstype),)))


def test_what_moves_with_a_restart_is_told() -> None:
    unit = state(required_by=("proxy.service",), triggers_with=("exporter.service",))
    relations = Relations(
        conflicts=("shutdown.target", "other-model.service"),
        starts=("sysinit.target", "system.slice", "cache.service"),
        triggered_by=("nightly.timer",),
        watchdog_s=120.0,
    )
    seen = around(restarted_by=("/etc/cron.d/kick",), relations=relations).model_copy(update={"unit": unit})
    assert blast_radius.also_hit(seen, (), reloads=False, restarts=True) == [
        "stops and starts with it: proxy.service, exporter.service",
        "cannot run beside it (Conflicts=), so its start stops them: other-model.service",
        "started with it where they do not run: cache.service",
        "may start it meanwhile: nightly.timer",
        "has a command that restarts or stops it: /etc/cron.d/kick",
        "systemd's watchdog ends it after 120 s without a sign of life",
    ]
    assert blast_radius.also_hit(seen, (), reloads=False, restarts=False) == []


RELOAD = ReloadChange(id="c1", step="reload", unit="chat.service")


def test_a_reload_that_changes_others_must_be_accepted() -> None:
    seen = around(stale=("other.service",), containers=(GpuContainer(id="ab12", name="trainer", tool="docker"),))
    told = blast_radius.also_hit(seen, (), reloads=True, restarts=False)
    assert any("other.service" in line for line in told)
    assert any("container trainer (docker) may lose its GPUs" in line for line in told)
    with pytest.raises(PendingChangesError, match=r"unit other\.service, container trainer") as caught:
        policy.reloads_alone(plan(changes=(RELOAD,)), seen, accept=False)
    assert "--accept-pending" in caught.value.hint
    policy.reloads_alone(plan(changes=(RELOAD,)), seen, accept=True)
    policy.reloads_alone(plan(), seen, accept=False)
    policy.reloads_alone(plan(changes=(RELOAD,)), facts(), accept=False)


def test_a_file_that_cannot_be_replaced_where_it_lies_is_refused_at_planning() -> None:
    with pytest.raises(RefusedError, match=r"mounted read-only \(ext4 on /etc\)"):
        policy.writable(
            edited(FRAGMENT), around(places=(Place(path=FRAGMENT, mount="/etc", fstype="ext4", read_only=True),))
        )
    with pytest.raises(RefusedError, match="immutable attribute") as caught:
        policy.writable(edited(FRAGMENT), around(places=(Place(path=FRAGMENT, immutable=True),)))
    assert f"chattr -i {FRAGMENT}" in caught.value.hint
    policy.writable(edited(FRAGMENT), around(places=(Place(path=FRAGMENT, fstype="ext4"),)))
    policy.writable(plan(), around(places=(Place(path=FRAGMENT, read_only=True),)))
