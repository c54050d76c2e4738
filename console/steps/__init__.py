"""WHAT a runbook can say: one file a step kind."""
