# shellcheck shell=sh disable=SC2034,SC2154
# act_log.sh TEXT: one line in the host's own log.
logger -t console -- "$1"
