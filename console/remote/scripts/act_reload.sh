# shellcheck shell=sh disable=SC2034,SC2154
# act_reload.sh: systemd reads all unit files again.
root systemctl daemon-reload
