# shellcheck shell=sh disable=SC2034,SC2154
# act_replace.sh PATH SHA_BEFORE SHA_AFTER CONTENT_BASE64 RUN
# Replaces a file's bytes in one step; owner, mode, times of others, ACL, attributes and label stay.
# 77: the file is not as it was. 78: no room, or the file system cannot be written.
path=$1 before=$2 after=$3 content=$4 run=$5
folder=${path%/*} name=${path##*/}
folder=${folder:-/}
temporary=$folder/.$name.console-$run

# What a crashed one left behind is known by its name.
for leftover in "$folder/.$name.console-"*; do
  if [ -e "$leftover" ]; then
    root rm -f -- "$leftover" || exit
  fi
done

discard() {
  root rm -f -- "$temporary"
  case $2 in
    *'No space left'* | *'quota exceeded'* | *'Read-only file system'*) fail 78 "$2" ;;
    *) fail "$1" "$2" ;;
  esac
}

now=$(digest "$path") || fail 77 "$path cannot be read any more"
if [ "$now" != "$before" ]; then
  fail 77 "$path is $now, planned from $before"
fi
kept=$(stat -c '%a %u %g %C' -- "$path")

said=$(root cp --preserve=all -T -- "$path" "$temporary" 2>&1) || discard 1 "$said"
said=$({ printf %s "$content" | base64 -d | root dd of="$temporary" conv=fsync status=none; } 2>&1) || discard 1 "$said"
if [ "$(digest "$temporary")" != "$after" ]; then
  discard 1 "what was written to $temporary is not what was sent"
fi
if [ "$(digest "$path")" != "$before" ]; then
  discard 77 "$path was edited while its successor was written"
fi
said=$(root mv -f -T -- "$temporary" "$path" 2>&1) || discard 1 "$said"
# The new name must survive a power cut, too.
root sync -- "$folder"

if [ "$(stat -c '%a %u %g %C' -- "$path")" != "$kept" ] && command -v restorecon >/dev/null 2>&1; then
  root restorecon -- "$path"
fi
section result
printf 'sha256=%s\n' "$(digest "$path")"
printf 'kept=%s\nnow=%s\n' "$kept" "$(stat -c '%a %u %g %C' -- "$path")"
if [ "$(digest "$path")" != "$after" ]; then
  fail 1 "$path does not read back as it was written"
fi
