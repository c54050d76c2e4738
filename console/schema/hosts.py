"""hosts.toml: the inventory of hosts, their services and the groups these form."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, ValidationInfo, field_validator, model_validator

from console.errors import NoSuchTargetError
from console.schema.names import Frozen, Name, NodeName, Seconds, UnitName, nearest
from console.schema.toml_file import check_schema, read_toml, validate

PushPolicy = Literal["auto", "never"]
SudoPolicy = Literal["auto", "never"]
Via = Literal["asyncssh", "openssh"]
Asks = tuple[Literal["login", "sudo"], ...]  # what the terminal UI asks for before its screen opens


class Results(Frozen):
    """Where records are kept; `path` is relative to hosts.toml."""

    path: str = "../findings"
    push: PushPolicy = "auto"


class Defaults(Frozen):
    """Used for every host that does not say otherwise."""

    user: str | None = None
    port: int | None = Field(default=None, ge=1, le=65535)
    sudo: SudoPolicy = "auto"
    jump: str | None = None
    identity: str | None = None
    known_hosts: str | None = None
    via: Via | None = None
    asks: Asks = ()


class Notify(Frozen):
    """A webhook that hears of changes. `webhook_env` names a variable with its URL, which is as good as a key."""

    webhook: str = ""
    webhook_env: str | None = None
    format: Literal["json", "slack"] = "json"
    on: tuple[Literal["started", "finished", "aborted", "failed", "guard"], ...] = (
        "started",
        "finished",
        "aborted",
        "failed",
        "guard",
    )

    @field_validator("webhook")
    @classmethod
    def _http(cls, value: str) -> str:
        if value and urlsplit(value).scheme not in ("http", "https"):
            raise ValueError(f"{value!r} is not an http URL")
        return value


class Freeze(Frozen):
    """Days without changes, both included: dates such as 2026-12-24."""

    first: str
    last: str
    why: str = ""


class Policy(Frozen):
    """What a change must say and when it may be made. Going back or on with a run is never held up by it."""

    require: tuple[Literal["reason", "ticket"], ...] = ()
    windows: tuple[str, ...] = ()  # Mon-Fri 09:00-17:00
    freezes: tuple[Freeze, ...] = ()
    zone: str = "UTC"
    approvals: int = Field(default=0, ge=0, le=9)  # of others, on the saved plan, before a protected host is changed


class Service(Frozen):
    """One systemd unit that runs an engine. `url` is as seen from the host."""

    unit: UnitName
    engine: Name
    url: str
    api_key_env: str | None = None
    load_time: Seconds | None = None
    scope: Literal["system"] = "system"
    managed_by: str | None = None  # what writes the unit's files: an edit there lasts until its next run
    source: str | None = None  # where the value comes from, such as group_vars/gpu.yml:12
    # `host`: the other hosts of the same engine, in the order of their ranks 1, 2, …; this service's own host is rank
    # 0, which serves. The unit has the same name on all of them. `host/service`: the other parts of a prefill/decode
    # pair, each a service of this file with its own unit and url.
    nodes: tuple[NodeName, ...] = ()
    router: str = ""  # of such a pair: what its clients talk to, as seen from this service's host

    @field_validator("url", "router")
    @classmethod
    def _http(cls, value: str, info: ValidationInfo) -> str:
        if not value and info.field_name == "router":
            return value
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{value!r} is not an http URL such as http://127.0.0.1:30000")
        if parts.username or parts.password:
            raise ValueError("a URL here carries no credentials; name a variable in api_key_env")
        try:
            _ = parts.port
        except ValueError:
            raise ValueError(f"{value!r} has no valid port") from None
        return value.rstrip("/")

    @property
    def port(self) -> int:
        return port_of(self.url)


def port_of(url: str) -> int:
    parts = urlsplit(url)
    return parts.port or (443 if parts.scheme == "https" else 80)


class Host(Frozen):
    """One machine reached over SSH; what is not said here comes from the SSH config."""

    address: str | None = None
    port: int | None = Field(default=None, ge=1, le=65535)
    user: str | None = None
    jump: str | None = None
    identity: str | None = None
    known_hosts: str | None = None
    via: Via | None = None  # openssh: through its jump host by the system's own `ssh -W`
    sudo: SudoPolicy | None = None
    asks: Asks | None = None
    tags: tuple[Name, ...] = ()
    protected: bool = False
    state_folder: str = "/var/lib/console"
    runtime_folder: str = "/run/console"
    speed: float = Field(default=1.0, gt=0)
    services: Mapping[Name, Service] = Field(default_factory=dict)

    @field_validator("state_folder", "runtime_folder")
    @classmethod
    def _absolute(cls, value: str) -> str:
        if not value.startswith("/"):
            raise ValueError(f"{value!r} is not an absolute path")
        return value.rstrip("/")


class Balancer(Frozen):
    """How a member is taken out of its front door and put in again: a command for `sh -c`, or `METHOD URL [BODY]`.

    Both may be made twice. References such as `{{ host.name }}` are of the member. `state`, where it is given, is a
    command that ends with 0 for a member that is in and with 1 for one that is out.
    """

    out: str = Field(min_length=1)
    back: str = Field(min_length=1, alias="in")
    state: str = ""
    runs: Literal["host", "console"] = "host"  # on the member's host, or where the console runs
    sudo: bool = False  # of commands on the host
    token_env: str | None = None  # a variable with the bearer token of calls from the console
    timeout: Seconds = 30.0

    @model_validator(mode="after")
    def _fits(self) -> Balancer:
        if self.token_env and self.runs == "host":
            raise ValueError('token_env is for calls from the console: runs = "console"')
        if call_of(self.state):
            raise ValueError("state is a command, not a call")
        return self


def call_of(text: str) -> tuple[str, str, str] | None:
    """Method, URL and body of an HTTP call such as `POST http://router:8080/drain name=gpu1`; None for a command."""
    method, _, rest = text.strip().partition(" ")
    url, _, body = rest.strip().partition(" ")
    if method not in ("GET", "POST", "PUT", "PATCH", "DELETE") or not url.startswith(("http://", "https://")):
        return None
    return method, url, body.strip()


class Group(Frozen):
    """Replicas of one model behind one front door."""

    members: tuple[str, ...]
    min_ready: int = Field(default=1, ge=0)
    balancer: Balancer | None = None


class Target(Frozen):
    """What a runbook runs on: `host/service`, with everything the inventory says of both."""

    host_name: Name
    service_name: Name
    host: Host
    service: Service
    defaults: Defaults = Field(default_factory=Defaults)
    nodes: tuple[Target, ...] = ()  # of an engine in several places: what starts and stops with this service
    rank: int = 0  # its place among them; the service that names the others is 0
    part: bool = False  # of rank 1 and more: a service of its own, the prefill or decode of a pair
    part_of: str = ""  # the service that names this one among its nodes

    @property
    def name(self) -> str:
        return f"{self.host_name}/{self.service_name}"

    @property
    def node(self) -> str:
        """How a change names this place among those of its engine: empty for the one that serves."""
        if not self.rank:
            return ""
        return self.name if self.part else self.host_name

    @property
    def in_parts(self) -> bool:
        """Whether it is a pair of prefill and decode, each with an endpoint of its own, and not ranks of one engine."""
        return any(node.part for node in self.nodes)

    @property
    def called(self) -> str:
        """Its place, in words, among those of its engine."""
        return self.name if self.part or self.in_parts else f"rank {self.rank}"

    @property
    def restart_words(self) -> str:
        """What a restart of it does, in one line."""
        if self.in_parts:
            return f"stop {', '.join(each.name for each in (self, *self.nodes))}, then start them"
        if self.nodes:
            return f"stop {self.service.unit} on {len(self.nodes) + 1} hosts, start it on all"
        return f"restart {self.service.unit}"

    @property
    def protected(self) -> bool:
        """Whether any of its machines is: all of them are changed together."""
        return self.host.protected or any(node.host.protected for node in self.nodes)

    @property
    def address(self) -> str:
        return self.host.address or self.host_name

    @property
    def simulated(self) -> bool:
        return self.host.speed != 1.0


class Inventory(Frozen):
    """The whole file."""

    schema_: Literal[1] = Field(alias="schema")
    results: Results = Field(default_factory=Results)
    notify: Notify = Field(default_factory=Notify)
    policy: Policy = Field(default_factory=Policy)
    defaults: Defaults = Field(default_factory=Defaults)
    hosts: Mapping[Name, Host] = Field(default_factory=dict)
    groups: Mapping[Name, Group] = Field(default_factory=dict)
    path: Path | None = Field(default=None, exclude=True)

    @model_validator(mode="after")
    def _members_exist(self) -> Inventory:
        known = {target.name for target in self.targets()}
        for name, group in self.groups.items():
            for member in group.members:
                if member not in known:
                    raise ValueError(f"groups.{name}: no target {member!r}{nearest(member, known)}")
        return self

    @model_validator(mode="after")
    def _nodes_are_theirs(self) -> Inventory:
        """Each node is a host, and its unit nobody else's: two names for one unit would be changed apart."""
        owners = {(target.host_name, target.service.unit): target.name for target in self.targets()}
        for target in self.targets():
            for node in target.service.nodes:
                at = f"hosts.{target.host_name}.services.{target.service_name}.nodes"
                if "/" in node:
                    continue
                if node not in self.hosts:
                    raise ValueError(f"{at}: no host {node!r}{nearest(node, self.hosts)}")
                if node == target.host_name:
                    raise ValueError(f"{at}: {node!r} is the service's own host, rank 0: name only the others")
                if target.service.nodes.count(node) > 1:
                    raise ValueError(f"{at}: {node!r} is listed twice")
                owner = owners.setdefault((node, target.service.unit), target.name)
                if owner != target.name:
                    raise ValueError(f"{at}: {target.service.unit} on {node!r} belongs to {owner} already")
        return self

    @model_validator(mode="after")
    def _parts_are_pairs(self) -> Inventory:
        """Each part is another service, of the same engine, and nobody else's; a router stands before such a pair."""
        known = {target.name: target for target in self.targets()}
        owners: dict[str, str] = {}
        for target in known.values():
            at = f"hosts.{target.host_name}.services.{target.service_name}"
            parts = [node for node in target.service.nodes if "/" in node]
            if target.service.router and not parts:
                raise ValueError(f'{at}.router: it stands before a prefill/decode pair: nodes = ["HOST/SERVICE"]')
            if parts and len(parts) < len(target.service.nodes):
                raise ValueError(f"{at}.nodes: either hosts, which are ranks, or services, which are parts of a pair")
            for name in parts:
                part = known.get(name)
                if part is None:
                    raise ValueError(f"{at}.nodes: no service {name!r}{nearest(name, known)}")
                if name == target.name:
                    raise ValueError(f"{at}.nodes: {name!r} is this service itself: name only the others")
                if owners.setdefault(name, target.name) != target.name or parts.count(name) > 1:
                    raise ValueError(f"{at}.nodes: {name!r} is listed twice, by {owners[name]} already")
                if part.service.nodes:
                    raise ValueError(f"{at}.nodes: {name!r} has nodes of its own: one of the pair names the others")
                if part.service.engine != target.service.engine:
                    raise ValueError(f"{at}.nodes: {name!r} is {part.service.engine}, not {target.service.engine}")
                if (part.host_name, part.service.unit) == (target.host_name, target.service.unit):
                    raise ValueError(f"{at}.nodes: {name!r} is the same unit, {part.service.unit}")
        return self

    def targets(self) -> list[Target]:
        """Every host/service, in the file's order."""
        owners = {
            node: f"{host_name}/{service_name}"
            for host_name, host in self.hosts.items()
            for service_name, service in host.services.items()
            for node in service.nodes
            if "/" in node
        }
        return [
            Target(
                host_name=host_name,
                service_name=service_name,
                host=host,
                service=service,
                defaults=self.defaults,
                nodes=self._nodes_of(service_name, service),
                part_of=owners.get(f"{host_name}/{service_name}", ""),
            )
            for host_name, host in self.hosts.items()
            for service_name, service in host.services.items()
        ]

    def _nodes_of(self, service_name: str, service: Service) -> tuple[Target, ...]:
        found = []
        for rank, node in enumerate(service.nodes, start=1):
            host_name, _, part = node.partition("/")
            host = self.hosts.get(host_name)
            own = host.services.get(part) if host and part else service
            if host is None or own is None:
                continue
            found.append(
                Target(
                    host_name=host_name,
                    service_name=part or service_name,
                    host=host.model_copy(update={"services": {}}),
                    service=own.model_copy(update={"nodes": (), "router": ""}),
                    defaults=self.defaults,
                    rank=rank,
                    part=bool(part),
                )
            )
        return tuple(found)

    def target(self, name: str) -> Target:
        """`host/service`, or `host` where it has one service. Raises NoSuchTargetError with the nearest name."""
        everything = self.targets()
        for target in everything:
            if target.name == name:
                return target
        of_host = [target for target in everything if target.host_name == name]
        of_host = [target for target in of_host if not target.part_of] or of_host
        if len(of_host) == 1:
            return of_host[0]
        if of_host:
            listed = ", ".join(target.name for target in of_host)
            raise NoSuchTargetError(f"{name} has several services: {listed}", hint="name one as host/service")
        if name in self.hosts:
            raise NoSuchTargetError(f"host {name} has no service in {self.path or 'the inventory'}")
        known = [target.name for target in everything]
        raise NoSuchTargetError(
            f"no target {name!r}{nearest(name, [*known, *self.hosts])}",
            where=str(self.path or "inventory"),
            hint=f"known targets: {', '.join(known) or 'none'}",
        )

    @property
    def results_path(self) -> Path:
        base = self.path.parent if self.path else Path()
        return (base / Path(self.results.path).expanduser()).resolve()


def load_inventory(path: Path) -> Inventory:
    """The inventory of a file. Raises InvalidFileError with file, line, key and nearest spelling."""
    text, table = read_toml(path)
    check_schema(table, path=path)
    inventory = validate(Inventory, table, path=path, text=text)
    return inventory.model_copy(update={"path": path.absolute()})
