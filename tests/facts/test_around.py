"""What look_around.sh says, as captured on hosts of several kinds, and the values it must become."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from console.facts.around import parse_around, template_of, unit_of_file
from console.facts.collect import skew_s
from console.schema.surroundings import GpuHealth, Relations, Surroundings

UNIT = "chat.service"
GROUP = "/system.slice/chat.service"


def around(image: str = "", paths: tuple[str, ...] = ("/etc/default/chat",), **sections: str) -> Surroundings:
    said = {name: text.encode() for name, text in {"loaded": "", **sections}.items()}
    return parse_around(said, UNIT, GROUP, paths, image)


def test_a_host_that_was_not_asked_says_so() -> None:
    assert not parse_around({}, UNIT, GROUP, ()).looked
    assert around().looked


def test_readers_of_a_file_stand_once_each_and_instances_before_their_template() -> None:
    seen = around(
        loaded="/etc/default/chat\twork@1.service\n/etc/default/chat\twork@2.service\n",
        named="file\t/etc/default/chat\t/etc/systemd/system/work@.service\n"
        "file\t/etc/default/chat\t/etc/systemd/system/chat.service\n"
        "file\t/etc/default/chat\t/etc/systemd/system/idle.service.d/10-a.conf\n"
        "file\t/etc/default/chat\t/etc/cron.d/backup\n",
    )
    assert [(each.unit, each.named_in) for each in seen.shared] == [
        ("work@1.service", ""),
        ("work@2.service", ""),
        ("idle.service", "/etc/systemd/system/idle.service.d/10-a.conf"),
    ]


def test_what_moves_with_the_unit() -> None:
    seen = around(
        relations="Conflicts=shutdown.target b.service\nConflictedBy=c.service\nTriggeredBy=n.timer\n"
        "Requires=sysinit.target a.socket\nBindsTo=\nWatchdogUSec=2min\n"
    )
    assert seen.relations == Relations(
        conflicts=("shutdown.target", "b.service", "c.service"),
        triggered_by=("n.timer",),
        starts=("sysinit.target", "a.socket"),
        watchdog_s=120.0,
    )


def test_whoever_restarts_the_unit_is_named_by_file() -> None:
    seen = around(named="moves\tchat.service\t/etc/cron.d/kick\nmoves\tchat.service\t/etc/systemd/system/dog.service\n")
    assert seen.restarted_by == ("/etc/cron.d/kick", "/etc/systemd/system/dog.service")


MOUNTS = (
    "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
    "30 22 254:1 /etc /etc ro,relatime shared:1 - ext4 /dev/vda1 rw\n"
    "31 22 0:40 / /srv/units\\040here rw - nfs4 filer:/units rw,vers=4.2\n"
    "32 22 0:41 / /srv ro - squashfs /dev/loop0 ro\n"
)


@pytest.mark.parametrize(
    ("path", "fstype", "read_only"),
    [
        ("/opt/chat.env", "ext4", False),
        ("/etc/default/chat", "ext4", True),
        ("/etcetera/chat", "ext4", False),
        ("/srv/units here/chat.service", "nfs4", False),
        ("/srv/other", "squashfs", True),
    ],
)
def test_a_file_lies_on_the_last_mount_above_it(path: str, fstype: str, read_only: bool) -> None:
    place = around(paths=(path,), mounts=MOUNTS).place(path)
    assert (place.fstype, place.read_only) == (fstype, read_only)


def test_attributes_and_packages() -> None:
    seen = around(
        paths=("/etc/default/chat", "/opt/chat", "/srv/chat"),
        attributes="----i---------e------- /etc/default/chat\n--------------e------- /opt/chat\n-----a---- /srv\n",
        packages="engine-units\t/opt/chat\n",
    )
    assert [(place.immutable, place.append_only, place.frozen_at, place.package) for place in seen.places] == [
        (True, False, "/etc/default/chat", ""),
        (False, False, "", "engine-units"),
        (False, True, "/srv", ""),
    ]


def test_processes_on_the_gpus_are_told_apart_by_their_control_group() -> None:
    seen = around(
        gpu_users="10\t80000\t/system.slice/chat.service\tpython -m sglang\n"
        "11\t900\t/system.slice/chat.service/worker\tsglang::scheduler\n"
        "12\t4096\t/user.slice/user-1000.slice/session-3.scope\tpython train.py\n"
        "13\t[N/A]\t/system.slice/chat.service-other.service\tx\n"
    )
    assert [(user.pid, user.memory_mib) for user in seen.gpu_users] == [(12, 4096), (13, None)]


def test_health_of_gpus_that_tell_and_that_do_not() -> None:
    seen = around(gpu_health="status=0\n0, 0, No, No\n1, 2, Yes, [N/A]\n2, [N/A], [N/A], [N/A]\n")
    assert seen.gpu_health == (
        GpuHealth(index=0, uncorrected=0, remap_pending=False),
        GpuHealth(index=1, uncorrected=2, remap_pending=True),
        GpuHealth(index=2, uncorrected=None, remap_pending=None),
    )


@pytest.mark.parametrize(
    ("driver", "runtime", "requests", "devices", "may_lose"),
    [
        ("systemd", "runc", '[{"Driver":"nvidia","Count":-1}]', "[]", True),
        ("systemd", "nvidia", "null", "null", True),
        ("systemd", "nvidia", "null", '[{"PathOnHost":"/dev/nvidia0"}]', False),
        ("cgroupfs", "nvidia", "null", "[]", False),
        ("systemd", "runc", "null", "[]", False),
        ("systemd", "runc", "{torn", "[]", False),
    ],
)
def test_containers_that_may_lose_their_gpus(
    driver: str, runtime: str, requests: str, devices: str, may_lose: bool
) -> None:
    seen = around(
        containers=f"driver\tdocker\t{driver}\ncontainer\t{'ab' * 32}\t/train\t{runtime}\t{requests}\t{devices}\n"
    )
    assert [each.name for each in seen.containers] == (["train"] if may_lose else [])


def test_an_image_that_no_tool_has() -> None:
    assert around("engine:9", containers="image\tdocker\tno\n").image_missing == "engine:9"
    assert around("engine:9", containers="image\tdocker\tno\nimage\tpodman\tyes\n").image_missing == ""
    assert around("engine:9").image_missing == ""


def test_marks_and_managers() -> None:
    seen = around(boot_wanted="yes\nlinux-image\nnvidia-driver\nlinux-image\n", fabric="state=failed\n")
    assert (seen.reboot_required, seen.reboot_packages) == (True, ("linux-image", "nvidia-driver"))
    assert seen.fabric_manager == "failed"
    assert around().fabric_manager is None
    assert around(fabric="state=\n").fabric_manager == ""
    assert around(stale="chat.service\nother.service\n").stale == ("other.service",)
    assert around(space="/\t1024\n/dev/shm\tmany\n").free_bytes == {"/": 1024}


@pytest.mark.parametrize(
    ("now", "skew"),
    [
        ("2026-01-02T03:04:05.000Z", 0.0),
        ("2026-01-02T03:04:00.000Z", 0.0),
        ("2026-01-02T03:03:50.000Z", -10.0),
        ("2026-01-02T03:04:16.500Z", 6.5),
        ("", None),
        ("yesterday", None),
    ],
)
def test_a_clock_is_wrong_only_outside_of_question_and_answer(now: str, skew: float | None) -> None:
    asked, answered = datetime(2026, 1, 2, 3, 4, 0, tzinfo=UTC), datetime(2026, 1, 2, 3, 4, 10, tzinfo=UTC)
    assert skew_s(now, asked, answered) == skew


def test_names() -> None:
    assert template_of("chat@a@b.service") == "chat@.service"
    assert template_of("chat.service") == ""
    assert unit_of_file("/etc/systemd/system/a.service.d/x.conf") == "a.service"
    assert unit_of_file("/etc/systemd/system/service.d/x.conf") == ""
