"""Runbooks, proof and records for the hosts that serve language models."""

__version__ = "0.1.0"
