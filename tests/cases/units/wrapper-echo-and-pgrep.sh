#!/bin/bash
pgrep -f "llama-server.*8080" && exit 0
echo "llama-server -c 4096"
SERVER=/opt/llama/bin/llama-server
exec "$SERVER" -m /srv/m.gguf -c 8192
