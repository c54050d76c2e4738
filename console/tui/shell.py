"""The words of `ssh` for a host, as the inventory has it; the rest comes from the SSH config."""

from __future__ import annotations

from console.schema.hosts import Target


def ssh_words(target: Target) -> list[str]:
    """`ssh -p 2222 -J bastion ops@gpu1.example.net`."""
    host, defaults = target.host, target.defaults
    words = ["ssh"]
    for flag, value in (
        ("-p", host.port or defaults.port),
        ("-J", host.jump or defaults.jump),
        ("-i", host.identity or defaults.identity),
    ):
        words += [flag, str(value)] if value else []
    known = host.known_hosts or defaults.known_hosts
    words += ["-o", f"UserKnownHostsFile={known}"] if known else []
    user = host.user or defaults.user
    return [*words, "--", f"{user}@{target.address}" if user else target.address]
