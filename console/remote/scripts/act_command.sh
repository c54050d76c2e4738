# shellcheck shell=sh disable=SC2034,SC2154
# act_command.sh COMMAND_BASE64 SUDO
# A command of the runbook's author that changes the host. SUDO: empty, or run it as root.
command=$(printf %s "$1" | base64 -d) || exit
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
