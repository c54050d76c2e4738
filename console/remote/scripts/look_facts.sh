# shellcheck shell=sh disable=SC2034,SC2154
# look_facts.sh UNIT PORT STATE_FOLDER RUNTIME_FOLDER WHAT [FLAG...]
# Everything a plan needs of one unit. WHAT = again: only what may have changed since, the unit, its files and process;
# again:INVOCATION:MAIN_PID: without the process where that is still the main one of that start, which then is said;
# glance: unit, files, process, GPUs, lock and guard, cheap enough to ask for every ten seconds.
# FLAGs are options of the engine whose values are paths. PORT 0: the engine serves from another host, its process here is
# told by its words.
unit=$1 port=$2 state_folder=$3 runtime_folder=$4 what=$5
shift 5
path_flags=" $* "
set -f
known=
case $what in
  again:*) known=${what#again:} what=again ;;
esac

# What sudo said where it let us: whether somebody is asked for more than a password at each call.
asks_for_more() {
  printf %s "$1" | grep -qiE 'code|token|push|factor|duo|otp|yubi|tou[c]h|approv'
}

section host
first_line boot_id /proc/sys/kernel/random/boot_id
if [ "$what" != again ]; then
  first_line hostname /proc/sys/kernel/hostname
  first_line kernel /proc/sys/kernel/osrelease
  while IFS='=' read -r name value; do
    if [ "$name" = PRETTY_NAME ]; then
      value=${value#[\"\']}
      printf 'os=%s\n' "${value%[\"\']}"
    fi
  done 2>/dev/null </etc/os-release
  systemd_said=$(systemctl --version 2>/dev/null)
  printf 'systemd=%s\n' "${systemd_said%%
*}"
fi
printf 'now=%s\n' "$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)"
first_line uptime /proc/uptime
[ "$what" = again ] || printf 'login=%s\n' "$(id -un)"
printf 'uid=%s\n' "$console_uid"
if [ "$console_uid" = 0 ]; then
  echo 'sudo=root'
elif [ "$console_sudo" = never ]; then
  echo 'sudo=refused'
elif ! command -v sudo >/dev/null 2>&1; then
  echo 'sudo=absent'
elif sudo_said=$(sudo -n -k -- true 2>&1); then # -k: a ticket that somebody left may end before a rollback
  # Who may run a shell may run all that is needed; else each command is asked for.
  if asks_for_more "$sudo_said"; then
    echo 'sudo=each_call'
    printf 'sudo_said=%s\n' "$(printf %s "$sudo_said" | tr '\n' ' ')"
  elif sudo -n -l -- sh >/dev/null 2>&1; then
    echo 'sudo=passwordless'
  else
    echo 'sudo=limited'
  fi
elif [ -n "$console_password" ] && sudo_said=$(root true 2>&1); then
  if [ -n "$(root true 2>/dev/null)" ]; then
    echo 'sudo=talks'
  elif asks_for_more "$sudo_said"; then
    echo 'sudo=each_call'
  elif sudo_said=$(root true 2>&1); then
    echo 'sudo=asked'
  else
    echo 'sudo=one_time'
  fi
  printf 'sudo_said=%s\n' "$(printf %s "$sudo_said" | tr '\n' ' ')"
else
  case $sudo_said in
    *'must have a tty'*) echo 'sudo=tty' ;;
    *password*) echo 'sudo=password' ;;
    *) echo 'sudo=refused' ;;
  esac
  printf 'sudo_said=%s\n' "$(printf %s "$sudo_said" | tr '\n' ' ')"
fi
printf 'simulated=%s\n' "${CONSOLE_LAB_SIMULATED:-}"

section unit
unit_show=$(systemctl show --no-pager --property=Id,LoadState,LoadError,ActiveState,SubState,Result,Type,UnitFileState,FragmentPath,SourcePath,DropInPaths,EnvironmentFiles,NeedDaemonReload,MainPID,InvocationID,NRestarts,ExecStart,ExecMainCode,ExecMainStatus,ExecMainStartTimestampMonotonic,Restart,RestartUSec,TimeoutStartUSec,User,WorkingDirectory,ControlGroup,Job,RequiredBy,BoundBy,ConsistsOf,StandardOutput -- "$unit" 2>&1)
printf 'status=%s\n%s\n' "$?" "$unit_show"
unit_property FragmentPath && fragment=$property
unit_property InvocationID && invocation=$property
unit_property MainPID && main_pid=$property
unit_property ControlGroup && control_group=$property
unit_property WorkingDirectory && working_folder=${property#!}
# One command a line, without a process of its own.
loaded_argv='' rest="
$unit_show"
while :; do
  case $rest in
    *"
ExecStart="*) ;;
    *) break ;;
  esac
  rest=${rest#*"
ExecStart="}
  line=${rest%%"
"*}
  case $line in
    *'argv[]='*' ; ignore_errors='*)
      line=${line#*'argv[]='}
      loaded_argv="$loaded_argv${line% ; ignore_errors=*}
"
      ;;
  esac
done

if [ -n "$fragment" ]; then
  describe_file fragment "$fragment"
fi
unit_property SourcePath
for path in $property; do
  describe_file source "$path"
done
unit_property DropInPaths
drop_ins=" $property "
for path in $drop_ins; do
  describe_file dropin "$path"
done
# A drop-in that systemd has not read yet goes live with the next reload, whoever asks for it.
for folder in /etc/systemd/system /run/systemd/system /usr/local/lib/systemd/system /usr/lib/systemd/system "${fragment%/*}"; do
  set +f
  for path in "$folder/$unit.d/"*.conf; do
    case $drop_ins in
      *" $path "*) ;;
      *)
        if [ -e "$path" ]; then
          drop_ins="$drop_ins$path "
          describe_file dropin "$path"
        fi
        ;;
    esac
  done
  set -f
done
section drop_in_folder
if [ -d "/etc/systemd/system/$unit.d" ]; then
  drop_in_folder=$(readlink -e -- "/etc/systemd/system/$unit.d")
  printf '%s\n' "$drop_in_folder"
  # Folders of other units that are links to this one, or the one that this is a link to: what is made there is theirs, too.
  section drop_in_sharers
  set +f
  for path in /etc/systemd/system/*.d /run/systemd/system/*.d /usr/local/lib/systemd/system/*.d /usr/lib/systemd/system/*.d; do
    case ${path##*/} in
      "$unit.d" | '*.d') continue ;;
    esac
    if [ "$path" = "$drop_in_folder" ] || { [ -L "$path" ] && [ "$(readlink -e -- "$path")" = "$drop_in_folder" ]; }; then
      path=${path##*/}
      printf '%s\n' "${path%.d}"
    fi
  done
  set -f
fi
# "PATH (ignore_errors=yes)", one a line; PATH may hold wildcards
unit_property EnvironmentFiles
[ -z "$property" ] || while IFS= read -r line; do
  path=${line% (ignore_errors=*}
  case $path in
    '') continue ;;
    *[*?[]*)
      set +f
      for match in $path; do
        describe_file environment "$match"
      done
      set -f
      ;;
    *)
      describe_file environment "$path"
      ;;
  esac
done <<LIST
$(unit_properties EnvironmentFiles)
LIST
# A wrapper is the command itself where that is a script, or a shell script among its words; some options name a file
# with more options in it.
described=' '
describe_once() {
  case $described in
    *" $2 "*) return 0 ;;
  esac
  described="$described$2 "
  if [ "$(stat -L -c %s -- "$2" 2>/dev/null || echo 0)" -le 262144 ]; then
    describe_file "$1" "$2"
  fi
}
in_folder() {
  case $1 in
    /*) placed=$1 ;;
    *) placed=$working_folder/$1 ;;
  esac
}
while IFS= read -r line; do
  # shellcheck disable=SC2086 # words, as systemd shows them
  set -- $line
  is_first=yes
  flag=
  composes=
  for word in "$@"; do
    case $word in
      compose | docker-compose | podman-compose | */docker-compose | */podman-compose) composes=yes ;;
      --config=* | --config-file=* | --models-preset=* | --file=*) in_folder "${word#*=}" && describe_once options "$placed" ;;
    esac
    case $flag in
      --config | --config-file | --models-preset | --preset) in_folder "$word" && describe_once options "$placed" ;;
      -f | --file)
        if [ -n "$composes" ]; then
          in_folder "$word"
          describe_once options "$placed"
          composes=named
        fi
        ;;
    esac
    case $word in
      /* | *.sh)
        in_folder "$word"
        if [ -f "$placed" ]; then
          # Shells leave NULs out, some of them with a warning.
          { shebang=$(head -c 64 -- "$placed"); } 2>/dev/null
          shebang=${shebang%%
*}
          case $is_first$shebang in
            'yes#!'* | '#!'*sh | '#!'*sh' '*) describe_once wrapper "$placed" ;;
          esac
        fi
        ;;
    esac
    is_first=
    flag=$word
  done
  if [ "$composes" = yes ]; then
    for name in compose.yaml compose.yml docker-compose.yml docker-compose.yaml; do
      if [ -e "$working_folder/$name" ]; then
        describe_once options "$working_folder/$name"
        for more in "$working_folder/${name%.*}.override.yaml" "$working_folder/${name%.*}.override.yml"; do
          [ ! -e "$more" ] || describe_once options "$more"
        done
        break
      fi
    done
  fi
done <<LIST
$loaded_argv
LIST

if [ -n "$known" ] && [ "$known" = "$invocation:$main_pid" ]; then
  section as_before
  exit 0
fi

section room
# Where a folder does not exist yet, its nearest parent tells the room.
nearest() {
  near=$1
  while [ -n "$near" ] && [ ! -d "$near" ]; do
    near=${near%/*}
  done
  near=${near:-/}
}
nearest "${fragment%/*}"
folder=$near
nearest "$state_folder"
# shellcheck disable=SC2046 # two numbers of each
set -- $(stat -f -c '%a %S' -- "$folder" "$near" 2>/dev/null)
[ $# = 4 ] || set -- # of one alone it could not be told whose they are
printf '%s\n' "$((${1:-0} * ${2:-0}))" "$((${3:-0} * ${4:-0}))"

set +f
find_container "$loaded_argv" "$working_folder" "$port"
if [ "$port" = 0 ]; then
  port_pid='' port_foreign='' port_reason='no process with --nnodes among its words'
  # Of a container the processes in it: the client beside it has the same words and more.
  rank_processes="${main_pid:-0} $(unit_processes "$control_group" "$main_pid")"
  if [ -n "$container_pid" ]; then
    rank_processes=$(unit_processes "$(sed -n 's/^0:://p' "/proc/$container_pid/cgroup" 2>/dev/null)" "$container_pid")
  fi
  for rank_process in $rank_processes; do
    if [ -z "$port_pid" ] && tr '\000' '\n' 2>/dev/null <"/proc/$rank_process/cmdline" | grep -qE -- '^(--nnodes(=.*)?|-n|--headless)$'; then
      port_pid=$rank_process port_reason=
    fi
  done
else
  port_owner "$port" "${main_pid:-0}" "$(service_processes "$control_group" "$main_pid")"
fi
set -f
section process
printf 'pid=%s\nforeign=%s\nreason=%s\n' "$port_pid" "$port_foreign" "$port_reason"
if [ -n "$port_pid" ]; then
  first_line stat "/proc/$port_pid/stat"
  section cmdline
  base64 -w 0 <"/proc/$port_pid/cmdline"
  section environ
  encode_file "/proc/$port_pid/environ" 2>/dev/null
fi

log_file=
if [ "$what" != glance ]; then
  if [ -n "$container_apart" ] && [ -n "$container_pid" ]; then
    log_file=container:
  elif [ "${port_pid:-${main_pid:-0}}" != 0 ]; then
    log_file=$(process_log "${port_pid:-$main_pid}")
  fi
fi
if [ -n "$log_file" ]; then
  section log_file
  printf '%s\n' "$log_file"
  if [ "$what" = again ]; then
    section log_at
    log_position "$log_file"
  else
    log_since "$log_file" ''
  fi
fi

if [ "$what" = again ]; then
  exit 0
fi

section gpu
if command -v nvidia-smi >/dev/null 2>&1; then
  gpu_said=$(timeout 15 nvidia-smi --query-gpu=index,name,memory.total,memory.used,driver_version,uuid,clocks.sm --format=csv,noheader,nounits 2>&1)
  printf 'status=%s\n%s\n' "$?" "$gpu_said"
else
  echo 'status=127'
fi
section driver
[ ! -e /proc/driver/nvidia/version ] || cat /proc/driver/nvidia/version 2>/dev/null

section lock
describe_lock "$runtime_folder/$unit.lock"
section guard
set +f
for guard_timer in /etc/systemd/system/timers.target.wants/console-guard-"${unit%.service}"-??????????????????????????.timer; do
  if [ -e "$guard_timer" ]; then
    guard_timer=${guard_timer##*/}
    printf 'name=%s\n' "${guard_timer%.timer}"
    systemctl show --no-pager --property=ActiveState,NextElapseUSecMonotonic -- "$guard_timer"
  fi
done
set -f
if [ "$what" = glance ]; then
  section gpu_load
  if command -v nvidia-smi >/dev/null 2>&1; then
    timeout 5 nvidia-smi --query-gpu=utilization.gpu --format=csv,noheader,nounits 2>/dev/null
  fi
  exit 0
fi

unit_property LoadState
if [ "$property" = not-found ]; then
  # The service manager of whoever logs in here, or of anybody whose manager runs, may have it.
  section user_units
  user_seen=' '
  for user_id in "$console_uid" $(ls /run/user 2>/dev/null); do
    case $user_seen in
      *" $user_id "*) continue ;;
    esac
    user_seen="$user_seen$user_id "
    user_home=$(getent passwd "$user_id")
    user_name=${user_home%%:*}
    user_home=${user_home%:*}
    user_home=${user_home##*:}
    for folder in "$user_home/.config/systemd/user" "$user_home/.local/share/systemd/user" "/run/user/$user_id/systemd/user" "/run/user/$user_id/systemd/generator" "/run/user/$user_id/systemd/transient" /etc/systemd/user /usr/local/lib/systemd/user /usr/lib/systemd/user; do
      if [ -e "$folder/$unit" ] || root test -e "$folder/$unit" 2>/dev/null; then
        user_runs=no user_lingers=no
        for user_slice in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
          if [ -n "$(find "$user_slice/user.slice/user-$user_id.slice" -type d -name "$unit" 2>/dev/null)" ]; then
            user_runs=yes
          fi
        done
        [ ! -e "/var/lib/systemd/linger/$user_name" ] || user_lingers=yes
        printf '%s\t%s\t%s\t%s\t%s\n' "$user_id" "$user_name" "$user_runs" "$user_lingers" "$folder/$unit"
        break
      fi
    done
  done
fi

# What the engine is made of: whether "nothing changed" can be told of it later.
section software
if [ -e /var/lib/dpkg/status ]; then
  printf 'system_packages_at=%s\n' "$(stat -c %Y /var/lib/dpkg/status)"
elif [ -e /var/lib/rpm ]; then
  printf 'system_packages_at=%s\n' "$(stat -c %Y /var/lib/rpm)"
fi
if [ -n "$port_pid" ]; then
  program=$(tr '\000' '\n' <"/proc/$port_pid/cmdline")
  program=${program%%
*}
  set +f
  for folder in "${program%/bin/*}"/lib/python3*/site-packages; do
    for path in "$folder"/torch-*.dist-info "$folder"/sglang*.dist-info "$folder"/sgl_kernel*.dist-info "$folder"/vllm-*.dist-info "$folder"/flash*.dist-info "$folder"/triton-*.dist-info "$folder"/transformers-*.dist-info "$folder"/xgrammar-*.dist-info "$folder"/nvidia_nccl*.dist-info; do
      if [ -e "$path" ]; then
        path=${path##*/}
        printf 'package=%s\n' "${path%.dist-info}"
      fi
    done
  done
  set -f
  for tool in docker podman; do
    if command -v "$tool" >/dev/null 2>&1; then
      container=$(sed -n '/.*[/-]\([0-9a-f]\{64\}\).*/ { s//\1/p; q; }' "/proc/$port_pid/cgroup" 2>/dev/null)
      [ -z "$container" ] || printf 'image=%s\n' "$(root "$tool" inspect --format '{{.Image}}' "$container" 2>/dev/null)"
    fi
  done
fi

section paths
looked=' '
look_at() {
  case $looked in
    *" $2 "*) return 0 ;;
  esac
  looked="$looked$2 "
  if [ -e "$2" ] || root test -e "$2" 2>/dev/null; then
    printf 'yes\t%s\t%s\n' "$1" "$2"
  else
    printf 'no\t%s\t%s\n' "$1" "$2"
  fi
}
while IFS= read -r line; do
  # shellcheck disable=SC2086 # words, as systemd shows them
  set -- $line
  if [ $# -gt 0 ]; then
    look_at binary "$1"
    shift
  fi
  flag=
  for word in "$@"; do
    case $word in
      -*=/*)
        case $path_flags in
          *" ${word%%=*} "*) look_at model "${word#*=}" ;;
        esac
        ;;
      /*)
        case $path_flags in
          *" ${flag:-/} "*) look_at model "$word" ;;
        esac
        ;;
    esac
    flag=$word
  done
done <<LIST
$loaded_argv
LIST
case $working_folder in
  /*) look_at folder "$working_folder" ;;
esac

section xid
# Only its driver writes such lines; the kernel's log is not small.
if [ -e /proc/driver/nvidia ] || command -v nvidia-smi >/dev/null 2>&1; then
  journal --dmesg --boot --output=cat --lines=20 '--grep=NVRM: Xid' 2>&1
fi

if [ -n "$invocation" ]; then
  # The first lines tell how long it loaded, the last ones how it runs; of a short journal they are the same.
  section journal_head
  if journal --all --output=json --output-fields=MESSAGE,_SYSTEMD_INVOCATION_ID,INVOCATION_ID,_PID "_SYSTEMD_INVOCATION_ID=$invocation" + "INVOCATION_ID=$invocation" 2>/dev/null |
    awk 'NR == 601 { exit } { print; printed = NR } END { exit printed < 400 }'; then
    section journal_tail
    journal --all --output=json --output-fields=MESSAGE,_SYSTEMD_INVOCATION_ID,INVOCATION_ID,_PID --lines=400 "_SYSTEMD_INVOCATION_ID=$invocation" + "INVOCATION_ID=$invocation" 2>/dev/null
  fi
fi

section ledger
describe_ledger "$state_folder/$unit"
exit 0
