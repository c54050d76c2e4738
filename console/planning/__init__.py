"""Runbook + target + facts → plan. Reads only."""
