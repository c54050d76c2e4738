# shellcheck shell=sh disable=SC2034,SC2154
# act_stop.sh NAME: ends a script of ours that runs too long, with all it started; for the name see look_running.sh.
# shellcheck disable=SC2062 # these are files, the pattern comes on stdin
pid=$(printf '%s\n' "$1" | grep -l -a -F -f - -- /proc/[0-9]*/cmdline 2>/dev/null | sed -n '1s|^/proc/\([0-9]*\)/.*|\1|p')
group_of() {
  sed 's/^.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 3
}
group=${pid:+$(group_of "$pid")}
own_group=$(group_of $$)
section stopped
if [ -z "$group" ]; then
  echo yes
  exit 0
fi
if [ "$group" != "$own_group" ] && [ "$group" -gt 1 ]; then
  victims="-$group"
else
  victims=$(unit_processes '' "$pid")
fi
for name in TERM KILL; do
  # shellcheck disable=SC2086 # a list of numbers
  kill -s "$name" -- $victims 2>/dev/null
  # shellcheck disable=SC2086
  root kill -s "$name" -- $victims 2>/dev/null
  for wait in 1 2 3 4 5 6 7 8 9 10; do
    if [ ! -d "/proc/$pid" ]; then
      echo yes
      exit 0
    fi
    sleep 0.2
  done
done
echo no
