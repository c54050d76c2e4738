"""What a careful person would write in ten minutes: the same change on all hosts, with asyncssh and nothing else.

    python bench/fanout_bare.py IDENTITY KNOWN_HOSTS UNIT FROM TO ADDRESS…

No backup that is checked, no lock, no proof but the server's own word; it is the floor that `fanout.py` compares with.
"""

from __future__ import annotations

import asyncio
import sys

import asyncssh

POLL_S = 0.1


async def change(address: str, identity: str, known_hosts: str, unit: str, before: str, after: str) -> None:
    path = f"/etc/systemd/system/{unit}"
    info = "curl -sS --max-time 5 http://127.0.0.1:30000/get_server_info"
    async with asyncssh.connect(
        address, username="root", client_keys=[identity], known_hosts=known_hosts, config=None
    ) as host:
        await host.run(f"cp -p {path} {path}.bak", check=True)
        await host.run(f"sed -i 's/--context-length {before}/--context-length {after}/' {path}", check=True)
        await host.run("systemctl daemon-reload", check=True)
        await host.run(f"systemctl restart {unit}", check=True)
        while True:
            said = await host.run(info)
            if f'"context_length":{after}' in str(said.stdout).replace(" ", ""):
                return
            await asyncio.sleep(POLL_S)


async def main() -> None:
    identity, known_hosts, unit, before, after, *addresses = sys.argv[1:]
    await asyncio.gather(*(change(address, identity, known_hosts, unit, before, after) for address in addresses))


if __name__ == "__main__":
    asyncio.run(main())
