"""The values that cross the house and the files: hosts, runbook, plan, change, events, facts, record, outcome."""
