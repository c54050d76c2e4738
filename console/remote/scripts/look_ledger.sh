# shellcheck shell=sh disable=SC2034,SC2154
# look_ledger.sh STATE_FOLDER UNIT [RUN]
# What the host remembers of changes to a unit: each change.json; with RUN, every file of that entry.
section ledger
describe_ledger "$1/$2"
if [ -n "${3:-}" ]; then
  section entry
  root find "$1/$2/$3" -mindepth 1 -maxdepth 1 -type f -size -1024k -printf '%f\n' -exec base64 -w 0 {} \; -printf '\n' 2>/dev/null
fi
exit 0
