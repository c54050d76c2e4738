# shellcheck shell=sh disable=SC2034,SC2154
# embeds: undo.sh
# act_ledger.sh STATE_FOLDER UNIT RUN DOCUMENT_BASE64 TABLE_BASE64 BALANCER_BASE64 RANKS_BASE64 [SOURCE BACKUP]...
# Writes an entry of the ledger: backups first, change.json last, so that an entry with one is whole.
state_folder=$1 unit=$2 run=$3 document=$4 table=$5 balancer=$6 ranks=$7
shift 7
folder=$state_folder/$unit
entry=$folder/$run

# Of an entry that there is no room for, nothing stays.
give_up() {
  root test -f "$entry/change.json" || root rm -rf -- "$entry"
  exit 1
}

put() {
  printf %s "$2" | base64 -d | root tee -- "$1" >/dev/null
}

root mkdir -p -m 0700 -- "$state_folder" "$folder" "$entry" || give_up
while [ $# -gt 1 ]; do
  # Owner and mode come along: a backup is never more readable than its file.
  root cp --preserve=all -T -- "$1" "$entry/$2" || give_up
  shift 2
done
put "$entry/files.tsv" "$table" || give_up
if [ -n "$balancer" ]; then
  put "$entry/balancer.args" "$balancer" || give_up
  root chmod 0600 -- "$entry/balancer.args" || give_up
fi
if [ -n "$ranks" ]; then
  put "$entry/ranks.txt" "$ranks" || give_up
  root chmod 0600 -- "$entry/ranks.txt" || give_up
fi
printf %s "$console_embedded" | root tee -- "$entry/undo.sh" >/dev/null || give_up
put "$entry/.change.json.new" "$document" || give_up
root chmod 0600 -- "$entry/files.tsv" "$entry/.change.json.new" || give_up
root chmod 0700 -- "$entry/undo.sh" || give_up
root find "$entry" -type f -exec sync -- {} + || give_up
root mv -f -T -- "$entry/.change.json.new" "$entry/change.json" || give_up
root sync -- "$entry" "$folder" "$state_folder" || give_up

# The newest 20 that are over stay; open ones always. Names sort by time. Where fewer can be seen nothing is to be done.
set -- "$folder"/*/change.json
if [ -e "$1" ] && [ $# -le 20 ]; then
  exit 0
fi
root find "$folder" -mindepth 2 -maxdepth 2 -name change.json -exec grep -L -E '"state": "(open|undoing|guard)"' -- {} + 2>/dev/null |
  sort -r | tail -n +21 | while IFS= read -r old; do
  old=${old%/change.json}
  if [ "$old" != "$entry" ]; then
    root rm -rf -- "$old"
  fi
done
exit 0
