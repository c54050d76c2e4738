"""The only rooms that speak SSH: reading, writing, forwarding, and every script that reaches a host."""
