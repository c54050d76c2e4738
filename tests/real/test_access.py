"""Ways in as fleets have them: a bastion that asks, certificates, keys of hops, the system's own ssh."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.commands import run
from tests.hosts.host import Host
from tests.real.conftest import MakeDesk
from tests.real.desk import Desk
from tests.real.ready import Ready
from tests.real.state_of import everywhere, snapshot

pytestmark = [pytest.mark.real_host, pytest.mark.by_hand]

CODE = "314159"


@pytest.fixture
def bastion(ready: Ready) -> Iterator[Host]:
    taken = ready.take()
    yield taken
    ready.give_back(taken)


def sshd(host: Host, lines: str) -> None:
    host.write("/etc/ssh/sshd_config.d/test.conf", lines)
    host.run("systemctl", "restart", "ssh")


def asking(bastion: Host) -> None:
    """It wants a key, and then a code."""
    bastion.add_user("gate", password=CODE)
    sshd(bastion, "KbdInteractiveAuthentication yes\nAuthenticationMethods publickey,keyboard-interactive\n")


def test_a_bastion_that_asks_for_a_code(host: Host, bastion: Host, make_desk: MakeDesk) -> None:
    asking(bastion)
    desk = make_desk([host], host_keys={"jump": f"gate@{bastion.address}"})
    before = snapshot(host)

    headless = desk.extend()

    assert headless.code == 7, headless.err
    said = headless.said
    assert f"{bastion.address} (gate@{bastion.address})" in said or f"{bastion.address}:" in said
    assert "nobody is there to answer what it asks" in said
    assert snapshot(host) == before

    typed, code = at_a_terminal(desk, "hosts", "login", host.name)
    assert code == 0, typed
    assert f"{bastion.address} asks:" in typed
    assert "and what a person answered" not in typed or "publickey" in typed
    assert CODE not in typed


def at_a_terminal(desk: Desk, *words: str, answer: str = CODE) -> tuple[str, int]:
    """`console WORDS` on a terminal of its own; the first question that ends with `asks:` is answered."""
    command = shlex.join([sys.executable, "-m", "console", "--hosts", str(desk.inventory), *words])
    process = subprocess.Popen(
        ["script", "--quiet", "--return", "--command", command, "/dev/null"],
        cwd=desk.folder,
        env=desk.environment | {"TERM": "dumb"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    seen = b""
    while not re.search(rb"asks: .*: ", seen):
        piece = os.read(process.stdout.fileno(), 4096)
        if not piece:
            break
        seen += piece
    else:
        process.stdin.write(f"{answer}\n".encode())
        process.stdin.flush()
    rest, _ = process.communicate(timeout=60)
    return (seen + rest).decode(errors="replace"), process.returncode


def signed(folder: Path, public: Path, *words: str) -> Path:
    """A fresh authority, and a certificate of it for a public key beside that key."""
    authority = folder / "authority"
    if not authority.exists():
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(authority)])
    run(["ssh-keygen", "-q", "-s", str(authority), *words, str(public)])
    return authority


def test_a_certificate_that_ends_before_the_run_may(host: Host, make_desk: MakeDesk, tmp_path: Path) -> None:
    key = tmp_path / "night"
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)])
    authority = signed(tmp_path, key.with_suffix(".pub"), "-I", "night-shift", "-n", "root", "-V", "-1m:+4m")
    host.write("/etc/ssh/authority.pub", authority.with_suffix(".pub").read_text())
    sshd(host, "TrustedUserCAKeys /etc/ssh/authority.pub\nAuthorizedKeysFile none\n")
    desk = make_desk([host], host_keys={"identity": str(key)})
    before = snapshot(host)

    refused = desk.extend()

    assert refused.code == 7, refused.err
    said = refused.said
    assert re.search(r"your certificate ends \d\d:\d\dZ, this run may last until \d\d:\d\dZ", said)
    assert snapshot(host) == before
    done = desk.extend("--i-will-be-here")
    assert done.code == 0, done.err
    assert "certificate night-shift (ends " in done.of("connection.changed")[0]["auth"]

    run(["ssh-keygen", "-q", "-s", str(authority), "-I", "x", "-n", "root", "-V", "-2h:-1h", f"{key}.pub"])
    over = desk.console("facts", f"{host.name}/k26")
    assert over.code == 7, over.err
    assert "certificate x (ends " in over.said


def test_a_host_certificate_of_a_known_authority(host: Host, make_desk: MakeDesk, tmp_path: Path) -> None:
    public = tmp_path / "host.pub"
    public.write_text(host.read("/etc/ssh/ssh_host_ed25519_key.pub"))
    authority = signed(tmp_path, public, "-I", "gpu", "-h", "-n", f"{host.address},{host.name}", "-V", "+1h")
    host.write("/etc/ssh/ssh_host_ed25519_key-cert.pub", (tmp_path / "host-cert.pub").read_text())
    sshd(host, "HostCertificate /etc/ssh/ssh_host_ed25519_key-cert.pub\n")
    known = tmp_path / "known"
    known.write_text(f"@cert-authority * {authority.with_suffix('.pub').read_text()}")
    desk = make_desk([host], host_keys={"known_hosts": str(known)})
    assert desk.console("facts", f"{host.name}/k26").code == 0
    other = tmp_path / "other"
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)])
    known.write_text(f"@cert-authority * {other.with_suffix('.pub').read_text()}")
    refused = desk.console("facts", f"{host.name}/k26")
    assert refused.code == 7, refused.err


def test_the_key_of_a_hop_in_the_middle_is_unknown_or_has_changed(
    host: Host, bastion: Host, make_desk: MakeDesk, tmp_path: Path
) -> None:
    second_sshd(bastion)
    known = tmp_path / "known"
    known.write_text(host.known_hosts.read_text())
    way = {"jump": f"root@{bastion.address},root@{bastion.address}:2222", "known_hosts": str(known)}
    desk = make_desk([host], host_keys=way)

    unknown = desk.console("facts", f"{host.name}/k26")

    assert unknown.code == 7, unknown.err
    said = unknown.said
    assert f"root@{bastion.address}:2222" in said
    assert "not known" in said
    public = bastion.read("/etc/ssh/second.pub").split()
    with known.open("a") as handle:
        handle.write(f"[{bastion.address}]:2222 {public[0]} {public[1]}\n")
    done = desk.extend()
    assert done.code == 0, done.err
    assert everywhere(host) == ("200000",) * 4

    second_sshd(bastion)  # with another key
    changed = desk.console("facts", f"{host.name}/k26")
    assert changed.code == 7, changed.err
    assert "HAS CHANGED" in changed.said


def second_sshd(bastion: Host) -> None:
    bastion.run("sh", "-c", "rm -f /etc/ssh/second*; ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/second")
    bastion.run(
        "sh", "-c", "systemctl stop second.service 2>/dev/null; systemctl reset-failed second.service", check=False
    )
    bastion.run(
        *("systemd-run", "--quiet", "--collect", "--unit=second", "/usr/sbin/sshd", "-D", "-p", "2222"),
        *("-o", "HostKey=/etc/ssh/second", "-o", "PidFile=none"),
    )
    bastion.run("sh", "-c", "for i in $(seq 100); do ss -ltn | grep -q :2222 && exit 0; sleep 0.05; done; exit 1")


def test_through_the_systems_own_ssh(host: Host, bastion: Host, make_desk: MakeDesk) -> None:
    """What `ssh` can do by hand, here: a host name, a key and a known_hosts file that only its config tells."""
    desk = make_desk([host], host_keys={"jump": "the-gate", "via": "openssh"})
    config = desk.folder / "ssh_config"
    config.write_text(
        f"Host the-gate\n  HostName {bastion.address}\n  User root\n  IdentityFile {bastion.identity}\n"
        f"  UserKnownHostsFile {bastion.known_hosts}\n  HostKeyAlias {bastion.name}\n"
    )
    wrapper = desk.folder / "bin" / "ssh"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {config} "$@"\n')
    wrapper.chmod(0o755)
    done = desk.extend(environment={"PATH": f"{wrapper.parent}:{os.environ['PATH']}", "USER": "root"})
    assert done.code == 0, done.err
    assert everywhere(host) == ("200000",) * 4
    assert bastion.out("journalctl", "--quiet", "--output=cat", "-u", "ssh").count("Accepted publickey") >= 1


def test_a_login_shell_that_talks(host: Host, make_desk: MakeDesk) -> None:
    """A banner in colour, a title for the window and complaints on stderr before anything of ours runs."""
    host.add_user("talker", sudo=True)
    host.write(
        "/usr/local/bin/talkative",
        "#!/bin/sh\nprintf '\\033[31mWelcome\\033[0m\\n\\033]0;title\\007'; echo 'no mail' >&2\n"
        '[ "$1" = -c ] || exit 1\nexec /bin/sh -c "$2"\n',
        mode=0o755,
    )
    host.run("usermod", "--shell", "/usr/local/bin/talkative", "talker")
    desk = make_desk([host], user="talker")
    done = desk.extend()
    assert done.code == 0, done.err
    assert "Welcome" not in done.out + done.err
    assert everywhere(host) == ("200000",) * 4
