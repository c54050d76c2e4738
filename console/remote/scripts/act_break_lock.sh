# shellcheck shell=sh disable=SC2034,SC2154
# act_break_lock.sh LOCK_FILE RUN DOCUMENT_BASE64
# Ends the process that holds a lock in the name of this run, and says so where the run would take it again.
lock=$1 run=$2 document=$3
if ! lock_names_run "$lock" "$run"; then
  fail 74 "$lock is not of run $run any more"
fi
lock_holders "$lock" | while read -r holder _ _; do
  root kill -s TERM -- "$holder" 2>/dev/null
  # One that is stopped does not hear it.
  root kill -s CONT -- "$holder" 2>/dev/null
  for wait in 1 2 3 4 5 6 7 8 9 10; do
    if [ ! -d "/proc/$holder" ]; then break; fi
    sleep 0.1
  done
  root kill -s KILL -- "$holder" 2>/dev/null
done
exec 9<"$lock" || exit
if ! flock -w 2 9; then
  fail 1 "$lock is still held"
fi
if ! lock_names_run "$lock" "$run"; then
  fail 74 "another run took $lock meanwhile"
fi
printf %s "$document" | base64 -d | root tee -- "$lock" >/dev/null || exit
section broken
echo yes
exit 0
