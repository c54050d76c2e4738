"""Why is it slow: from an engine's log, a recorded sweep and what the host shows to a verdict. Pure."""
