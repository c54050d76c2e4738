# shellcheck shell=sh disable=SC2034,SC2154
# look_running.sh NAME: processes of a script that was sent under this name, which stands in its shell's command line.
section running
# The name goes to grep on stdin: as an argument it would find itself.
# shellcheck disable=SC2062 # these are files, the pattern comes on stdin
printf '%s\n' "$1" | grep -l -a -F -f - -- /proc/[0-9]*/cmdline 2>/dev/null | sed -n 's|^/proc/\([0-9]*\)/.*|\1|p'
exit 0
