"""What a person says on the command line for one run, and no file may say for them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Consent:
    """Each of these takes away one refusal of a plan; none of them is a key of an inventory or a runbook."""

    accept_pending: bool = False  # what others left on disk goes live, too
    also_affects: int | None = None  # so many other units read what is edited
    temporary: str = ""  # why a file that something else writes is edited all the same
    until: str = ""  # RFC 3339
    be_here: bool = False  # somebody will log in again when the certificate has ended
    restart_anyway: str = ""  # why a host that would not start the service again is restarted


NONE = Consent()
