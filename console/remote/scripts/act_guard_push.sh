# shellcheck shell=sh disable=SC2034,SC2154
# act_guard_push.sh NAME: its time begins again.
root systemctl restart -- "$1.timer"
