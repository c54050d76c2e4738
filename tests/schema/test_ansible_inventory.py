"""An Ansible inventory, INI or YAML, as hosts of ours."""

from __future__ import annotations

from typing import Any

import pytest

from console.errors import InvalidFileError
from console.schema.ansible_inventory import expanded, hosts_of

INI = """\
# the bastion stands first
bastion ansible_host=192.0.2.1

[engines]
gpu[01:03].rack ansible_port=2222
gpu09 ansible_host="192.0.2.9" ansible_user={{ vault_user }}   # templated

[engines:vars]
ansible_user=ops
ansible_ssh_private_key_file=~/.ssh/engines
ansible_ssh_common_args='-o ProxyJump=ops@bastion'

[inference:children]
engines

[inference:vars]
ansible_user=everybody
ntp_server=192.0.2.4
"""
YAML = """\
---
all:
  vars:
    ansible_user: everybody
    packages:
      - git
      - rsync
  children:
    engines:
      hosts:
        gpu[01:02].rack:
          ansible_port: 2222
        gpu09:
          ansible_host: "192.0.2.9"   # quoted
          motd: |
            welcome: here
              deeper: too
      vars:
        ansible_user: ops
    idle: {}
"""


def test_ini() -> None:
    found = hosts_of(INI, where="hosts", yaml=False)
    assert list(found) == ["bastion", "gpu01.rack", "gpu02.rack", "gpu03.rack", "gpu09"]
    assert found["bastion"] == {"address": "192.0.2.1"}
    engine = {"user": "ops", "identity": "~/.ssh/engines", "jump": "ops@bastion", "tags": ["inference", "engines"]}
    assert found["gpu02.rack"] == engine | {"port": 2222}
    assert found["gpu09"] == {key: value for key, value in engine.items() if key != "user"} | {"address": "192.0.2.9"}


def test_yaml() -> None:
    found = hosts_of(YAML, where="hosts.yml", yaml=True)
    assert found == {
        "gpu01.rack": {"user": "ops", "port": 2222, "tags": ["engines"]},
        "gpu02.rack": {"user": "ops", "port": 2222, "tags": ["engines"]},
        "gpu09": {"user": "ops", "address": "192.0.2.9", "tags": ["engines"]},
    }


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("gpu", ["gpu"]),
        ("gpu[1:3]", ["gpu1", "gpu2", "gpu3"]),
        ("gpu[08:10]x", ["gpu08x", "gpu09x", "gpu10x"]),
        ("n[1:5:2]", ["n1", "n3", "n5"]),
        ("r[a:b]n[1:2]", ["ran1", "ran2", "rbn1", "rbn2"]),
    ],
)
def test_ranges(pattern: str, names: list[str]) -> None:
    assert list(expanded(pattern)) == names


@pytest.mark.parametrize("args", ["-J ops@gate", "-o ProxyJump=ops@gate", '-o ProxyCommand="ssh -q -W %h:%p ops@gate"'])
def test_the_ways_to_say_a_jump_host(args: str) -> None:
    text = f"[all]\ngpu1\n[all:vars]\nansible_ssh_common_args='{args}'\n"
    found: dict[str, dict[str, Any]] = hosts_of(text, where="hosts", yaml=False)
    assert found["gpu1"]["jump"] == "ops@gate"


@pytest.mark.parametrize("text", ["all:\n  hosts: &x\n    a:\n", "all:\n  hosts:\n    ? a\n"])
def test_more_of_yaml_than_is_read_is_refused_with_the_line(text: str) -> None:
    with pytest.raises(InvalidFileError, match=r"line [23]") as caught:
        hosts_of(text, where="hosts.yml", yaml=True)
    assert "ansible-inventory --list --yaml" in caught.value.hint


def test_a_line_of_ini_that_cannot_be_read_is_named() -> None:
    with pytest.raises(InvalidFileError) as caught:
        hosts_of("[a]\ngpu1 x='open\n", where="hosts", yaml=False)
    assert caught.value.where == "hosts:2"
