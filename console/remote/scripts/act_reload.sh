# shellcheck shell=sh disable=SC2034,SC2154
# act_reload.sh UNIT: systemd reads all unit files again; returns what it then says of this one.
root systemctl daemon-reload || exit
section unit
systemctl show --no-pager --property=Id,LoadState,NeedDaemonReload -- "$1"
