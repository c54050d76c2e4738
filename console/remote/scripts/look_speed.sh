# shellcheck shell=sh disable=SC2034,SC2154
# look_speed.sh UNIT SINCE_SECONDS LOG_FILE
# What explains a rate, without asking the engine for anything: how its GPUs are, who uses them, what it logged.
# LOG_FILE: where the unit's output goes instead of the journal, or empty.
unit=$1 since=$2 log_file=$3

unit_show=$(systemctl show --no-pager --property=Id,LoadState,ActiveState,SubState,Result,NeedDaemonReload,MainPID,InvocationID,NRestarts,ExecMainCode,ExecMainStatus,ControlGroup,Job -- "$unit" 2>&1)

section unit_processes
unit_property ControlGroup && control_group=$property
unit_property MainPID
unit_processes "$control_group" "$property"

if command -v nvidia-smi >/dev/null 2>&1; then
  section gpu_state
  gpu_said=$(timeout 15 nvidia-smi --query-gpu=index,pci.bus_id,pstate,utilization.gpu,temperature.gpu,power.draw,power.limit,clocks.sm,clocks.max.sm,clocks.mem,clocks.max.mem,pcie.link.gen.current,pcie.link.gen.max,pcie.link.width.current,pcie.link.width.max,clocks_throttle_reasons.active,ecc.errors.uncorrected.volatile.total --format=csv,noheader,nounits 2>&1)
  printf 'status=%s\n%s\n' "$?" "$gpu_said"
  section gpu_processes
  gpu_said=$(timeout 15 nvidia-smi --query-compute-apps=gpu_bus_id,pid,process_name,used_memory --format=csv,noheader,nounits 2>&1)
  printf 'status=%s\n%s\n' "$?" "$gpu_said"
else
  section gpu_state
  echo 'status=127'
fi

# Only lines that tell of batches, starts and timings leave the host: requests and their texts stay where they are.
telling='Decode batch|Prefill batch|server_args=|Avg generation throughput|SpecDecoding metrics|eval time =|draft acceptance|Retract requests|print_timing'
begin=$(($(date +%s) - since))
section log_from
echo "$begin"
section log
if [ -n "$log_file" ]; then
  if [ -r "$log_file" ]; then
    tail -c 8388608 -- "$log_file" 2>&1
  else
    root tail -c 8388608 -- "$log_file" 2>&1
  fi | tr '\r' '\n' | grep -aE "$telling" | awk '{ print substr($0, 1, 600) }' | tail -n 20000
else
  journal --all --output=json --output-fields=MESSAGE,_SYSTEMD_INVOCATION_ID,INVOCATION_ID,_PID "--since=@$begin" "_SYSTEMD_UNIT=$unit" + "UNIT=$unit" 2>&1 |
    grep -aE "$telling|^[^{]|\"MESSAGE\" ?: ?\[" | tail -n 20000
fi
exit 0
