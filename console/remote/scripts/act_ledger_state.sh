# shellcheck shell=sh disable=SC2034,SC2154
# act_ledger_state.sh STATE_FOLDER UNIT RUN DOCUMENT_BASE64: says how an entry ended.
entry=$1/$2/$3
printf %s "$4" | base64 -d | root tee -- "$entry/.change.json.new" >/dev/null || exit
root chmod 0600 -- "$entry/.change.json.new" || exit
root sync -- "$entry/.change.json.new" || exit
root mv -f -T -- "$entry/.change.json.new" "$entry/change.json" || exit
root sync -- "$entry"
