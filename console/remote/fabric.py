"""A Fabric connection to one of our hosts, and a task of somebody's fabfile carried out on it.

Fabric adds every host key that it does not know (`Connection.__init__`, AutoAddPolicy); here an unknown one is refused.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from console.errors import (
    AuthenticationError,
    ConnectError,
    ConsoleError,
    HostKeyChangedError,
    HostKeyUnknownError,
    RefusedError,
    StepFailedError,
    UnreachableError,
    UsageError,
)
from console.remote.config import HostConfig, host_config
from console.remote.known_hosts import pattern
from console.remote.route import split_jump
from console.remote.ssh import config_of
from console.schema.hosts import Target
from console.untrusted import one_line

LINES_KEPT = 200


class Said(io.StringIO):
    """What a task and its commands wrote; the newest lines."""

    def lines(self) -> list[str]:
        return [line for line in self.getvalue().splitlines() if line.strip()][-LINES_KEPT:]


def connection_of(target: Target, said: Said) -> Any:
    """Not opened yet: same user, key and jump host as ours, and host keys checked as strictly. Raises UsageError."""
    config = config_of(target)
    named = target.host.jump or target.defaults.jump or config.jump
    gateway = None
    if named and named.lower() != "none":
        if "," in named:
            raise UsageError(f"{named!r} names several jump hosts; one is supported", where=target.host_name)
        user, alias, port = split_jump(named)
        known_hosts = target.host.known_hosts or target.defaults.known_hosts
        hop = host_config(alias, user=user, port=port, known_hosts=known_hosts)
        gateway = _strict(hop, target.defaults.identity, None, said)
    return _strict(config, target.host.identity or target.defaults.identity, gateway, said)


def _strict(config: HostConfig, identity: str | None, gateway: Any, said: Said) -> Any:
    import paramiko
    from fabric import Config, Connection

    run = {"out_stream": said, "err_stream": said, "in_stream": False, "echo_stream": said}
    keys = [identity] if identity else list(config.identity_files)
    connection = Connection(
        config.hostname,
        user=config.user,
        port=config.port,
        gateway=gateway,
        connect_timeout=int(config.connect_timeout_s),
        config=Config(overrides={"load_ssh_configs": False, "run": run}, lazy=True),
        connect_kwargs={
            "key_filename": [str(Path(key).expanduser()) for key in keys],
            "look_for_keys": not keys,
            "allow_agent": not (identity or config.identities_only),
        },
    )
    client = connection.client
    client.set_missing_host_key_policy(paramiko.RejectPolicy())
    name = config.hostname if config.port == 22 else f"[{config.hostname}]:{config.port}"
    for path in config.known_hosts_files:
        if not path.is_file():
            continue
        for kind, key in (paramiko.HostKeys(str(path)).lookup(pattern(config)) or {}).items():
            client.get_host_keys().add(name, kind, key)
    return connection


def carry_out(
    connection: Any, file: Path, sha256: str, task: str, args: Mapping[str, Any], said: Said, where: str
) -> str:
    """Open the connection and call the task; returns what it returned, as text. Runs in a thread.

    Raises ConnectError while nothing was run, StepFailedError for whatever the task raised.
    """
    module = load(file, sha256, said)
    known = named(module, task)
    if known is None:
        raise RefusedError(f"{file} has no task {task!r}", where=where, hint="a function with @task of fabric")
    _open(connection, where)
    try:
        result = known(connection, **args)
    except Exception as error:
        last = f": {said.lines()[-1]}" if said.lines() else ""
        message = one_line(f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}", 200)
        raise StepFailedError(f"the task {task!r} failed: {message}{one_line(last, 200)}", where=where) from error
    finally:
        with suppress(Exception):  # what was opened is let go; how is nobody's business any more
            connection.close()
    return "" if result is None else one_line(str(result), 200)


def load(file: Path, sha256: str, said: Said) -> ModuleType:
    """The fabfile as a module of its own. Raises RefusedError when it is not as it was planned, or cannot be read."""
    try:
        text = file.read_bytes()
    except OSError as error:
        raise RefusedError(f"{file} cannot be read: {error.strerror}") from None
    if hashlib.sha256(text).hexdigest() != sha256:
        raise RefusedError(f"{file} was edited since it was planned", hint="plan again")
    module = ModuleType("fabfile")
    module.__file__ = str(file)
    # stdout belongs to the console: it is data.
    module.__dict__["print"] = lambda *words, **_more: said.write(" ".join(map(str, words)) + "\n")
    try:
        exec(compile(text, str(file), "exec"), module.__dict__)  # noqa: S102 - the operator's own file, as Fabric does
    except Exception as error:
        raise RefusedError(f"{file} cannot be loaded: {type(error).__name__}: {one_line(str(error), 200)}") from error
    return module


def named(module: ModuleType, task: str) -> Any:
    """The task of that name, as Fabric spells it: `-` for `_`; None where there is none."""
    from invoke.tasks import Task

    for value in vars(module).values():
        if isinstance(value, Task) and task.replace("-", "_") in (value.name.replace("-", "_"), value.body.__name__):
            return value
    return None


def _open(connection: Any, where: str) -> None:
    import paramiko

    try:
        connection.open()
    except paramiko.BadHostKeyException as error:
        raise HostKeyChangedError(f"THE HOST KEY HAS CHANGED: {one_line(str(error), 300)}", where=where) from error
    except paramiko.AuthenticationException as error:
        raise AuthenticationError(f"Fabric could not log in: {one_line(str(error), 200)}", where=where) from error
    except (paramiko.SSHException, OSError, EOFError) as error:
        raise _unreachable(error, where) from error


def _unreachable(error: BaseException, where: str) -> ConsoleError:
    said = one_line(str(error) or type(error).__name__, 200)
    kind: type[ConnectError] = HostKeyUnknownError if "not found in known_hosts" in said else UnreachableError
    return kind(f"Fabric could not connect: {said}", where=where, hint="console hosts trust pins a host's key")
