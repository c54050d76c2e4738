"""Start one: `python3 -S <this folder> vllm serve MODEL --max-model-len N` or `… llamacpp -m FILE -c N`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

if __name__ == "__main__":
    # Run as a folder, Python knows no package here and looks for modules in the folder itself, before the library.
    folder = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != folder]
    sys.path.append(str(folder.parent))
    if sys.argv[1:2] not in (["vllm"], ["llamacpp"]):
        sys.exit("vllm or llamacpp, and its own words")
    importlib.import_module(f"{folder.name}.{sys.argv[1]}").main(sys.argv[2:])
