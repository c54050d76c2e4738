# shellcheck shell=sh disable=SC2034,SC2154
# act_ledger_state.sh STATE_FOLDER UNIT RUN DOCUMENT_BASE64: says how an entry ended.
entry=$1/$2/$3
# Where there is no room the entry stays as it was.
give_up() {
  root rm -rf -- "$entry/.change.json.new"
  exit 1
}
printf %s "$4" | base64 -d | root tee -- "$entry/.change.json.new" >/dev/null || give_up
root chmod 0600 -- "$entry/.change.json.new" || give_up
root sync -- "$entry/.change.json.new" || give_up
root mv -f -T -- "$entry/.change.json.new" "$entry/change.json" || give_up
root sync -- "$entry"
