"""The script that tells all that a host knows of a target. Loads nothing that it takes to read the answer."""

from __future__ import annotations

from console.remote.scripts import Output
from console.remote.session import Reader

# Options of engines whose value is a folder or file that must be there.
PATH_FLAGS = (
    "--model-path", "--model", "-m", "--tokenizer-path", "--tokenizer", "--speculative-draft-model-path",
    "--speculative-draft-model", "--model-draft", "-md", "--draft-model",
)  # fmt: skip
FACTS_TIMEOUT_S = 60.0


async def look(reader: Reader, *, what: str = "", patience_s: float = 0.0) -> Output:
    """`what`: "" for everything, `again` or `glance`, and more, see look_facts.sh. Raises ConnectError."""
    target = reader.target
    service = target.service
    return await reader.look(
        "look_facts.sh",
        service.unit,
        "0" if target.rank and not target.part else str(service.port),
        target.host.state_folder,
        target.host.runtime_folder,
        what,
        *(() if what == "glance" else PATH_FLAGS),
        timeout_s=FACTS_TIMEOUT_S,
        patience_s=patience_s,
    )
