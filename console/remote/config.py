"""What the operator's SSH config says of one host, and the parts of it that asyncssh would not follow.

asyncssh reads `~/.ssh/config` alone, ignores `StrictHostKeyChecking`, drops `~/.ssh/known_hosts` as soon as a
`GlobalKnownHostsFile` is named, and takes `UserKnownHostsFile none` for "do not check". Those are decided here: host
keys are always checked, and what asks for less becomes a warning.
"""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from asyncssh.config import ConfigParseError, SSHClientConfig, SSHConfig

from console.errors import InvalidFileError, UsageError

SYSTEM_CONFIG = Path("/etc/ssh/ssh_config")
SYSTEM_KNOWN_HOSTS = (Path("/etc/ssh/ssh_known_hosts"), Path("/etc/ssh/ssh_known_hosts2"))
USER_KNOWN_HOSTS = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
CONNECT_TIMEOUT_S = 15.0


class _Config(SSHClientConfig):
    """asyncssh's reader with the one option added that it skips."""

    _handlers = {  # noqa: RUF012 - asyncssh declares it without ClassVar
        **SSHClientConfig._handlers,
        "stricthostkeychecking": ("StrictHostKeyChecking", SSHConfig._set_string),
        **{
            name: (name, SSHConfig._set_string)
            for name in ("revokedhostkeys", "knownhostscommand", "verifyhostkeydns", "requiredrsasize")
        },
        "securitykeyprovider": ("securitykeyprovider", SSHConfig._set_string),
        "proxyusefdpass": ("proxyusefdpass", SSHConfig._set_string),
    }

    def expand(self, value: str) -> str:
        return self._expand_val(value)


@dataclass(frozen=True)
class HostConfig:
    """One host's options, the inventory's own before the config's."""

    alias: str
    hostname: str
    port: int
    user: str
    jump: str | None
    proxied: bool  # a ProxyCommand makes the connection
    host_key_alias: str | None
    identity_files: tuple[str, ...]
    certificate_files: tuple[str, ...]
    identities_only: bool
    identity_agent: str | None
    known_hosts_files: tuple[Path, ...]
    connect_timeout_s: float
    chooses_ciphers: bool
    config_paths: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def known_as(self) -> str:
        """The name under which known_hosts lists it."""
        return self.host_key_alias or self.hostname

    @property
    def shown(self) -> str:
        return f"{self.user}@{self.alias}" + (f":{self.port}" if self.port != 22 else "")


def config_paths() -> tuple[str, ...]:
    """The config files there are, the operator's before the system's: the first that names an option wins."""
    return tuple(str(path) for path in (Path("~/.ssh/config").expanduser(), SYSTEM_CONFIG) if path.is_file())


def host_config(
    alias: str,
    *,
    user: str | None = None,
    port: int | None = None,
    known_hosts: str | None = None,
) -> HostConfig:
    """Options for `alias`. Raises InvalidFileError for a config that cannot be read."""
    paths = config_paths()
    try:
        local_user = getpass.getuser()
        loaded = _Config.load(None, list(paths), False, False, False, local_user, user or (), alias, port or ())
    except (ConfigParseError, OSError, UnicodeDecodeError) as error:
        raise InvalidFileError(
            f"the SSH config cannot be read: {error}", hint="ssh -G HOST shows what ssh makes of it"
        ) from error
    except KeyError:
        raise UsageError("nobody knows who you are: set USER or LOGNAME") from None
    config = cast(_Config, loaded)
    warnings: list[str] = []
    checking = str(config.get("StrictHostKeyChecking") or "ask").lower()
    if checking in ("no", "off", "accept-new"):
        warnings.append(
            f"StrictHostKeyChecking {checking} in the SSH config is not followed: host keys are always checked"
        )
    warnings += _unfollowed(config)
    hostname = str(config.get("Hostname") or alias)
    return HostConfig(
        alias=alias,
        hostname=hostname,
        port=_port(config.get("Port")),
        user=str(config.get("User") or local_user),
        jump=_text(config.get("ProxyJump")),
        proxied=bool(config.get("ProxyCommand")),
        host_key_alias=_text(config.get("HostKeyAlias")),
        identity_files=_list(config.get("IdentityFile")),
        certificate_files=_list(config.get("CertificateFile")),
        identities_only=bool(config.get("IdentitiesOnly")),
        identity_agent=_text(config.get("IdentityAgent")),
        known_hosts_files=_known_hosts_files(config, known_hosts, warnings),
        connect_timeout_s=_seconds(config.get("ConnectTimeout")),
        chooses_ciphers=config.get("Ciphers") is not None,
        config_paths=paths,
        warnings=tuple(warnings),
    )


# Options that make a connection safer or tell how to log in, and that nothing here follows.
NOT_FOLLOWED = {
    "revokedhostkeys": "keys it revokes are accepted here", "knownhostscommand": "keys it knows are unknown here",
    "verifyhostkeydns": "keys are not looked up in DNS", "requiredrsasize": "shorter RSA keys are accepted here",
    "pkcs11provider": "keys on a token are not used", "securitykeyprovider": "another provider is not used",
    "gssapiauthentication": "no GSSAPI login is tried", "hostbasedauthentication": "no host-based login is tried",
    "proxyusefdpass": "its ProxyCommand cannot pass a descriptor on",
}  # fmt: skip


def _unfollowed(config: _Config) -> Iterator[str]:
    """A warning for each option that is set and not followed; `no` asks for nothing."""
    for name, consequence in NOT_FOLLOWED.items():
        value = next((value for key, value in config.get_options(True).items() if key.lower() == name), None)
        if value is None or str(value).lower() in ("no", "false", "none"):
            continue
        yield f'{name} in the SSH config is not followed ({consequence}); via = "openssh" goes as ssh does'


def named_hosts() -> list[str]:
    """The first name of each `Host` line that is no pattern, in the files there are and in what they include."""
    found: list[str] = []
    for path in config_paths():
        _names_in(Path(path), found, depth=0)
    return list(dict.fromkeys(found))


def _names_in(path: Path, found: list[str], depth: int) -> None:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        key, _, rest = line.strip().replace("=", " ", 1).partition(" ")
        words = rest.split()
        if key.lower() == "host":
            found += [word for word in words if not set(word) & set("*?!")][:1]
        elif key.lower() == "include" and depth < 16:
            base = Path("~/.ssh").expanduser() if depth or path != SYSTEM_CONFIG else SYSTEM_CONFIG.parent
            for word in words:
                pattern = Path(word).expanduser()
                root = pattern if pattern.is_absolute() else base / pattern
                for each in sorted(root.parent.glob(root.name)):
                    _names_in(each, found, depth + 1)


def _known_hosts_files(config: _Config, named: str | None, warnings: list[str]) -> tuple[Path, ...]:
    """The files to check against; one named in the inventory stands alone."""
    if named:
        return (Path(named).expanduser(),)
    user: Sequence[str] = USER_KNOWN_HOSTS
    chosen = config.get("UserKnownHostsFile")
    if isinstance(chosen, list):
        user = [config.expand(str(name)) for name in chosen]
        if not user or user == ["/dev/null"]:
            warnings.append("UserKnownHostsFile none in the SSH config: host keys are checked all the same")
            user = []
    system: Sequence[Path] = SYSTEM_KNOWN_HOSTS
    chosen = config.get("GlobalKnownHostsFile")
    if isinstance(chosen, list):
        system = [Path(config.expand(str(name))).expanduser() for name in chosen]
    return (*(Path(name).expanduser() for name in user), *system)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.lower() != "none" else None


def _list(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _port(value: object) -> int:
    return value if isinstance(value, int) else 22


def _seconds(value: object) -> float:
    return float(value) if isinstance(value, int | float) and value > 0 else CONNECT_TIMEOUT_S
