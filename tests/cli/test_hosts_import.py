"""`console hosts import`: hosts of the SSH config and of Ansible; what stood in hosts.toml stays word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.cli.main import run
from console.schema.hosts import load_inventory

INVENTORY = """\
# Who is on call: see the wiki.
schema = 1

[hosts.gpu001]                # the old one
address = "192.0.2.1"

[hosts.gpu001.services.k26]
unit = "sglang-k26.service"   # do not rename
engine = "sglang"
url = "http://127.0.0.1:30000"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "hosts.toml"
    file.write_text(INVENTORY)
    return file


def ssh_config(home: Path, count: int) -> None:
    folder = home / ".ssh"
    (folder / "more").mkdir(parents=True)
    entries = [
        f"Host gpu{number:03} gpu{number:03}.example.net\n  HostName 198.51.100.{number % 250}"
        for number in range(1, count)
    ]
    (folder / "config").write_text(
        "Include more/*\nHost *\n  User ops\nHost bastion !other *.lan\n\n" + "\n".join(entries)
    )
    (folder / "more" / "last").write_text(f"Host = gpu{count:03}\n  HostName 198.51.100.1\n")


def test_two_hundred_hosts_of_the_ssh_config(
    path: Path, clean_environment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ssh_config(clean_environment, 200)
    assert run(["--hosts", str(path), "hosts", "import", "--ssh-config", "gpu*", "--dry-run"]) == 0
    assert path.read_text() == INVENTORY
    assert run(["--hosts", str(path), "hosts", "import", "--ssh-config", "gpu*"]) == 0
    assert "199 hosts added" in capsys.readouterr().err
    assert path.read_text().startswith(INVENTORY.rstrip("\n"))
    hosts = load_inventory(path).hosts
    assert len(hosts) == 200
    assert "bastion" not in hosts
    assert hosts["gpu200"].address is None  # the SSH config tells it
    assert run(["--hosts", str(path), "hosts", "import", "--ssh-config", "gpu*"]) == 0
    assert "nothing to add: 200 of 200" in capsys.readouterr().err


def test_an_ansible_inventory_and_one_of_its_groups(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "inventory"
    source.write_text("[engines]\ngpu[001:003] ansible_user=ops\nbad_name! x=1\n[other]\nweb1\n")
    assert run(["--hosts", str(path), "hosts", "import", "--ansible", str(source), "--limit", "engines"]) == 0
    said = capsys.readouterr()
    assert "gpu002  user=ops  tags=engines" in said.out
    assert "bad_name!" in said.err
    hosts = load_inventory(path).hosts
    assert set(hosts) == {"gpu001", "gpu002", "gpu003"}
    assert hosts["gpu001"].user is None  # what was there is not touched
    assert path.read_text().startswith(INVENTORY.rstrip("\n"))


@pytest.mark.parametrize("words", [[], ["--ssh-config", "x", "--ansible", "y"]])
def test_one_source_must_be_named(path: Path, words: list[str]) -> None:
    assert run(["--hosts", str(path), "hosts", "import", *words]) == 2


def test_a_source_that_is_not_there(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--hosts", str(path), "hosts", "import", "--ansible", "/nowhere/hosts"]) == 2
    assert "/nowhere/hosts" in capsys.readouterr().err
