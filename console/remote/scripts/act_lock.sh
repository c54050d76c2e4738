# shellcheck shell=sh disable=SC2034,SC2154
# act_lock.sh FOLDER LOCK_FILE DOCUMENT_BASE64 RUN AGAIN
# Takes the lock and holds it while lines arrive on stdin, the last no longer ago than six seconds.
# AGAIN is `again` for a run that held it before: then nobody but the guard may have had it since.
folder=$1 lock=$2 document=$3 run=$4 again=$5
if [ ! -d "$folder" ]; then
  root mkdir -p -m 0755 -- "$folder" || exit
fi
# Of the folder its rights and owner, and of the lock its rights, where it is there.
seen=$(stat -c '%A %u' -- "$folder" "$lock" 2>/dev/null)
seen_folder=${seen%%
*}
case $seen_folder in
  d????w* | d???????w*) fail 73 "$folder is writable for others: a lock there means nothing" ;;
esac
case ${seen_folder##* } in
  0 | "$console_uid") ;;
  *) fail 73 "$folder belongs to somebody else: a lock there means nothing" ;;
esac
# touch, not install: replacing the file would give two holders a lock each.
if [ ! -e "$lock" ]; then
  root touch -- "$lock" || exit
fi
case $seen in
  *"
-rw-r--r-- "*) ;;
  *) root chmod 0644 -- "$lock" || exit ;;
esac
exec 9<"$lock" || exit
# Whoever only looks takes a shared lock for a moment.
if ! flock -w 2 9; then
  section holder
  head -c 4096 -- "$lock"
  exit 74
fi
# A run whose lock somebody broke has nothing more to do here; the next run's document ends that.
said=$(head -c 4096 -- "$lock")
case $said in
  *"\"broken\": \"$run\""*)
    section holder
    printf '%s\n' "$said"
    exit 74
    ;;
esac
case $again:$said in
  again:*"\"run\": \"$run\""* | again:*'"run": "guard of '* | again: | :*) ;;
  *)
    section meanwhile
    section holder
    printf '%s\n' "$said"
    exit 74
    ;;
esac
printf %s "$document" | base64 -d | root tee -- "$lock" >/dev/null || exit
section held
# The child must not inherit the lock: it would hold it for as long as it outlives us.
# Of a terminal only who is in front may read.
foreground=${console_terminal:+--foreground}
# shellcheck disable=SC2086 # an option or nothing
while beat=$(exec 9<&- && exec timeout $foreground 6 head -n 1) && [ -n "$beat" ]; do
  :
done
exit 0
