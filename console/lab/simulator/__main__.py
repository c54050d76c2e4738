"""Start the simulator: `python3 -S <this folder> --model-path …`, or as a member of a package."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

if __name__ == "__main__":
    # Run as a folder, Python knows no package here and looks for modules in the folder itself, before the library.
    folder = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != folder]
    sys.path.append(str(folder.parent))
    importlib.import_module(f"{folder.name}.server").main()
