#!/bin/bash
cat <<TEXT
vllm serve x --max-model-len 1
TEXT
exec /opt/vllm/bin/vllm serve /srv/models/m --max-model-len 8192
