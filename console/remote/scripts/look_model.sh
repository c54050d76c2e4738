# shellcheck shell=sh disable=SC2034,SC2154
# look_model.sh USER [ROLE CANDIDATE]...
# config.json of a model and its draft: of each ROLE the first CANDIDATE that has one. A candidate is a folder, or
# FOLDER@REVISION of a download cache, whose refs say which snapshot that is; `home:` is USER's home. A GGUF file says
# the same in its first bytes, before the vocabulary: no more of it is read.
user=$1
shift
set -f
case " $*" in
  *' home:'*) home=$(getent passwd "$user" 2>/dev/null | cut -d: -f6) ;;
  *) home='' ;;
esac

# True where a path is there. Root is asked only where we cannot see that ourselves: each call is a line of sudo's log.
# `closed` is then what sudo had against it.
there() {
  closed=
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
  # test(1) says nothing by itself.
  closed=$(root test -e "$1" 2>&1) && return 0
  return 1
}

read_head() {
  if [ -r "$1" ]; then
    head -c 65536 -- "$1"
  else
    root head -c 65536 -- "$1"
  fi
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
  case $candidate in
    *.gguf)
      if there "$candidate"; then
        found="$found$role "
        section "model.$role"
        printf 'path=%s\n' "$candidate"
        case $candidate in
          *-00001-of-?????.gguf) parts="${candidate%-00001-of-?????.gguf}-?????-of-${candidate##*-of-}" ;;
          *) parts=$candidate ;;
        esac
        # shellcheck disable=SC2086 # the parts of a model that is split
        printf 'weights=%s\n' "$(set +f; IFS=; stat -L -c %s -- $parts 2>/dev/null | awk '{ sum += $1 } END { print sum + 0 }')"
        printf 'content=%s\n' "$(read_head "$candidate" 2>/dev/null | base64 -w 0)"
      elif [ -n "$closed" ]; then
        section "closed.$role"
        printf 'path=%s\nerror=%s\n' "$candidate" "$closed"
      fi
      continue
      ;;
  esac
  config=$candidate/config.json
  if there "$config"; then
    found="$found$role "
    section "model.$role"
    printf 'path=%s\n' "$config"
    printf 'weights=%s\n' "$(set +f; stat -L -c %s -- "$candidate"/*.safetensors 2>/dev/null | awk '{ sum += $1 } END { print sum + 0 }')"
    printf 'content='
    read_file "$config" 2>/dev/null | head -c 1048576 | base64 -w 0
    echo
  elif [ -n "$closed" ]; then
    section "closed.$role"
    printf 'path=%s\nerror=%s\n' "$candidate" "$closed"
  elif there "$candidate"; then
    section "empty.$role"
    printf 'path=%s\n' "$candidate"
  fi
done
exit 0
