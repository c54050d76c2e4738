# shellcheck shell=sh disable=SC2034,SC2154
# look_watch.sh UNIT PORT CURSOR [gpu [LOG_FILE [LOG_FROM]]]
# What moves while a service starts, cheap enough to ask for again and again.
# LOG_FILE: where the engine's output goes instead of the journal; LOG_FROM: how much of it was read.
# CURSOR: empty (this invocation's last lines), a journal cursor, or @SECONDS since the epoch.
unit=$1 port=$2 cursor=$3 gpu=${4:-} log_file=${5:-} log_begin=${6:-}

section unit
unit_show=$(systemctl show --no-pager --property=Id,LoadState,ActiveState,SubState,Result,NeedDaemonReload,MainPID,InvocationID,NRestarts,ExecMainCode,ExecMainStatus,ControlGroup,Job,ExecStart,WorkingDirectory -- "$unit" 2>&1)
printf 'status=%s\n%s\n' "$?" "$unit_show"
unit_property InvocationID && invocation=$property
unit_property MainPID && main_pid=$property
unit_property ControlGroup && control_group=$property
unit_property ActiveState && active=$property
unit_property SubState && active=$active/$property

unit_property WorkingDirectory && working_folder=${property#!}
unit_property ExecStart && find_container "$property" "$working_folder" "$port"

section host
first_line boot_id /proc/sys/kernel/random/boot_id
case $cursor in
  '' | @*) printf 'now=%s\n' "$(date +%s.%3N)" ;;
esac

section journal
case $active in
  # The manager knows of the failure before the journal holds the lines that say why.
  failed/* | */auto-*) root journalctl --sync >/dev/null 2>&1 ;;
esac
# By unit and not by invocation: in a crash loop the lines that say why belong to the invocation before.
case $cursor in
  '')
    if [ -n "$invocation" ]; then
      journal --all --output=json --output-fields=MESSAGE,_SYSTEMD_INVOCATION_ID,INVOCATION_ID,_PID --lines=400 "_SYSTEMD_INVOCATION_ID=$invocation" + "INVOCATION_ID=$invocation" 2>&1
    fi
    ;;
  @*) journal --all --output=json --output-fields=MESSAGE,_SYSTEMD_INVOCATION_ID,INVOCATION_ID,_PID "--since=$cursor" "_SYSTEMD_UNIT=$unit" + "UNIT=$unit" 2>&1 | head -n 2000 ;;
  *) journal --all --output=json --output-fields=MESSAGE,_SYSTEMD_INVOCATION_ID,INVOCATION_ID,_PID "--after-cursor=$cursor" "_SYSTEMD_UNIT=$unit" + "UNIT=$unit" 2>&1 | head -n 2000 ;;
esac

if [ -n "$log_file" ] && { [ "$log_file" != container: ] || [ -n "$container_pid" ]; }; then
  log_since "$log_file" "$log_begin"
fi

processes=$(service_processes "$control_group" "$main_pid")
port_owner "$port" "${main_pid:-0}" "$processes"
section process
printf 'pid=%s\nforeign=%s\nreason=%s\n' "$port_pid" "$port_foreign" "$port_reason"

section read
counters='' read_bytes=''
for pid in $processes; do
  if [ "$console_uid" != 0 ]; then
    counters="$counters /proc/$pid/io"
    continue
  fi
  while read -r key value; do
    if [ "$key" = read_bytes: ]; then
      read_bytes=$((${read_bytes:-0} + value))
    fi
  done 2>/dev/null <"/proc/$pid/io"
done
if [ -n "$read_bytes" ]; then
  echo "$read_bytes"
elif [ -n "$counters" ]; then
  # shellcheck disable=SC2086 # a list of files
  root cat $counters 2>/dev/null | awk '/^read_bytes:/ { sum += $2; seen = 1 } END { if (seen) printf "%.0f\n", sum }'
fi

section gpu
if [ "$gpu" = gpu ] && command -v nvidia-smi >/dev/null 2>&1; then
  timeout 5 nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits 2>/dev/null
fi
exit 0
