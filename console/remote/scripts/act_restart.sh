# shellcheck shell=sh disable=SC2034,SC2154
# act_restart.sh UNIT RESET_FAILED INVOCATION_BEFORE
# Queues a restart and returns. Refused (76) when another start than the one the plan saw has happened.
unit=$1 reset_failed=$2 invocation_before=$3
unit_show=$(systemctl show --no-pager --property=InvocationID,Job -- "$unit") || exit
invocation=$(unit_property InvocationID)
if [ "$invocation" != "$invocation_before" ]; then
  fail 76 "$unit was started by somebody else: invocation ${invocation:-none}, planned ${invocation_before:-none}"
fi
# After too many failed starts systemd refuses even the one that would work.
if [ "$reset_failed" = yes ]; then
  root systemctl reset-failed -- "$unit" || exit
fi
root systemctl restart --no-block -- "$unit"
