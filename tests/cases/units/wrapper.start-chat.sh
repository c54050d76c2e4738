#!/bin/bash
# --context-length 8192
exec python3 -m sglang.launch_server \
  --context-length 32768 \
  --port 30000
