#!/bin/bash
exec /opt/vllm/bin/vllm serve /srv/models/m --max-model-len 8192
