# shellcheck shell=sh disable=SC2034,SC2154
# act_command.sh COMMAND_BASE64 SUDO
# A command of the runbook's author that changes the host. SUDO: empty, or run it as root.
command=$(printf %s "$1" | base64 -d) || exit
# Before it: from here on the command itself speaks. With sudo that is so once it says anything.
if [ -z "$2" ] || [ "$console_uid" = 0 ]; then section began; fi
section stdout
if [ -n "$2" ]; then
  root sh -c "$command"
else
  sh -c "$command"
fi
status=$?
section status
echo "$status"
exit "$status"
