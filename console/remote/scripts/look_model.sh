# shellcheck shell=sh disable=SC2034,SC2154
# look_model.sh USER [ROLE CANDIDATE]...
# config.json of a model and its draft: of each ROLE the first CANDIDATE that has one. A candidate is a folder, or
# FOLDER@REVISION of a download cache, whose refs say which snapshot that is; `home:` is USER's home.
user=$1
shift
set -f
home=$(getent passwd "$user" 2>/dev/null | cut -d: -f6)

# True where a path is there. Root is asked only where we cannot see that ourselves: each call is a line of sudo's log.
there() {
  if [ -e "$1" ]; then
    return 0
  fi
  nearest=${1%/*}
  while [ -n "$nearest" ] && [ ! -e "$nearest" ]; do
    nearest=${nearest%/*}
  done
  if [ -x "${nearest:-/}" ]; then
    return 1
  fi
  root test -e "$1" 2>/dev/null
}

found=' '
while [ $# -gt 1 ]; do
  role=$1 candidate=$2
  shift 2
  case $found in
    *" $role "*) continue ;;
  esac
  case $candidate in
    home:*)
      if [ -z "$home" ]; then
        continue
      fi
      candidate=$home/${candidate#home:}
      ;;
  esac
  case ${candidate##*/} in
    models--*@*)
      revision=${candidate##*@}
      candidate=${candidate%@*}
      commit=
      if there "$candidate/refs/$revision"; then
        commit=$(read_file "$candidate/refs/$revision" 2>/dev/null | head -c 64)
      fi
      if ! there "$candidate"; then
        continue
      fi
      candidate=$candidate/snapshots/${commit:-$revision}
      ;;
  esac
  config=$candidate/config.json
  if there "$config"; then
    found="$found$role "
    section "model.$role"
    printf 'path=%s\n' "$config"
    printf 'weights=%s\n' "$(set +f; stat -L -c %s -- "$candidate"/*.safetensors 2>/dev/null | awk '{ sum += $1 } END { print sum + 0 }')"
    printf 'content=%s\n' "$(read_file "$config" 2>/dev/null | head -c 1048576 | base64 -w 0)"
  elif there "$candidate"; then
    section "empty.$role"
    printf 'path=%s\n' "$candidate"
  fi
done
exit 0
