"""`python -m tests.real.fire.labs FOLDER COUNT`: so many lab hosts, from one process, until its standard input ends.

Its one line of output is a JSON list of their SSH ports. Their services stand still: what is tried is the way to them.
"""

from __future__ import annotations

import getpass
import json
import os
import sys
import time
from pathlib import Path

from console.lab import daemon
from console.lab.furnish import build, write_access
from console.lab.layout import LabService, Layout, Shape

START_S = 120.0


def main() -> int:
    root, count = Path(sys.argv[1]).resolve(), int(sys.argv[2])
    reading, writing = os.pipe()  # its end is the end of every lab, however this process ends
    made: list[tuple[Layout, Shape, list[LabService]]] = []
    for number in range(count):
        folder = root / str(number)
        shape = Shape(name=f"lab{number}")
        made.append((Layout(folder), shape, build(folder, shape)))
        if os.fork() == 0:
            os.close(writing)
            os.dup2(reading, 0)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.setsid()
            sys.argv = ["daemon", str(folder), "--watched"]
            daemon.main()
            os._exit(0)
    os.close(reading)
    end = time.monotonic() + START_S
    ports = []
    for layout, shape, services in made:
        told = layout.state / "daemon.json"
        while not told.exists():
            if time.monotonic() > end:
                raise SystemExit(f"no lab in {layout.folder}")
            time.sleep(0.05)
        port = int(json.loads(told.read_text(encoding="utf-8"))["ssh_port"])
        write_access(layout, shape, services, port, getpass.getuser())
        ports.append(port)
    sys.stdout.write(json.dumps(ports) + "\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()
    os.close(writing)
    for _ in made:
        os.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
