# shellcheck shell=sh disable=SC2034,SC2154
# look_files.sh PATH...: files as they are now.
for path in "$@"; do
  describe_file source "$path"
done
