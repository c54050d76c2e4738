"""The headless face: one file a command group."""
