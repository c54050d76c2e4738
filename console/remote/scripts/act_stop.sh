# shellcheck shell=sh disable=SC2034,SC2154
# act_stop.sh NAME [SCOPE]: ends a script of ours that runs too long, with all it started; for the name see look_running.sh.
# SCOPE: what its command runs in, if it does: everything in there ends, also what no longer belongs to the script.
scope=${2:+$2.scope}
scope_runs() {
  [ -n "$scope" ] || return 1
  case $(systemctl show --no-pager --property=ActiveState -- "$scope" 2>/dev/null) in
    ActiveState=inactive | ActiveState=failed | '') return 1 ;;
  esac
}
# shellcheck disable=SC2062 # these are files, the pattern comes on stdin
pid=$(printf '%s\n' "$1" | grep -l -a -F -f - -- /proc/[0-9]*/cmdline 2>/dev/null | sed -n '1s|^/proc/\([0-9]*\)/.*|\1|p')
group_of() {
  sed 's/^.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 3
}
group=${pid:+$(group_of "$pid")}
own_group=$(group_of $$)
victims=
if [ -z "$group" ]; then
  :
elif [ "$group" != "$own_group" ] && [ "$group" -gt 1 ]; then
  victims="-$group"
else
  victims=$(unit_processes '' "$pid")
fi
section stopped
for name in TERM KILL; do
  if scope_runs; then
    root systemctl kill "--signal=$name" -- "$scope" 2>/dev/null
  fi
  if [ -n "$victims" ]; then
    # shellcheck disable=SC2086 # a list of numbers
    kill -s "$name" -- $victims 2>/dev/null
    # shellcheck disable=SC2086
    root kill -s "$name" -- $victims 2>/dev/null
  fi
  for wait in 1 2 3 4 5 6 7 8; do
    if { [ -z "$pid" ] || [ ! -d "/proc/$pid" ]; } && ! scope_runs; then
      echo yes
      exit 0
    fi
    sleep 0.1
  done
done
echo no
