# shellcheck shell=sh disable=SC2034,SC2154
# act_ledger_settle.sh STATE_FOLDER UNIT WORD RUN...
# Says of earlier entries how a later run settled them.
folder=$1/$2 word=$3
shift 3
for run in "$@"; do
  entry=$folder/$run
  if ! root test -f "$entry/change.json"; then
    continue
  fi
  root sed "s/^ \"state\": \"[a-z-]*\",\$/ \"state\": \"$word\",/" "$entry/change.json" |
    root tee -- "$entry/.change.json.new" >/dev/null || exit
  root chmod 0600 -- "$entry/.change.json.new" || exit
  root sync -- "$entry/.change.json.new" || exit
  root mv -f -T -- "$entry/.change.json.new" "$entry/change.json" || exit
done
exit 0
