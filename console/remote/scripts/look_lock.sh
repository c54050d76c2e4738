# shellcheck shell=sh disable=SC2034,SC2154
# look_lock.sh LOCK_FILE: who holds it. Creates nothing.
section lock
describe_lock "$1"
