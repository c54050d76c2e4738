"""Runbooks that more than one test on real hosts runs."""

from __future__ import annotations


def guarded(guard: str, *, balanced: bool = False) -> str:
    """The window under a guard that is due after `guard`; `balanced`: out of the balancer before, in after."""
    out, back = ('[[step]]\nuses = "lb.out"\n\n', '\n[[step]]\nuses = "lb.in"\n') if balanced else ("", "")
    return f"""\
schema = 1
name = "guarded"
title = "Change the window under a guard"
unattended = "proceed"
guard = "{guard}"

{out}[[step]]
uses = "unit.set"
setting = "context_length"
to = 200000

[[step]]
uses = "systemd.daemon_reload"

[[step]]
uses = "service.restart"

[[step]]
uses = "service.wait_ready"
timeout = "15s"
hard_timeout = "15s"

[[step]]
uses = "service.verify"
{back}"""
