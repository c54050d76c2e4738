# shellcheck shell=sh
# look_clocks.sh
# How fast and how warm the GPUs are at this moment: cheap enough to ask in the middle of an answer.

section clocks
if command -v nvidia-smi >/dev/null 2>&1; then
  timeout 5 nvidia-smi --query-gpu=clocks.sm,temperature.gpu,power.draw --format=csv,noheader,nounits 2>/dev/null
fi
exit 0
