# shellcheck shell=sh disable=SC2034,SC2154
# look_holder.sh LOCK_FILE
# Who holds a lock, and how lively that process is: for how long it runs, and when it was last heard.
section lock
describe_lock "$1"
section holder
lock_holders "$1"
exit 0
