#!/bin/sh
/opt/sglang/venv/bin/python3 -m sglang.launch_server --model-path /srv/models/m --context-length "32768" 2>&1 | tee /var/log/m.log
