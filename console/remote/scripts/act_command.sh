# shellcheck shell=sh disable=SC2034,SC2154
# act_command.sh COMMAND_BASE64 SUDO SCOPE
# A command of the runbook's author that changes the host. SUDO: empty, or run it as root.
# As root it gets a scope of this name: that can be stopped whole, with what the command left in the background.
command=$(printf %s "$1" | base64 -d) || exit
scope=$3
if [ ! -d /run/systemd/system ] && [ -z "${CONSOLE_LAB_SIMULATED:-}" ]; then scope=; fi
if ! command -v systemd-run >/dev/null 2>&1; then scope=; fi
# What is left of sudo's stdin is not for it.
if [ -n "$2" ] && [ -n "$console_password" ]; then command="exec </dev/null; $command"; fi
# Before it: from here on the command itself speaks. With sudo that is so once it says anything.
if [ -z "$2" ] || [ "$console_uid" = 0 ]; then section began; fi
section stdout
if [ -n "$scope" ] && { [ -n "$2" ] || [ "$console_uid" = 0 ]; }; then
  # A description of its own: systemd would take the command line, which everybody may read and the journal keeps.
  root systemd-run --scope --quiet --collect "--description=a command of a run of console" "--unit=$scope" -- sh -c "$command"
elif [ -n "$2" ]; then
  root sh -c "$command"
else
  sh -c "$command"
fi
status=$?
section status
echo "$status"
exit "$status"
