# shellcheck shell=sh disable=SC2034,SC2154
# act_replace.sh PATH SHA_BEFORE SHA_AFTER CONTENT_BASE64 RUN [FOLDER [MODE]]
# Replaces a file's bytes in one step; owner, mode, times of others, ACL, attributes and label stay.
# `absent` in the place of a digest: makes the file, root's and MODE (0644), or takes it away; FOLDER: its folder with it.
# 77: the file is not as it was. 78: no room, or the file system cannot be written.
path=$1 before=$2 after=$3 content=$4 run=$5 with_folder=${6:-} mode=${7:-0644}
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
  drop_folder
  case $2 in
    *'No space left'* | *'quota exceeded'* | *'Read-only file system'*) fail 78 "$2" ;;
    *) fail "$1" "$2" ;;
  esac
}

# A folder that came with the file goes with it, unless somebody put something there.
drop_folder() {
  if [ -n "$with_folder" ] && [ -d "$folder" ] && [ -z "$(ls -A -- "$folder")" ]; then
    root rmdir -- "$folder" && root sync -- "${folder%/*}"
  fi
}

write() {
  said=$({ printf %s "$content" | base64 -d | root dd of="$temporary" conv=fsync status=none; } 2>&1) || discard 1 "$said"
  if [ "$(digest "$temporary")" != "$after" ]; then
    discard 1 "what was written to $temporary is not what was sent"
  fi
}

if [ "$before" = absent ]; then
  if [ -e "$path" ] || [ -L "$path" ]; then
    fail 77 "$path is there, and was not when this was planned"
  fi
  if [ ! -d "$folder" ]; then
    said=$(root mkdir -m 0755 -- "$folder" 2>&1) || discard 1 "$said"
    root sync -- "${folder%/*}"
  fi
  write
  said=$(root chmod "$mode" -- "$temporary" 2>&1) || discard 1 "$said"
  # A link never takes the place of a file that came meanwhile.
  if ! said=$(root ln -T -- "$temporary" "$path" 2>&1); then
    if [ -e "$path" ] || [ -L "$path" ]; then
      discard 77 "$path was made by somebody else meanwhile"
    fi
    discard 1 "$said"
  fi
  root rm -f -- "$temporary"
  root sync -- "$path" "$folder"
  section result
  now=$(digest "$path")
  printf 'sha256=%s\n' "$now"
  if [ "$now" != "$after" ]; then
    fail 1 "$path does not read back as it was written"
  fi
  exit 0
fi

now=$(digest "$path") || fail 77 "$path cannot be read any more"
if [ "$now" != "$before" ]; then
  fail 77 "$path is $now, planned from $before"
fi

if [ "$after" = absent ]; then
  said=$(root rm -f -- "$path" 2>&1) || discard 1 "$said"
  root sync -- "$folder"
  drop_folder
  section result
  echo 'sha256=absent'
  exit 0
fi
kept=$(stat -c '%a %u %g %C' -- "$path")

said=$(root cp --preserve=all -T -- "$path" "$temporary" 2>&1) || discard 1 "$said"
# What chattr sets is of the inode, and cp leaves it behind.
if command -v lsattr >/dev/null 2>&1; then
  if [ -r "$path" ]; then flags=$(lsattr -d -- "$path" 2>/dev/null); else flags=$(root lsattr -d -- "$path" 2>/dev/null); fi
  case ${flags%% *} in
    *[AcCdDjmsStux]*) flags=$(printf %s "${flags%% *}" | tr -cd AcCdDjmsStux) ;;
    *) flags= ;;
  esac
  if [ -n "$flags" ] && ! said=$(root chattr "+$flags" -- "$temporary" 2>&1); then
    discard 1 "the attributes $flags of $path could not be kept: $said"
  fi
fi
write
if [ "$(digest "$path")" != "$before" ]; then
  discard 77 "$path was edited while its successor was written"
fi
said=$(root mv -f -T -- "$temporary" "$path" 2>&1) || discard 1 "$said"
# The new name must survive a power cut, too.
root sync -- "$folder"

is=$(stat -c '%a %u %g %C' -- "$path")
if [ "$is" != "$kept" ] && command -v restorecon >/dev/null 2>&1; then
  root restorecon -- "$path"
  is=$(stat -c '%a %u %g %C' -- "$path")
fi
now=$(digest "$path")
section result
printf 'sha256=%s\n' "$now"
printf 'kept=%s\nnow=%s\n' "$kept" "$is"
if [ "$now" != "$after" ]; then
  fail 1 "$path does not read back as it was written"
fi
