# shellcheck shell=sh disable=SC2034,SC2154
# act_guard_off.sh NAME: calls a guard off, and looks that nothing of it is left.
name=$1
units=/etc/systemd/system
root rm -f -- "$units/timers.target.wants/$name.timer" || exit
root systemctl stop -- "$name.timer" 2>/dev/null
root rm -f -- "$units/$name.timer" "$units/$name.service" || exit
# A reload since it was armed made timers.target want it; without another one its name would stay.
case $(systemctl show --no-pager --property=LoadState -- "$name.timer") in
  LoadState=loaded) root systemctl daemon-reload || exit ;;
esac
section guard
systemctl show --no-pager --property=ActiveState,NextElapseUSecMonotonic -- "$name.timer"
if [ -e "$units/$name.timer" ] || [ -e "$units/$name.service" ] || [ -L "$units/timers.target.wants/$name.timer" ]; then
  fail 1 "$name is still there"
fi
