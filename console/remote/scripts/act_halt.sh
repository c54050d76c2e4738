# shellcheck shell=sh disable=SC2034,SC2154
# act_halt.sh UNIT: queues a stop, of one rank of an engine that runs on several hosts.
root systemctl stop --no-block -- "$1"
