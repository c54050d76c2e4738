"""The lab's service manager: the units of one folder, their journal, and what files were loaded."""

from __future__ import annotations

from pathlib import Path

from .journal import Journal
from .service import Service
from .unit_files import Unit, changed_on_disk, load


class Supervisor:
    """Units are loaded when first asked for, and again by `daemon_reload` only."""

    def __init__(self, folder: Path, path: str) -> None:
        self.folder = folder
        self.path = path
        self.journal = Journal()
        self.services: dict[str, Service] = {}

    def service(self, name: str) -> Service:
        """The unit of a name, which may be one that does not exist: then `unit.load_state` says so."""
        full = name if "." in name else f"{name}.service"
        service = self.services.get(full)
        if service is None or service.unit.load_state == "not-found":
            service = Service(load(self.folder, full), self.journal, self.path)
            self.services[full] = service
        return service

    def daemon_reload(self) -> None:
        for service in self.services.values():
            service.unit = load(self.folder, service.unit.name)
            service.forgotten = True

    def needs_reload(self, unit: Unit) -> bool:
        return changed_on_disk(self.folder, unit)

    def file_state(self, unit: Unit) -> str:
        """UnitFileState: enabled by a link in a `.wants` folder, static without [Install]."""
        if unit.fragment is None:
            return ""
        if unit.load_state == "masked":
            return "masked"
        if any(self.folder.glob(f"*.wants/{unit.name}")):
            return "enabled"
        return "disabled" if unit.settings.get("WantedBy") or unit.settings.get("RequiredBy") else "static"
