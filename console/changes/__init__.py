"""The only writes: file, reload, restart, command. Each can be made, looked for and undone from itself alone."""
