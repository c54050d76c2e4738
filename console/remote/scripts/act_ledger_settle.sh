# shellcheck shell=sh disable=SC2034,SC2154
# act_ledger_settle.sh STATE_FOLDER UNIT WORD RUN...
# Says of earlier entries how a later run settled them, and takes away what a killed one left beside a file.
folder=$1/$2 word=$3
shift 3
# Where there is no room the entry stays as it was.
give_up() {
  root rm -rf -- "$entry/.change.json.new"
  exit 1
}
for run in "$@"; do
  entry=$folder/$run
  if ! root test -f "$entry/change.json"; then
    continue
  fi
  root sed "s/^ \"state\": \"[a-z-]*\",\$/ \"state\": \"$word\",/" "$entry/change.json" |
    root tee -- "$entry/.change.json.new" >/dev/null || give_up
  root chmod 0600 -- "$entry/.change.json.new" || give_up
  root sync -- "$entry/.change.json.new" || give_up
  root mv -f -T -- "$entry/.change.json.new" "$entry/change.json" || give_up
  root cat -- "$entry/files.tsv" 2>/dev/null | while IFS='	' read -r path before rest; do
    if [ -e "${path%/*}/.${path##*/}.console-$run" ]; then
      root rm -f -- "${path%/*}/.${path##*/}.console-$run"
    fi
    # A folder that came for the one file that was never made.
    case $before:${path%/*} in
      absent:*.service.d)
        if [ -d "${path%/*}" ] && [ ! -L "${path%/*}" ] && [ -z "$(ls -A -- "${path%/*}")" ] &&
          root cat -- "$entry/change.json" | grep -q '"folder": true'; then
          root rmdir -- "${path%/*}"
        fi
        ;;
    esac
  done
done
exit 0
