"""Why a start of SGLang failed: the lines that say so, and how near to the root each is.

One cause leaves many lines: a torch error in one rank, then collectives that break in the others, then "Received
sigquit", then systemd's "Main process exited". `certainty` ranks them. 90 and more: the engine or the host names the
cause itself; 80: memory, ports, files; 70: an error that can be a consequence of another; 50: the last line of any
traceback; 10 and less: only that something died.
"""

from __future__ import annotations

import re

from console.engines.logtable import Row
from console.engines.python_failures import COMMON

FAILURES: tuple[Row, ...] = (
    Row(
        "failure",
        re.compile(
            r"^ValueError: (?:Warning: )?Target model's context_length \((?P<asked>\d+)\) is greater than the derived "
            r"context_length \((?P<limit>\d+)\)"
        ),
        "0.5.5; SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN makes it a warning without `ValueError:`",
        "ValueError: Warning: Target model's context_length (200000) is greater than the derived context_length "
        "(131072). This may lead to incorrect model outputs or CUDA errors.",
        cause="context-longer-than-draft",
        certainty=92,
    ),
    Row(
        "failure",
        re.compile(
            r"^ValueError: (?:Warning: )?User-specified context_length \((?P<asked>\d+)\) is greater than the derived "
            r"context_length \((?P<limit>\d+)\)"
        ),
        "0.4.6",
        "ValueError: Warning: User-specified context_length (400000) is greater than the derived context_length "
        "(262144). This may lead to incorrect model outputs or CUDA errors.",
        cause="context-longer-than-model",
        certainty=92,
    ),
    Row(
        "failure",
        re.compile(r"^(?:Exception|RuntimeError): Capture .*graph failed: .*out of memory"),
        "0.4.6",
        "Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 1.53 GiB.",
        cause="out-of-memory-at-graphs",
        certainty=88,
    ),
    Row(
        "failure",
        re.compile(r"^(?:Exception|RuntimeError): Capture .*graph failed: (?P<message>.*)"),
        "0.4.6",
        "Exception: Capture cuda graph failed: unsupported head dimension",
        cause="graph-capture-failed",
        certainty=78,
    ),
    Row(
        "failure",
        re.compile(r"Not enough memory\. Please try to increase --mem-fraction-static\b"),
        "0.4.6; raising the fraction or lowering the context helps, other memory errors want a smaller fraction",
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. "
        "Current value: mem_fraction_static=0.7",
        cause="no-memory-for-pool",
        certainty=88,
    ),
    Row(
        "failure",
        re.compile(r"^(?:ValueError|RuntimeError): The memory capacity is unbalanced\b"),
        "0.4.6",
        "ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes.",
        cause="gpu-memory-held",
        certainty=86,
    ),
    Row(
        "failure",
        re.compile(r"^(?:\w+: )?Rank (?P<rank>\d+) scheduler died during initialization \(exit code: -9\)"),
        "0.5.10",
        "RuntimeError: Rank 2 scheduler died during initialization (exit code: -9). If exit code is -9 (SIGKILL), a "
        "common cause is the OS OOM killer.",
        cause="host-out-of-memory",
        certainty=60,
    ),
    Row(
        "failure",
        re.compile(r"^(?:RuntimeError: )?(?P<phase>Prefill|Decode) out of memory\. Try to lower your batch size\."),
        "0.4.6",
        "RuntimeError: Prefill out of memory. Try to lower your batch size.",
        cause="pool-exhausted",
        certainty=80,
    ),
    Row(
        "failure",
        re.compile(r"\b[Ww]atchdog timeout \((?:self\.)?watchdog_timeout=(?P<seconds>[\d.]+)"),
        "0.4.6",
        "Watchdog timeout (self.watchdog_timeout=300)",
        cause="hang",
        certainty=66,
    ),
    Row(
        "failure",
        re.compile(r"^Health check failed\. Server couldn't get a response from .* for last (?P<seconds>\d+) seconds"),
        "0.4.6",
        "Health check failed. Server couldn't get a response from detokenizer for last 20 seconds. tic start: 10:00.",
        cause="hang",
        certainty=40,
    ),
    Row(
        "failure",
        re.compile(r"^Initialization failed\. warmup error: (?P<message>.*)"),
        "0.4.6",
        "Initialization failed. warmup error: Traceback (most recent call last):",
        cause="warmup-failed",
        certainty=30,
    ),
    Row(
        "failure",
        re.compile(
            r"^(?:\w+: )?(?:Scheduler hit an exception|Received sigquit from a child process|SIGQUIT received"
            r"|Subprocess \S+ \(pid=\d+\) crashed|Initialization failed\. Please see"
            r"|Rank \d+ scheduler died during initialization)"
        ),
        "0.4.6",
        "Received sigquit from a child process. It usually means the child failed.",
        cause="child-died",
        certainty=10,
    ),
    *COMMON,
)
