# shellcheck shell=sh disable=SC2034,SC2154
# act_restart.sh UNIT RESET_FAILED INVOCATION_BEFORE N_RESTARTS_BEFORE
# Queues a restart and returns the invocation it ends. Refused (76) when another start than the one the plan saw has happened.
unit=$1 reset_failed=$2 invocation_before=$3 restarts_before=${4:-0}
unit_show=$(systemctl show --no-pager --property=InvocationID,NRestarts,Job -- "$unit") || exit
unit_property InvocationID && invocation=$property
unit_property NRestarts && restarts=$property
# A start by systemd itself, after a crash, counts NRestarts up; a start by a person sets it to 0.
if [ "$invocation" != "$invocation_before" ] && [ "${restarts:-0}" -le "${restarts_before:-0}" ]; then
  fail 76 "$unit was started by somebody else: invocation ${invocation:-none}, planned ${invocation_before:-none}"
fi
# After too many starts systemd refuses even the one that would work. A unit that is not loaded has no count to set back:
# whether it starts is for the restart to say.
if [ "$reset_failed" = yes ]; then
  root systemctl reset-failed -- "$unit" || true
fi
section ended
printf '%s\n' "$invocation"
root systemctl restart --no-block -- "$unit"
