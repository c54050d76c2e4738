# shellcheck shell=sh disable=SC2034,SC2154
# look_requests.sh UNIT SINCE_SECONDS LOG_FILE
# What an engine's request log tells of lengths and times, one line a request that ended: when, seconds it took, prompt,
# answer and cached tokens, id. Nothing else of a request leaves the host, whatever level it is logged at.
# LOG_FILE: where the unit's output goes instead of the journal, or empty.
unit=$1 since=$2 log_file=$3

begin=$(($(date +%s) - since))
section requests
if [ -n "$log_file" ]; then
  if [ -r "$log_file" ]; then
    tail -c 268435456 -- "$log_file" 2>/dev/null
  else
    root tail -c 268435456 -- "$log_file" 2>/dev/null
  fi
else
  journal --all --output=cat "--since=@$begin" "_SYSTEMD_UNIT=$unit" 2>/dev/null
fi | grep -aF '"request.finished"' | awk '
  # A name inside a text of the log has a backslash before its closing quote, so it is none of these.
  function value(name, pattern,    found) {
    if (!match($0, "\"" name "\": ?" pattern)) return ""
    found = substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3)
    gsub(/[ "]/, "", found)
    return found
  }
  {
    number = "-?[0-9][0-9.e+-]*"
    print value("timestamp", "\"[0-9T:.+Z-]+\"") "," value("e2e_latency", number) "," value("prompt_tokens", number) "," \
      value("completion_tokens", number) "," value("cached_tokens", number) "," value("rid", "\"[A-Za-z0-9_-]+\"")
  }' | tail -n 50000
exit 0
