"""Estimates with their uncertainty. Knows of times, counts and rates, and nothing of GPUs, engines or hosts."""
