"""One bridge a fleet, one network namespace and one cable a host; nothing of the machine's own network is touched."""

from __future__ import annotations

import ipaddress
import json
import random

from tests.hosts.commands import run


def ip(*words: str, check: bool = True) -> bytes:
    return run(["ip", *words], check=check).stdout


def free_subnet(chance: random.Random) -> ipaddress.IPv4Network:
    """A /24 under 10.0.0.0/8 that no route of this machine reaches into."""
    routes = json.loads(ip("-json", "-4", "route", "show", "table", "all") or b"[]")
    taken = [
        ipaddress.IPv4Network(route["dst"], strict=False)
        for route in routes
        if route.get("dst", "default") != "default"
    ]
    for _ in range(1000):
        subnet = ipaddress.IPv4Network((10 << 24 | chance.randrange(16, 255) << 16 | chance.randrange(256) << 8, 24))
        if not any(subnet.overlaps(other) for other in taken):
            return subnet
    raise RuntimeError("no free subnet under 10.0.0.0/8")


def hardware_address(address: ipaddress.IPv4Address) -> str:
    """The same for the same IP address: a neighbour that remembers it is right also after a host began anew."""
    return "02:00:" + address.packed.hex(":")


def add_bridge(name: str, subnet: ipaddress.IPv4Network) -> None:
    # Without an address of its own a bridge takes the lowest of its cables, another one whenever a cable comes or goes.
    ip("link", "add", name, "address", hardware_address(subnet[1]), "type", "bridge")
    ip("address", "add", f"{subnet[1]}/24", "dev", name)
    ip("link", "set", name, "up")


class Cable:
    """A host's network: its namespace, and the cable between that and the fleet's bridge."""

    def __init__(self, *, namespace: str, outer: str, bridge: str, address: str) -> None:
        self.namespace = namespace
        self.outer = outer
        self.bridge = bridge
        self.address = address

    def lay(self) -> None:
        ip("netns", "add", self.namespace)
        mac = hardware_address(ipaddress.IPv4Address(self.address))
        veth = ["type", "veth", "peer", "name", "eth0", "address", mac, "netns", self.namespace]
        ip("link", "add", self.outer, *veth)
        ip("-n", self.namespace, "address", "add", f"{self.address}/24", "dev", "eth0")
        ip("-n", self.namespace, "link", "set", "lo", "up")
        ip("-n", self.namespace, "link", "set", "eth0", "up")
        ip("link", "set", self.outer, "master", self.bridge, "up")

    def remove(self) -> None:
        ip("link", "delete", self.outer, check=False)
        ip("netns", "delete", self.namespace, check=False)

    def unplug(self) -> None:
        """Pulled out of the switch: both ends still have a link, and packets vanish, as on a real network."""
        ip("link", "set", self.outer, "nomaster")

    def plug(self) -> None:
        ip("link", "set", self.outer, "master", self.bridge)
