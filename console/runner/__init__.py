"""WHEN: executing a plan, asking, aborting, resuming, recovering, rolling back."""
