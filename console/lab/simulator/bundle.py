"""The simulator as one file that any Python 3.9 can run."""

from __future__ import annotations

import zipfile
from pathlib import Path

MAIN = "from simulator.server import main\n\nmain()\n"


def write_zipapp(path: Path) -> Path:
    """Write the simulator to `path`, to be started as `python3 -S PATH --model-path …`."""
    with zipfile.ZipFile(path, "w") as archive:
        for source in sorted(Path(__file__).parent.glob("*.py")):
            if source.name != "__main__.py":
                archive.write(source, f"simulator/{source.name}")
        archive.writestr("__main__.py", MAIN)
    return path
