# shellcheck shell=sh disable=SC2034,SC2154
# Stands before every script. Set above it: console_mark, console_uid where it is known, console_sudo, console_password, console_lock_file, console_lock_run.
umask 077
LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/sbin:/usr/local/bin:/usr/bin:/sbin:/bin
export LC_ALL PATH
console_uid=${console_uid:-$(id -u)}
unit_show=''

# What follows on stdout belongs to this name, up to the next mark.
section() {
  printf '\n%s %s\n' "$console_mark" "$1"
}

# Runs a command as root. Each call is one line of the host's sudo log.
root() {
  if [ "$console_uid" = 0 ]; then
    "$@"
  elif [ "$console_sudo" = never ]; then
    echo 'sudo: the inventory says sudo = "never"' >&2
    return 1
  elif [ -n "$console_password" ]; then
    root_by_password "$@"
  else
    sudo -n -- "$@"
  fi
}

# The password is all that sudo's stdin ever holds: where sudo does not ask, the command would read it. What tee and dd
# are to write is taken from the file that our own stdin is, which root may open. -k: no ticket is used or left.
root_by_password() {
  case $1 in
    tee | dd) IFS=' ' read -r root_self root_rest </proc/self/stat ;;
  esac
  case $1 in
    tee)
      shift
      [ "$1" != -- ] || shift
      { printf '%s\n' "$console_password" | sudo -k -S -p '' -- dd "if=/proc/$root_self/fd/3" "of=$1" status=none; } 3<&0
      ;;
    dd)
      shift
      { printf '%s\n' "$console_password" | sudo -k -S -p '' -- dd "if=/proc/$root_self/fd/3" "$@"; } 3<&0
      ;;
    *) printf '%s\n' "$console_password" | sudo -k -S -p '' -- "$@" ;;
  esac
}

# STATUS REASON: ends the script, with nothing done.
fail() {
  section refused
  printf '%s\n' "$2"
  printf '%s\n' "$2" >&2
  exit "$1"
}

# True while a process holds the lock of this file. Takes a shared lock for a moment: holders wait for it to pass.
lock_is_held() {
  ! (flock -n -s 8) 8<"$1" 2>/dev/null
}

lock_names_run() {
  if [ -r "$1" ]; then
    while IFS= read -r named || [ -n "$named" ]; do
      case $named in
        *"\"run\": \"$2\""*) return 0 ;;
      esac
    done <"$1"
  fi
  return 1
}

# What a lock file says, and whether it is held. Creates nothing.
describe_lock() {
  if [ -r "$1" ]; then
    if lock_is_held "$1"; then echo 'held=yes'; else echo 'held=no'; fi
    head -c 4096 -- "$1"
  fi
}

# Each process that holds a lock file for itself alone: its number, how long it runs, and how long ago the last line came
# that it waits for, in seconds. It starts a new child for each line, so the child's age says so. /proc/locks names the
# flock(1) that took the lock and is gone; who holds it has the file open.
lock_holders() {
  # A pattern for find: a unit's name may hold backslashes.
  holder_file=$(readlink -f -- "$1" | sed 's/[][*?\\]/\\&/g')
  holder_clock=$(cut -d ' ' -f 1 /proc/uptime)
  holder_ticks=$(getconf CLK_TCK 2>/dev/null || echo 100)
  root find /proc/[0-9]*/fd -maxdepth 1 -name 9 -lname "$holder_file" 2>/dev/null | cut -d / -f 3 | while read -r holder_pid; do
    cat /proc/[0-9]*/stat 2>/dev/null | awk -v pid="$holder_pid" -v now="$holder_clock" -v ticks="$holder_ticks" '
      { number = $1; sub(/^.*\) /, ""); split($0, field, " "); age = now - field[20] / ticks }
      number == pid { own = age; found = 1 }
      field[2] == pid { if (!child || age < heard) heard = age; child = 1 }
      END { if (found) printf "%d %.1f %s\n", pid, own, child ? sprintf("%.1f", heard) : "-" }'
  done
}

# Each change.json below a folder: its path, then its content.
describe_ledger() {
  if [ -e "$1" ] || [ "$console_uid" != 0 ]; then
    root find "$1" -mindepth 2 -maxdepth 2 -name change.json -type f -size -1024k -printf '%p\n' -exec base64 -w 0 {} \; -printf '\n' 2>/dev/null
  fi
}

# A file as its own user or as root may read it.
read_file() {
  if [ -r "$1" ]; then
    cat -- "$1"
  else
    root cat -- "$1"
  fi
}

# The same in base64.
encode_file() {
  if [ -r "$1" ]; then
    base64 -w 0 -- "$1"
  else
    root cat -- "$1" | base64 -w 0
  fi
}

digest() {
  if [ -r "$1" ]; then
    digest_line=$(sha256sum -- "$1") || return 1
  else
    digest_line=$(root sha256sum -- "$1") || return 1
  fi
  digest_line=${digest_line#\\}
  printf '%s\n' "${digest_line%% *}"
}

# True for an absolute path that is there and leads through no link: it is the real one, without asking a program.
is_real() {
  case $1 in
    [!/]* | */ | *//* | */./* | */../* | */. | */..) return 1 ;;
  esac
  real_part=$1
  while [ -n "$real_part" ]; do
    [ ! -L "$real_part" ] || return 1
    real_part=${real_part%/*}
  done
  [ -e "$1" ]
}

# One file that decides a unit: what it is, whose, and its content.
file_number=0
describe_file() {
  file_number=$((file_number + 1))
  section "file.$file_number"
  printf 'kind=%s\npath=%s\n' "$1" "$2"
  if is_real "$2"; then
    file_real=$2
  elif ! file_real=$(readlink -e -- "$2" 2>/dev/null) && ! file_real=$(root readlink -e -- "$2" 2>/dev/null); then
    file_real=$(readlink -m -- "$2" 2>/dev/null)
    if ! readlink -e -- / >/dev/null 2>&1; then
      printf 'real=%s\nerror=%s\n' "$2" 'readlink of this host knows no -e: the tools of coreutils are needed (BusyBox has too few)'
      return 0
    fi
    # A folder that may not be searched hides what is in it: that is not the same as nothing.
    if [ -d "${2%/*}" ] && [ ! -x "${2%/*}" ] && ! root test -x "${2%/*}" 2>/dev/null; then
      printf 'real=%s\nerror=its folder may not be searched\n' "${file_real:-$2}"
      return 0
    fi
    printf 'real=%s\nmissing=yes\n' "${file_real:-$2}"
    return 0
  fi
  printf 'real=%s\n' "$file_real"
  if ! file_stat=$(stat -c '%a %u %g %s %F' -- "$file_real" 2>/dev/null || root stat -c '%a %u %g %s %F' -- "$file_real" 2>&1); then
    printf 'error=%s\n' "$file_stat"
    return 0
  fi
  printf 'stat=%s\n' "$file_stat"
  case $file_stat in
    *' regular file' | *' regular empty file') ;;
    *)
      echo 'error=not a regular file'
      return 0
      ;;
  esac
  file_size=${file_stat#* * * }
  if [ "${file_size%% *}" -gt 1048576 ]; then
    echo 'error=larger than 1 MiB'
    return 0
  fi
  if [ -r "$file_real" ] || root test -r "$file_real" 2>/dev/null; then
    printf 'content='
    encode_file "$file_real"
    echo
  else
    echo 'error=not readable for the login user, and sudo does not allow reading it'
  fi
}

# NAME FILE: prints NAME=, the first line of a file. Without a process of its own, as each look has many of these.
first_line() {
  first=
  if [ -r "$2" ]; then
    IFS= read -r first <"$2"
  fi
  printf '%s=%s\n' "$1" "$first"
}

# Sets $property to the value of one property out of the text in $unit_show, without a process of its own.
unit_property() {
  property="
$unit_show"
  case $property in
    *"
$1="*) ;;
    *)
      property=
      return 0
      ;;
  esac
  property=${property#*"
$1="}
  property=${property%%"
"*}
}

# The values of a property that systemd shows on several lines.
unit_properties() {
  printf '%s\n' "$unit_show" | sed -n "s/^$1=//p"
}

# journalctl with the rights it takes to see a system unit's lines.
journal() {
  if [ "$console_uid" != 0 ]; then
    case " $(id -Gn) " in
      *' root '* | *' systemd-journal '* | *' adm '* | *' wheel '*) ;;
      *)
        root journalctl --no-pager --quiet "$@"
        return
        ;;
    esac
  fi
  journalctl --no-pager --quiet "$@"
}

# [PORT [FOLDER]]: inodes of the sockets that listen on a TCP port, any without one; FOLDER: of another network's.
# The kernel walks its table of all connections to print the files; ss asks it for those that listen alone.
listening_inodes() {
  if [ $# = 1 ] && listening_said=$(ss -Hltne "sport = :$1" 2>/dev/null); then
    for listening_word in $listening_said; do
      case $listening_word in
        ino:*) printf '%s ' "${listening_word#ino:}" ;;
      esac
    done
    return 0
  fi
  listening_files=
  for listening_file in "${2:-/proc/net}/tcp" "${2:-/proc/net}/tcp6"; do
    if [ -r "$listening_file" ]; then
      listening_files="$listening_files $listening_file"
    fi
  done
  # shellcheck disable=SC2086 # a list of files
  awk -v port="$1" '
    BEGIN { if (port != "") port = sprintf("%04X", port) }
    $4 == "0A" && (port == "" || substr($2, length($2) - 3) == port) { printf "%s ", $10 }' /dev/null $listening_files
}

# EXEC_START WORKING_FOLDER PORT, the first as systemd shows it: the container that the command runs, itself or by compose.
# Its processes are in a control group of their own, and its log is its own where nobody is attached to it.
container_pids='' container_pid='' container_name='' container_tool='' container_apart=''
find_container() {
  case $1 in
    *docker* | *podman* | *nerdctl*) ;;
    *) return 0 ;;
  esac
  container_argv=${1#*argv\[\]=}
  container_verb='' container_word='' container_composed='' container_file=''
  set -f
  for container_next in ${container_argv%% ; ignore_errors=*}; do
    case $container_word:$container_next in
      --name:*) container_name=$container_next ;;
      *:--name=*) container_name=${container_next#--name=} ;;
      -f:* | --file:*) container_file=$container_next ;;
      *:--file=*) container_file=${container_next#--file=} ;;
      *:docker-compose | *:podman-compose | *:*/docker-compose | *:*/podman-compose)
        container_tool=${container_next%-compose} container_composed=yes
        ;;
      *:docker | *:podman | *:nerdctl | *:*/docker | *:*/podman | *:*/nerdctl) container_tool=${container_tool:-$container_next} ;;
      *:compose) container_composed=yes ;;
      *:run | *:up) container_verb=${container_verb:-made} ;;
      *:[s]tart) container_verb=${container_verb:-made-before} ;;
      *:-d | *:--detach) container_apart=yes ;;
      *:-a | *:-ai | *:-ia | *:--attach) container_verb=attach ;;
    esac
    container_word=$container_next
  done
  if [ -z "$container_tool" ]; then
    container_name=''
  elif [ -n "$container_composed" ]; then
    case $container_file in
      /*) container_file=${container_file%/*} ;;
      */*) container_file=$2/${container_file%/*} ;;
      *) container_file=$2 ;;
    esac
    container_file=label=com.docker.compose.project.working_dir=$container_file
    # The one that the port is passed on to, else all of them: they may share the host's network.
    container_name=$(container_says ps --quiet --filter "$container_file" --filter "publish=$3")
    container_name=${container_name:-$(container_says ps --quiet --filter "$container_file")}
  elif [ "$container_verb" = made-before ]; then
    container_apart=yes
    container_name=$container_word
  elif [ "$container_verb" = attach ]; then
    container_name=${container_name:-$container_word}
  fi
  for container_next in $container_name; do
    container_pid=$(container_says inspect --format '{{.State.Pid}}' "$container_next")
    case $container_pid in
      '' | 0 | *[!0-9]*) ;;
      *) container_pids="$container_pids $container_pid" ;;
    esac
  done
  set +f
  # Of several nobody can say which network, or whose log.
  case ${container_pids# } in
    '' | *' '*) container_pid='' container_apart='' ;;
  esac
}

# ARGUMENTS: what the container engine answers, asked as whoever logged in, else as root.
container_says() {
  "$container_tool" "$@" 2>/dev/null || root "$container_tool" "$@" 2>/dev/null
}

# Processes of a unit: its control group's, or the main process and its descendants where there is no such group.
unit_processes() {
  for unit_tree in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
    if [ -n "$1" ] && [ "$1" != / ] && [ -e "$unit_tree$1/cgroup.procs" ]; then
      for unit_below in "$unit_tree$1"/*/; do
        if [ -d "$unit_below" ]; then
          find "$unit_tree$1" -name cgroup.procs -exec cat {} + 2>/dev/null
          return 0
        fi
      done
      while read -r unit_process; do
        printf '%s ' "$unit_process"
      done 2>/dev/null <"$unit_tree$1/cgroup.procs"
      return 0
    fi
  done
  if [ "${2:-0}" != 0 ]; then
    cat /proc/[0-9]*/stat 2>/dev/null | awk -v main="$2" '
      { pid = $1; sub(/^.*\) /, ""); split($0, field, " "); parent[pid] = field[2] }
      END {
        for (pid in parent) {
          for (at = pid; at != main && (at in parent); at = parent[at]);
          if (at == main) printf "%s ", pid
        }
      }'
  fi
}

# CONTROL_GROUP MAIN_PID: the unit's processes and those of the container that `find_container` found.
service_processes() {
  unit_processes "$1" "$2"
  for service_container in $container_pids; do
    echo
    unit_processes "$(sed -n 's/^0:://p' "/proc/$service_container/cgroup" 2>/dev/null)" "$service_container"
  done
}

# The file that a process writes its log to: what stderr is, else stdout; nothing where neither is a plain file.
process_log() {
  log_targets=$(readlink -- "/proc/$1/fd/2" "/proc/$1/fd/1" 2>/dev/null || root readlink -- "/proc/$1/fd/2" "/proc/$1/fd/1" 2>/dev/null)
  while IFS= read -r log_target; do
    case $log_target in
      /dev/* | *' (deleted)') ;;
      /*)
        printf '%s\n' "$log_target"
        return 0
        ;;
    esac
  done <<LIST
$log_targets
LIST
}

# How far a log goes: bytes of a file, the time where it is a container's, which `container:` says.
log_position() {
  if [ "$1" = container: ]; then
    date -u +%Y-%m-%dT%H:%M:%S.%NZ
  else
    stat -L -c %s -- "$1" 2>/dev/null || root stat -L -c %s -- "$1" 2>/dev/null
  fi
}

# LOG FROM: what it says from that position on, at most a MiB; the last of it where there is no such position.
log_since() {
  log_to=$(log_position "$1")
  section log_at
  printf '%s\n' "$log_to"
  section log
  if [ "$1" = container: ]; then
    root "$container_tool" logs ${2:+"--since=$2"} "--until=$log_to" "$container_name" 2>&1 | tail -c 1048576
    return 0
  fi
  log_to=${log_to:-0}
  log_from=${2:-$((log_to - 1048576))}
  if [ "$log_from" -lt 0 ] || [ "$log_from" -gt "$log_to" ]; then
    log_from=0 # all of it, or it was rotated
  fi
  if [ -r "$1" ]; then
    tail -c "+$((log_from + 1))" -- "$1" 2>/dev/null | head -c 1048576
  else
    root tail -c "+$((log_from + 1))" -- "$1" 2>/dev/null | head -c 1048576
  fi
}

# Which of these processes holds one of these sockets: the preferred one if it does, else the oldest.
socket_owner() {
  owner_inodes=$1 owner_preferred=$2
  shift 2
  # With one folder alone ls prints no heading.
  root ls -l /dev/null "$@" 2>/dev/null | awk -v inodes="$owner_inodes" -v preferred="$owner_preferred" '
    BEGIN { count = split(inodes, list, " "); for (i = 1; i <= count; i++) wanted["socket:[" list[i] "]"] = 1 }
    /^\/proc\/[0-9]+\/fd:$/ { split($0, part, "/"); pid = part[3] + 0 }
    ($NF in wanted) && (!best || pid == preferred || (pid < best && best != preferred)) { best = pid }
    END { if (best) print best }'
}

# PORT PREFERRED PROCESSES: says who listens on a port, one of these processes or somebody else's.
port_owner() {
  port_pid='' port_foreign='' port_reason=''
  port_inodes=$(listening_inodes "$1")
  if [ -z "$port_inodes" ] && [ -z "$container_pid" ]; then
    port_reason="nothing listens on port $1"
    return 0
  fi
  port_folders=
  for port_candidate in $3; do
    port_folders="$port_folders /proc/$port_candidate/fd"
  done
  if [ -n "$port_folders" ]; then
    # shellcheck disable=SC2086 # a list of folders
    port_pid=$(socket_owner "$port_inodes" "$2" $port_folders)
  fi
  # A container may have a network of its own, whose port another program, or none, passes on.
  if [ -z "$port_pid" ] && [ -n "$container_pid" ] && [ -n "$port_folders" ]; then
    # shellcheck disable=SC2086 # a list of folders
    port_pid=$(socket_owner "$(listening_inodes '' "/proc/$container_pid/net")" "$container_pid" $port_folders)
  fi
  if [ -z "$port_pid" ] && [ -z "$port_inodes" ]; then
    port_reason="nothing listens on port $1"
    return 0
  fi
  if [ -z "$port_pid" ]; then
    port_foreign=$(socket_owner "$port_inodes" 0 /proc/[0-9]*/fd)
    if [ -n "$port_foreign" ]; then
      port_reason="port $1 belongs to process $port_foreign outside the unit"
    else
      port_reason="port $1 is open, but its process cannot be seen"
    fi
  fi
}

# Who asked can stop us by the first number; the second is the same for every script of a login.
section shell
echo "$$ $console_uid"
if [ -n "$console_lock_run" ]; then
  if ! lock_names_run "$console_lock_file" "$console_lock_run" || ! lock_is_held "$console_lock_file"; then
    fail 75 "the lock $console_lock_file is not held by run $console_lock_run any more"
  fi
fi
