# shellcheck shell=sh disable=SC2034,SC2154
# act_verify.sh FOLDER UNIT [NAME CONTENT_BASE64]...
# What systemd would say of unit files that are not installed. NAME: UNIT, or UNIT.d/SOMETHING.conf.
folder=$1/verify unit=$2
shift 2
root rm -rf -- "$folder" || exit
while [ $# -gt 1 ]; do
  root mkdir -p -- "$(dirname -- "$folder/$1")" || exit
  printf %s "$2" | base64 -d | root tee -- "$folder/$1" >/dev/null || exit
  shift 2
done
section warnings
root systemd-analyze verify --man=no "$folder/$unit" 2>&1
status=$?
section status
echo "$status"
root rm -rf -- "$folder"
