# shellcheck shell=sh disable=SC2034,SC2154
# act_verify.sh FOLDER UNIT [NAME CONTENT_BASE64]...
# What systemd would say of unit files that are not installed. NAME: UNIT, or UNIT.d/SOMETHING.conf.
folder=$1/verify unit=$2
shift 2
root rm -rf -- "$folder" || exit
while [ $# -gt 1 ]; do
  each=$folder/$1
  root mkdir -p -- "${each%/*}" || exit
  printf %s "$2" | base64 -d | root tee -- "$folder/$1" >/dev/null || exit
  shift 2
done
# Not the units it depends on: they are not ours, and reading them takes longer than all the rest.
said=$(root systemd-analyze verify --man=no --recursive-errors=no "$folder/$unit" 2>&1)
status=$?
case $said in
  *'unrecognized option'*) # before systemd 250
    said=$(root systemd-analyze verify --man=no "$folder/$unit" 2>&1)
    status=$?
    ;;
esac
section warnings
printf '%s\n' "$said"
section status
echo "$status"
root rm -rf -- "$folder"
