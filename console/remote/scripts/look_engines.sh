# shellcheck shell=sh disable=SC2034,SC2154
# look_engines.sh
# What looks like an inference engine: units whose command names one, running or not, and the ports their processes own.
section units
# A pattern names what systemd has loaded; what it has not is told by its file.
engine_files=$(grep -lsE 'sglang|vllm|llama|ollama|text-generation|trtllm|docker|podman|compose' /etc/systemd/system/*.service /usr/local/lib/systemd/system/*.service /usr/lib/systemd/system/*.service /lib/systemd/system/*.service 2>/dev/null | sed 's!.*/!!' | grep -v '@\.service$' | sort -u)
# shellcheck disable=SC2086 # names of units
systemctl show --no-pager --property=Id,ActiveState,FragmentPath,ExecStart,MainPID,ControlGroup -- '*.service' $engine_files 2>/dev/null |
  awk 'BEGIN { RS = ""; ORS = "\n\n" } /sglang|vllm|llama-server|llama_cpp|llama\.cpp|ollama|text-generation-launcher|trtllm-serve|docker run|podman run|compose/ { print }'
section listening
set +f
for listening_pid in /proc/[0-9]*; do
  listening_pid=${listening_pid#/proc/}
  listening_words=$(tr '\000' ' ' <"/proc/$listening_pid/cmdline" 2>/dev/null | head -c 600)
  case $listening_words in
    *sglang* | *vllm* | *llama-server* | *llama_cpp* | *ollama* | *text-generation* | *trtllm-serve* | */simulator*)
      awk '$4 == "0A" { print substr($2, length($2) - 3) }' /proc/net/tcp /proc/net/tcp6 2>/dev/null | sort -u |
        while read -r listening_port; do
          listening_number=$(printf '%d' "0x$listening_port")
          if [ -n "$(socket_owner "$(listening_inodes "$listening_number")" 0 "/proc/$listening_pid/fd")" ]; then
            listening_group=$(sed -n 's/^[0-9]*:[^:]*:\(\/..*\)/\1/p' "/proc/$listening_pid/cgroup" | head -n 1)
            printf '%s\t%s\t%s\t%s\n' "$listening_pid" "$listening_number" "$listening_group" "$listening_words"
          fi
        done
      ;;
  esac
done
section containers
for tool in docker podman; do
  if command -v "$tool" >/dev/null 2>&1; then
    root "$tool" ps --format '{{.Names}}	{{.Image}}	{{.Ports}}' 2>/dev/null | grep -E 'sglang|vllm|llama|ollama|text-generation|tensorrt'
  fi
done
exit 0
