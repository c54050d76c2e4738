# shellcheck shell=sh disable=SC2034,SC2154
# look_lock.sh [LOCK_FILE]: who holds it. Creates nothing; without a file it only shows that the host answers.
section lock
describe_lock "${1:-}"
