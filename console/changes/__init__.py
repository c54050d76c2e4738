"""The only writes: file, reload, restart, command, balancer. Each is made, looked for and undone from itself alone."""
