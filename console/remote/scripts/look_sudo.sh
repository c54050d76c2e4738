# shellcheck shell=sh disable=SC2034,SC2154
# look_sudo.sh COMMAND_BASE64...
# Which of these commands, one word a line, sudo would not let us run.
section refused_commands
for encoded in "$@"; do
  words=$(printf %s "$encoded" | base64 -d)
  set -f
  IFS='
'
  # shellcheck disable=SC2086 # words, one a line
  set -- $words
  unset IFS
  set +f
  sudo -n -l -- "$@" >/dev/null 2>&1 || printf '%s\n' "$encoded"
done
exit 0
