"""The keys to log in with, in the order they are offered: the agent's, then key files."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import asyncssh
from asyncssh.public_key import decode_ssh_certificate

from console.remote.config import HostConfig

DEFAULT_FILES = ("~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa", "~/.ssh/id_ed25519_sk", "~/.ssh/id_ecdsa_sk")
FOREVER = 2**63  # what ssh-keygen -V writes for no end is 2**64 - 1
_TYPES = {"ssh-ed25519": "ED25519", "ssh-rsa": "RSA", "rsa-sha2-256": "RSA", "rsa-sha2-512": "RSA"}


@dataclass
class Keys:
    """Key pairs to offer, and what could not be offered. `aclose` lets go of the agent."""

    pairs: list[asyncssh.SSHKeyPair] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    agent: asyncssh.SSHAgentClient | None = None

    async def aclose(self) -> None:
        if self.agent is not None:
            self.agent.close()
            await self.agent.wait_closed()
            self.agent = None


async def load_keys(config: HostConfig, identity: str | None, environment: Mapping[str, str]) -> Keys:
    """Keys for one host. `identity` of the inventory stands for every IdentityFile of the config, and for it alone."""
    keys = Keys()
    named = (identity,) if identity else config.identity_files
    files = _paths(named or DEFAULT_FILES)
    wanted = _public_data(files)
    only = bool(identity) or config.identities_only
    await _load_agent(keys, config.identity_agent or environment.get("SSH_AUTH_SOCK", ""), wanted, only=only)
    in_agent = {pair.key_public_data for pair in keys.pairs}
    for path in files:
        _load_file(keys, path, config.certificate_files, in_agent, said=bool(named))
    return keys


def _paths(names: tuple[str, ...]) -> list[Path]:
    return [Path(name).expanduser() for name in names]


async def _load_agent(keys: Keys, path: str, wanted: set[bytes], *, only: bool) -> None:
    if not path:
        return
    agent = asyncssh.SSHAgentClient(str(_paths((path,))[0]))
    try:
        pairs = list(await agent.get_keys())
    except (ValueError, OSError) as error:
        keys.notes.append(f"the agent at {path} does not answer ({error})")
        agent.close()
        return
    keys.agent = agent
    # A server counts every key offered as a try, and allows six: what was asked for goes first.
    keys.pairs += [pair for pair in pairs if pair.key_public_data in wanted]
    if not only:
        keys.pairs += [pair for pair in pairs if pair.key_public_data not in wanted]


def _load_file(keys: Keys, path: Path, certificates: tuple[str, ...], in_agent: set[bytes], *, said: bool) -> None:
    if path.suffix == ".pub":
        return  # names a key of the agent
    try:
        pairs = asyncssh.load_keypairs(str(path), None, list(certificates))
    except FileNotFoundError:
        if said:
            keys.notes.append(f"{path} does not exist")
        return
    except (OSError, ValueError) as error:
        if _public_data([path]) & in_agent:
            return
        # Without bcrypt asyncssh does not even get to ask for the passphrase.
        encrypted = str(error).startswith("Passphrase") or "bcrypt" in str(error)
        why = "is encrypted: ssh-add it" if encrypted else f"cannot be read: {error}"
        keys.notes.append(f"{path} {why}")
        return
    keys.pairs += [pair for pair in pairs if pair.has_cert or pair.key_public_data not in in_agent]


def _public_data(files: list[Path]) -> set[bytes]:
    """The public halves that lie beside key files."""
    found = set()
    for path in files:
        beside = path if path.suffix == ".pub" else path.with_name(path.name + ".pub")
        try:
            found.add(asyncssh.read_public_key(str(beside)).public_data)
        except (OSError, ValueError):
            continue
    return found


def certificate_of(pair: asyncssh.SSHKeyPair) -> object | None:
    """The OpenSSH certificate of a pair; None where it has none, or one that cannot be read."""
    if not pair.has_cert or pair.has_x509_chain:
        return None
    try:
        return decode_ssh_certificate(pair.public_data)
    except ValueError:
        return None


def certificate_end(pair: asyncssh.SSHKeyPair) -> int | None:
    """When its certificate ends, in seconds since the epoch; None for no certificate and for one without an end."""
    end = getattr(certificate_of(pair), "_valid_before", None)
    return end if isinstance(end, int) and end < FOREVER else None


def describe(pair: asyncssh.SSHKeyPair) -> str:
    """`ED25519 SHA256:…`, with the key id of its certificate where it has one."""
    digest = base64.b64encode(hashlib.sha256(pair.key_public_data).digest()).rstrip(b"=").decode("ascii")
    algorithm = pair.key_algorithm.decode("ascii", "replace")
    kind = _TYPES.get(algorithm, algorithm)
    certificate = ""
    if pair.has_cert and not pair.has_x509_chain:
        certificate = f" certificate {getattr(certificate_of(pair), '_key_id', '')}".rstrip()
        end = certificate_end(pair)
        certificate += f" (ends {datetime.fromtimestamp(end, UTC):%Y-%m-%d %H:%MZ})" if end is not None else ""
    return f"{kind} SHA256:{digest}{certificate}"
