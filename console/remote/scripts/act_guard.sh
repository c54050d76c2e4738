# shellcheck shell=sh disable=SC2034,SC2154
# embeds: guard.sh
# act_guard.sh ENTRY NAME SECONDS ARGS_BASE64
# Arms the guard of a ledger entry. Files, not transient units: a reboot keeps it. New units need no daemon-reload.
entry=$1 name=$2 seconds=$3 args=$4
units=/etc/systemd/system
put() {
  printf '%s\n' "$2" | root tee -- "$1" >/dev/null
}
root test -f "$entry/undo.sh" || fail 1 "$entry has no undo.sh: nothing could be put back"
printf %s "$args" | base64 -d | root tee -- "$entry/guard.args" >/dev/null || exit
printf %s "$console_embedded" | root tee -- "$entry/guard.sh" >/dev/null || exit
root chmod 0600 -- "$entry/guard.args" || exit
root chmod 0700 -- "$entry/guard.sh" || exit
word=$(printf %s "$entry/guard.sh" | sed 's/[\\"]/\\&/g; s/%/%%/g; s/\$/$$/g')
put "$units/$name.service" "[Unit]
Description=Puts back what a run of console left when nothing serves
[Service]
Type=oneshot
ExecStart=/bin/sh \"$word\"" || exit
put "$units/$name.timer" "[Unit]
Description=Looks whether a run of console was abandoned
[Timer]
OnActiveSec=${seconds}s
AccuracySec=1s
[Install]
WantedBy=timers.target" || exit
root chmod 0644 -- "$units/$name.service" "$units/$name.timer" || exit
if [ ! -d "$units/timers.target.wants" ]; then
  root mkdir -m 0755 -- "$units/timers.target.wants" || exit
fi
root ln -s -f -- "../$name.timer" "$units/timers.target.wants/$name.timer" || exit
root sync -- "$units/$name.service" "$units/$name.timer" "$units/timers.target.wants" "$units" "$entry/guard.sh" "$entry/guard.args" || exit
root systemctl restart -- "$name.timer" || exit
section guard
systemctl show --no-pager --property=ActiveState,NextElapseUSecMonotonic -- "$name.timer"
