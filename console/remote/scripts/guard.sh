#!/bin/sh
# The dead-man's switch of one run of `console`: puts back what the run left when its console is gone and nothing serves.
# Started by a timer beside it; guard.args says of what. To call it off, as root: systemctl stop TIMER, then remove
# TIMER and its service from /etc/systemd/system.
set -u
umask 077
LC_ALL=C
PATH=/usr/local/sbin:/usr/sbin:/usr/local/bin:/usr/bin:/sbin:/bin
export LC_ALL PATH
here=$(cd -- "$(dirname -- "$0")" && pwd)
unit='' run='' port='' url='' runtime='' allowed='' judge='' name=''
while IFS='=' read -r key value; do
  case $key in
    unit) unit=$value ;;
    run) run=$value ;;
    port) port=$value ;;
    url) url=$value ;;
    runtime) runtime=$value ;;
    allowed) allowed=$value ;;
    judge) judge=$value ;;
    name) name=$value ;;
  esac
done <"$here/guard.args"
units=/etc/systemd/system

say() {
  printf '%s %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$1" >>"$here/guard.log"
  sync -- "$here/guard.log"
  logger -t console -- "guard of run $run on $unit: $1"
}

# Look again after the same time.
again() {
  [ -e "$units/$name.timer" ] || exit 0
  systemctl restart --no-block -- "$name.timer"
  exit 0
}

over() {
  say "$1"
  rm -f -- "$units/timers.target.wants/$name.timer" "$units/$name.timer" "$units/$name.service"
  systemctl stop -- "$name.timer"
  # A reload since it was armed made timers.target want it; without another one its name would stay.
  systemctl daemon-reload
  exit 0
}

# Into its balancer again, where the run took it out: last of all, and only when it serves.
bring_in() {
  grep -q '^ "balancer": "out",$' "$here/change.json" || return 0
  waited=0
  while ! serving; do
    if [ "$waited" -ge "${allowed:-0}" ]; then
      say 'it does not serve yet, and is still out of its balancer'
      return 0
    fi
    sleep 2
    waited=$((waited + 2))
    shown=$(systemctl show --no-pager --property=ControlGroup -- "$unit") || shown=
  done
  if brought=$(sh "$here/undo.sh" --balancer-in 2>&1); then
    replace 's/^ "balancer": "out",$/ "balancer": "in",/'
    say 'it serves, and is in its balancer again'
  else
    say "still out of its balancer: $(printf '%s' "$brought" | tr '\n' ';')"
  fi
}

# EXPRESSION: edits change.json, whole or not at all.
replace() {
  sed "$1" "$here/change.json" >"$here/.change.json.new" &&
    sync -- "$here/.change.json.new" && mv -f -T -- "$here/.change.json.new" "$here/change.json"
}

digest_of() {
  if [ ! -e "$1" ] && [ ! -L "$1" ]; then
    echo absent
    return 0
  fi
  digest_text=$(sha256sum <"$1") || return 1
  printf '%s\n' "${digest_text%% *}"
}

property() {
  printf '%s\n' "$shown" | sed -n "s/^$1=//p"
}

# Whether a process of the unit answers on the port. Where nothing here speaks HTTP an open port must do.
serving() {
  group=$(property ControlGroup)
  inodes=$(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk -v port="$(printf '%04X' "$port")" '
    $4 == "0A" && substr($2, length($2) - 3) == port { printf "%s ", $10 }')
  [ -n "$inodes" ] && [ -n "$group" ] || return 1
  own=no
  processes=$(find "/sys/fs/cgroup$group" "/sys/fs/cgroup/systemd$group" -name cgroup.procs -exec cat {} + 2>/dev/null)
  for process in $processes; do
    for inode in $inodes; do
      if [ -n "$(find "/proc/$process/fd" -lname "socket:\[$inode\]" 2>/dev/null | head -n 1)" ]; then own=yes; fi
    done
  done
  [ "$own" = yes ] || return 1
  if command -v curl >/dev/null 2>&1; then
    # A key may be wanted: then it is up all the same.
    case $(curl -k -s -o /dev/null -w '%{http_code}' --max-time 10 -- "${url:-http://127.0.0.1:$port}/v1/models") in
      200 | 401 | 403) return 0 ;;
    esac
    return 1
  fi
  return 0
}

[ -d "$runtime" ] || mkdir -m 0755 -- "$runtime"
lock=$runtime/$unit.lock
[ -e "$lock" ] || touch -- "$lock"
chmod 0644 -- "$lock"
exec 9<"$lock" || exit 1
# Somebody is here.
flock -n 9 || again
printf '{"run": "guard of %s", "operator": "the guard", "since": "%s"}\n' "$run" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >"$lock"

after_count=0
while IFS='	' read -r path before after _ between; do
  now=$(digest_of "$path") || now=unreadable
  case ,$after,$between, in
    *",$now,"*)
      after_count=$((after_count + 1))
      continue
      ;;
  esac
  case $now in
    "$before") ;;
    *) over "stood down: $path was edited since by somebody else; nothing was touched" ;;
  esac
done <"$here/files.tsv"
shown=$(systemctl show --no-pager --property=ActiveState,SubState,NRestarts,ExecMainStartTimestampMonotonic,ControlGroup,Job -- "$unit") || again
if [ "$after_count" = 0 ]; then
  exec 9<&-
  bring_in
  over 'stood down: nothing of the run is on disk'
fi

uptime=$(cut -d . -f 1 /proc/uptime)
if [ "$judge" != unconfirmed ] && serving; then
  over 'stood down: the service is serving'
fi
started=$(property ExecMainStartTimestampMonotonic)
age=$((uptime - ${started:-0} / 1000000))
case $(property ActiveState) in
  active | activating)
    # A start that crashed before is not slow, it is broken.
    if [ "$(property SubState)" != auto-restart ] && [ "$(property NRestarts)" = 0 ] && [ "$age" -lt "$allowed" ]; then
      again
    fi
    ;;
  deactivating | reloading) again ;;
  *)
    # After a boot its own start comes first.
    if [ "${started:-0}" = 0 ] && [ "$uptime" -lt "$allowed" ]; then again; fi
    ;;
esac

say "puts back what run $run left: its console is silent and the service is not serving ($(property ActiveState)/$(property SubState), restarted $(property NRestarts) times)"
replace 's/^ "state": "[a-z-]*",$/ "state": "guard",/'
if said=$(sh "$here/undo.sh" 2>&1); then
  # Nobody else need wait for the load: what is left touches neither file nor unit.
  exec 9<&-
  bring_in
  over "put back, and restarted: $(printf '%s' "$said" | tr '\n' ';')"
fi
over "NOT put back: $(printf '%s' "$said" | tr '\n' ';')"
