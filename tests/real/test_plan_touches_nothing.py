"""`console plan` on a real host: it looks, and nothing there can tell that it was here."""

from __future__ import annotations

import pytest

from tests.hosts.engine_unit import UNIT, serving, unit_text
from tests.hosts.host import Host
from tests.real.conftest import MakeDesk
from tests.real.desk import EXTEND_CONTEXT, Desk
from tests.real.state_of import UNIT_FILE, engine_lines, snapshot

pytestmark = pytest.mark.real_host

# The kernel refuses every write to a file, and systemctl every verb but those that look. A plan refuses a host whose
# /etc is read-only, so that folder takes a write, gives it away (99) and forgets it.
ONLY_LOOKS = r"""#!/bin/sh
exec unshare --mount /bin/sh -c '
mount --make-rprivate /
mount -t tmpfs tmpfs /mnt && mkdir /mnt/upper /mnt/work || exit 98
mount -t overlay -o lowerdir=/etc,upperdir=/mnt/upper,workdir=/mnt/work overlay /etc || exit 98
for place in / /run /tmp /dev/shm; do
  mount -o remount,bind,ro "$place" 2>/dev/null || mount --bind "$place" "$place" && mount -o remount,bind,ro "$place"
done
touch /var/mark 2>/dev/null || touch /run/mark 2>/dev/null && exit 99
mount --bind /usr/local/sbin/systemctl-that-looks /usr/bin/systemctl
for program in logger systemd-run systemd-analyze kill; do
  mount --bind /usr/bin/false "$(command -v "$program")" 2>/dev/null
done
$SSH_ORIGINAL_COMMAND
status=$?
test -z "$(find /mnt/upper -mindepth 1)" || exit 99
exit $status'
"""
SYSTEMCTL_THAT_LOOKS = r"""#!/bin/sh
case " $* " in
  *' show '* | *' --version '*) exec /opt/systemctl-itself "$@" ;;
esac
echo "refused: systemctl $*" >&2
exit 93
"""


def only_looks(host: Host) -> None:
    """From now on who logs in as root can look, and do nothing else."""
    host.run("cp", "/usr/bin/systemctl", "/opt/systemctl-itself")
    host.write("/usr/local/sbin/systemctl-that-looks", SYSTEMCTL_THAT_LOOKS, mode=0o755)
    host.write("/usr/local/sbin/only-looks", ONLY_LOOKS, mode=0o755)
    key = host.identity.with_suffix(".pub").read_text()
    host.write("/root/.ssh/authorized_keys", f'command="/usr/local/sbin/only-looks" {key}', mode=0o600)


def test_nothing_changes_and_nothing_is_generated(host: Host, desk: Desk) -> None:
    invocation = host.show(UNIT, "InvocationID")
    before, lines = snapshot(host), engine_lines(host)

    done = desk.console("plan", EXTEND_CONTEXT)

    assert done.code == 0, done.err
    assert "+    --context-length 200000" in done.out
    # The engine writes its access lines after it has answered.
    new = engine_lines(host, invocation)[len(lines) :]
    assert snapshot(host) == before
    assert new, "the plan says what is served, so it must have asked"
    assert [line for line in new if ' "GET /' not in line] == []
    assert not desk.run_folders()
    assert not desk.commits()


def test_host_that_refuses_everything_else(host: Host, desk: Desk) -> None:
    only_looks(host)
    before = snapshot(host)

    planned = desk.console("plan", EXTEND_CONTEXT)
    tried = desk.extend()

    assert planned.code == 0, planned.err
    assert "+    --context-length 200000" in planned.out
    # That host does refuse: a run gets no further than its lock.
    assert tried.code == 1, tried.err
    assert tried.outcome == "failed-unchanged"
    assert snapshot(host) == before


def test_login_without_sudo_sees_what_it_may(host: Host, make_desk: MakeDesk) -> None:
    host.add_user("guest")
    desk = make_desk([host], user="guest")
    before = snapshot(host)

    planned = desk.console("plan", EXTEND_CONTEXT)
    tried = desk.extend()

    assert planned.code == 7, planned.err
    assert "+    --context-length 200000" in planned.out
    assert "sudo" in planned.err
    assert "guest" in planned.err
    assert tried.code == 7, tried.err
    assert snapshot(host) == before


def test_hand_edit_that_nobody_restarted_is_named(host: Host, desk: Desk) -> None:
    host.write(UNIT_FILE, unit_text(flags={"--max-running-requests": 7}))
    before = snapshot(host)

    planned = desk.console("plan", EXTEND_CONTEXT)
    refused = desk.extend("--yes")

    assert planned.code == 1, planned.err
    assert "--max-running-requests" in planned.out.partition("ALSO LIVE")[2].partition("ALSO HIT")[0]
    assert refused.code == 1, refused.err
    assert "--max-running-requests" in refused.err
    assert "--accept-pending" in refused.err
    assert refused.outcome == "failed-unchanged"
    assert snapshot(host) == before

    accepted = desk.extend("--yes", "--accept-pending")

    assert accepted.code == 0, accepted.err
    assert serving(host) == 200000
    assert host.main_argv(UNIT)[host.main_argv(UNIT).index("--max-running-requests") + 1] == "7"
    assert any("--max-running-requests" in word for word in accepted.record["also_activates"])
