#!/bin/bash
if [ "$1" = big ]; then
  exec /opt/sglang/venv/bin/python3 -m sglang.launch_server --model-path /srv/models/m --context-length 200000
else
  exec /opt/sglang/venv/bin/python3 -m sglang.launch_server --model-path /srv/models/m --context-length 32768
fi
