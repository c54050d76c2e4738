#!/bin/sh
# Puts back the files that one run of `console` changed, reloads systemd and restarts the unit.
# Lies beside files.tsv (path, digest before, digest after, backup, digests between) and the backups. Run it as root:
#   sh undo.sh                 put back, reload, restart
#   sh undo.sh --no-restart    put back and reload; the running process stays as it is
#   sh undo.sh --balancer-in   only put it into its balancer again, where the run took it out
# `absent` in the place of a digest: there was no such file, and it is taken away; no-folder: nor its folder.
# Of an engine on several hosts it starts nothing: it says what to do on all of them, in which order.
# A file that is neither as it was nor as the run left it was edited by somebody else: then nothing is touched.
set -eu
umask 077
here=$(cd -- "$(dirname -- "$0")" && pwd)
unit=$(basename -- "$(dirname -- "$here")")
tab=$(printf '\t')

argument() {
  sed -n "s/^$1=//p" "$here/balancer.args" | base64 -d
}

if [ "${1:-}" = --balancer-in ]; then
  if [ ! -s "$here/balancer.args" ]; then
    echo 'this run took nothing out of a balancer' >&2
    exit 1
  fi
  case $(argument kind) in
    command) sh -c "$(argument command)" ;;
    call)
      body=$(argument body)
      curl -s -S -f -o /dev/null -X "$(argument method)" ${body:+--data-binary "$body"} --max-time 60 -- "$(argument url)"
      ;;
    *)
      echo "not from here: $(argument hand)" >&2
      exit 1
      ;;
  esac
  echo 'put into its balancer'
  exit 0
fi

digest_of() {
  if [ ! -e "$1" ] && [ ! -L "$1" ]; then
    echo absent
    return 0
  fi
  digest_text=$(sha256sum <"$1")
  printf '%s\n' "${digest_text%% *}"
}

while IFS=$tab read -r path before after backup between; do
  now=$(digest_of "$path")
  case ,$before,$after,$between, in
    *",$now,"*) ;;
    *)
      echo "$path was edited since (now $now): nothing was touched" >&2
      exit 1
      ;;
  esac
  if [ "$before" != absent ] && [ "$(digest_of "$here/$backup")" != "$before" ]; then
    echo "$here/$backup is not the file as it was: nothing was touched" >&2
    exit 1
  fi
done <"$here/files.tsv"

while IFS=$tab read -r path before after backup _; do
  if [ "$(digest_of "$path")" = "$before" ]; then
    echo "already as it was: $path"
  elif [ "$before" = absent ]; then
    folder=$(dirname -- "$path")
    rm -f -- "$path"
    sync -- "$folder"
    if [ "$backup" = no-folder ] && [ -z "$(ls -A -- "$folder")" ]; then
      rmdir -- "$folder"
      sync -- "$(dirname -- "$folder")"
    fi
    echo "taken away: $path"
  else
    if [ ! -d "$(dirname -- "$path")" ]; then
      mkdir -m 0755 -- "$(dirname -- "$path")"
    fi
    temporary=$(dirname -- "$path")/.$(basename -- "$path").console-undo
    # No room, or a quota: what cp says stands on the screen, and nothing of it stays.
    if ! cp --preserve=all -T -- "$here/$backup" "$temporary"; then
      rm -f -- "$temporary"
      echo "$path was not put back" >&2
      exit 1
    fi
    flags=$(lsattr -d -- "$path" 2>/dev/null | cut -d ' ' -f 1 | tr -cd AcCdDjmsStux) || flags=
    if [ -n "$flags" ]; then
      chattr "+$flags" -- "$temporary" || echo "$path: its attributes $flags could not be kept" >&2
    fi
    # Times of the backup would hide the edit from systemd.
    touch -- "$temporary"
    sync -- "$temporary"
    mv -f -T -- "$temporary" "$path"
    sync -- "$(dirname -- "$path")"
    echo "put back: $path"
  fi
done <"$here/files.tsv"

systemctl daemon-reload
echo 'systemd read the unit files again'
if [ -s "$here/ranks.txt" ]; then
  echo "one part of an engine in several places: run undo.sh in each of them"
  sed 's/^/    /' "$here/ranks.txt"
  echo "then, in this order: systemctl stop UNIT of each; when all are down: systemctl start UNIT of each"
elif [ "${1:-}" != --no-restart ]; then
  systemctl reset-failed -- "$unit" 2>/dev/null || true
  systemctl restart --no-block -- "$unit"
  echo "restart of $unit is queued: systemctl status $unit"
fi
if [ -s "$here/balancer.args" ]; then
  echo "it may be out of its balancer; when it serves: sh $here/undo.sh --balancer-in"
fi
