# shellcheck shell=sh disable=SC2034,SC2154
# look_around.sh UNIT FRAGMENT GROUP IMAGE PATH...
# What stands around a unit: who else is decided by these files or restarts it, what keeps them from being replaced, who
# uses the host's GPUs, and what would keep the unit from coming back. GROUP: its control group. IMAGE: of its container.
unit=$1 fragment=$2 group=$3 image=$4
shift 4
if [ -n "${CONSOLE_LAB_SIMULATED:-}" ]; then
  # Around a simulated unit there is the machine it is simulated on, which is none of its business.
  section loaded
  exit 0
fi
set -f
own_files=$(
  for path in "$@"; do
    printf '%s\n' "$path"
  done
)

# One block a unit, this one's first; specifiers are put in, and instances stand by their names.
section loaded
systemctl show --no-pager --property=Id,FragmentPath,DropInPaths,EnvironmentFiles,ExecStart,NeedDaemonReload,Conflicts,ConflictedBy,TriggeredBy,Requires,BindsTo,WatchdogUSec -- "$unit" '*.service' 2>/dev/null | own_files=$own_files mark=$console_mark awk '
  BEGIN { RS = ""; FS = "\n"; count = split(ENVIRON["own_files"], own, "\n") }
  {
    id = ""; text = " "; old = 0
    for (at = 1; at <= NF; at++) {
      name = $at; sub(/=.*/, "", name)
      value = $at; sub(/^[^=]*=/, "", value); sub(/ \(ignore_errors=(yes|no)\)$/, "", value)
      if (name ~ /^(Conflicts|ConflictedBy|TriggeredBy|Requires|BindsTo|WatchdogUSec)$/) {
        if (NR == 1) relations = relations $at "\n"
      } else if (name == "Id") id = value
      else if (name == "NeedDaemonReload") { if (value == "yes") old = 1 }
      else text = text value " "
    }
    if (id in seen) next
    seen[id] = 1
    if (old) stale = stale id "\n"
    if (NR == 1) next
    gsub(/[;={}"\047]/, " ", text)
    words = split(text, word, " ")
    for (at = 1; at <= count; at++) {
      hit = 0
      for (each = 1; each <= words && !hit; each++) {
        if (word[each] == own[at]) hit = 1
        else if (word[each] ~ /^\/.*[*?]/) {
          pattern = word[each]
          gsub(/[.+^$()|\\]/, "\\\\&", pattern); gsub(/\*/, "[^/]*", pattern); gsub(/\?/, "[^/]", pattern)
          if (own[at] ~ ("^" pattern "$")) hit = 1
        }
      }
      if (hit) printf "%s\t%s\n", own[at], id
    }
  }
  END { printf "\n%s relations\n%s\n%s stale\n%s", ENVIRON["mark"], relations, ENVIRON["mark"], stale }'

# Files of units, loaded or not, and of cron, that name one of the files, or the unit in a command.
set +f
set -- /etc/systemd/system/*.service /etc/systemd/system/*.service.d/*.conf /run/systemd/system/*.service \
  /usr/local/lib/systemd/system/*.service /usr/lib/systemd/system/*.service /etc/crontab /etc/cron.d/*
set -f
section named
unit_files=
for path in "$@"; do
  if [ -f "$path" ] && [ -r "$path" ]; then
    unit_files="$unit_files $path"
  fi
done
# shellcheck disable=SC2086 # a list of files
own_files=$own_files unit=$unit awk '
  BEGIN { count = split(ENVIRON["own_files"], own, "\n"); unit = ENVIRON["unit"]; short = unit; sub(/\.service$/, "", short) }
  /^[ \t]*[#;]/ { next }
  {
    for (at = 1; at <= count; at++) {
      where = own[at] == "" ? 0 : index($0, own[at])
      if (!where || substr($0, where + length(own[at]), 1) ~ /[A-Za-z0-9._\/-]/) continue
      if (!((at, FILENAME) in told)) { told[at, FILENAME] = 1; printf "file\t%s\t%s\n", own[at], FILENAME }
    }
    # Whatever ends in -art, -op or -ill: a command that starts it anew, or ends it.
    if ($0 ~ /systemctl +(-[^ ]+ +)*[a-z-]*(art|op|ill) / && (index($0 " ", " " unit " ") || index($0 " ", " " short " ")))
      if (!(FILENAME in moves)) { moves[FILENAME] = 1; printf "moves\t%s\t%s\n", unit, FILENAME }
  }' /dev/null $unit_files

section mounts
cat /proc/self/mountinfo
section attributes
if command -v lsattr >/dev/null 2>&1; then
  # Of the folders, too: a file is replaced in its folder. Without escapes or blanks in the names.
  folders=
  for path in $own_files; do
    case " $folders " in
      *" ${path%/*} "*) ;;
      *) folders="$folders ${path%/*}" ;;
    esac
  done
  # shellcheck disable=SC2086 # lists of paths
  root lsattr -d -- $own_files $folders 2>/dev/null
fi
section packages
if [ -d /var/lib/dpkg/info ] && [ -n "$own_files" ]; then
  set +f
  printf '%s\n' "$own_files" | grep -rxF -f - --include='*.list' /var/lib/dpkg/info 2>/dev/null | sed 's/^.*\/\([^/:]*\)[^/]*\.list:/\1\t/'
  set -f
elif command -v rpm >/dev/null 2>&1; then
  for path in $own_files; do
    said=$(rpm -qf --qf '%{NAME}' "$path" 2>/dev/null) && printf '%s\t%s\n' "$said" "$path"
  done
fi

section space
stat -f -c '%n %a %S' -- / /dev/shm /tmp /var/tmp 2>/dev/null | while read -r path blocks bytes; do
  printf '%s\t%s\n' "$path" "$((blocks * bytes))"
done
section boot_wanted
if [ -e /run/reboot-required ]; then
  echo 'yes'
  cat /run/reboot-required.pkgs 2>/dev/null
fi
section fabric
if [ -e /proc/driver/nvidia-nvswitch ] || [ -e /dev/nvidia-nvswitchctl ]; then
  printf 'state=%s\n' "$(systemctl show --no-pager --value --property=ActiveState -- nvidia-fabricmanager.service 2>/dev/null)"
fi

if command -v nvidia-smi >/dev/null 2>&1; then
  section gpu_health
  said=$(timeout 15 nvidia-smi --query-gpu=index,ecc.errors.uncorrected.volatile.total,remapped_rows.pending,retired_pages.pending --format=csv,noheader,nounits 2>&1)
  printf 'status=%s\n%s\n' "$?" "$said"
  section gpu_users
  timeout 15 nvidia-smi --query-compute-apps=pid,used_memory --format=csv,noheader,nounits 2>/dev/null |
    while IFS=', ' read -r pid memory; do
      case $pid in
        '' | *[!0-9]*) continue ;;
      esac
      printf '%s\t%s\t%s\t%s\n' "$pid" "$memory" "$(sed -n 's/^[0-9]*:[^:]*:\(\/..*\)/\1/p' "/proc/$pid/cgroup" 2>/dev/null | head -n 1)" "$(tr '\000' ' ' <"/proc/$pid/cmdline" 2>/dev/null | head -c 120)"
    done
  section nvrm
  journal --dmesg --boot --output=cat --lines=10 '--grep=NVRM: [^X]' 2>/dev/null
fi

section containers
for tool in docker podman; do
  if ! command -v "$tool" >/dev/null 2>&1; then
    continue
  fi
  if [ -n "$image" ]; then
    if root "$tool" image inspect --format '{{.Id}}' "$image" >/dev/null 2>&1; then
      printf 'image\t%s\tyes\n' "$tool"
    else
      printf 'image\t%s\tno\n' "$tool"
    fi
  fi
  printf 'driver\t%s\t%s\n' "$tool" "$(root "$tool" info --format '{{.CgroupDriver}}' 2>/dev/null)"
  running=$(root "$tool" ps -q 2>/dev/null)
  if [ -n "$running" ]; then
    # shellcheck disable=SC2086 # a list of containers
    root "$tool" inspect --format 'container	{{.Id}}	{{.Name}}	{{.HostConfig.Runtime}}	{{json .HostConfig.DeviceRequests}}	{{json .HostConfig.Devices}}' $running 2>/dev/null
  fi
done
exit 0
