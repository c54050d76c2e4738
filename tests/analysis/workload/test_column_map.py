"""Each shipped map reads a line as its source writes it; a map of one's own needs no code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from console.analysis.workload.column_map import read_map, shipped
from console.errors import InvalidFileError
from tests.analysis.workload.made_up import profiled, write

SPAN = {
    "gen_ai.usage.input_tokens": 70,
    "gen_ai.usage.output_tokens": 6,
    "gen_ai.usage.cache_read.input_tokens": 35,
    "gen_ai.conversation.id": "c1",
}
OTLP = [{"key": key, "value": {"intValue": str(value)}} for key, value in SPAN.items()]
LITELLM = "request_id,startTime,endTime,prompt_tokens,completion_tokens,session_id"
EXAMPLES = {
    "azure": ["TIMESTAMP,ContextTokens,GeneratedTokens\r", "2023-11-16 18:15:46.6805900,70,6\r"],
    "bailian": [
        (
            '{"chat_id": 1, "parent_chat_id": -1, "timestamp": 1.5, "input_length": 70, "output_length": 6, '
            '"type": "text", "turn": 1, "hash_ids": [3, 4, 5, 6, 7]}'
        )
    ],
    "burstgpt": [
        "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type",
        "5,s,1.5,m,70,6,76,API log",
    ],
    "frozen": ['{"t_us": 0, "in": 70, "out": 6, "s": 1, "p": [1]}'],
    "litellm": [LITELLM, "r1,2024-05-01T10:00:00Z,2024-05-01T10:00:02.5+00:00,70,6,s"],
    "litellm-jsonl": [
        json.dumps(
            dict(
                zip(
                    LITELLM.split(","),
                    ["r1", "2024-05-01 10:00:00+00", "2024-05-01 10:00:02+00", 70, 6, "s"],
                    strict=True,
                )
            )
        )
    ],
    "mooncake": ['{"timestamp": 0, "input_length": 70, "output_length": 6, "hash_ids": [0]}'],
    "otel-genai": [
        json.dumps(
            {
                "name": "chat",
                "start_time": "2024-05-01T10:00:00Z",
                "end_time": "2024-05-01T10:00:03Z",
                "attributes": SPAN,
            }
        )
    ],
    "otlp-genai": [
        json.dumps(
            {
                "resourceSpans": [
                    {
                        "scopeSpans": [
                            {
                                "spans": [
                                    {
                                        "spanId": "ab",
                                        "startTimeUnixNano": "1700000000000000000",
                                        "endTimeUnixNano": "1700000001000000000",
                                        "attributes": OTLP,
                                    }
                                ]
                            }
                        ]
                    }
                ]
            }
        )
    ],
    "sglang": [
        "[2024-05-01 10:00:00] INFO: something else",
        '{"timestamp": "2024-05-01T10:00:00.25", "event": "request.received", "rid": "q", "obj": {}}',
        (
            '{"timestamp": "2024-05-01T10:00:02.25", "event": "request.finished", "rid": "q", "obj": {}, '
            '"out": {"meta_info": {"prompt_tokens": 70, "completion_tokens": 6, "cached_tokens": 35, '
            '"e2e_latency": 2.0}}}'
        ),
    ],
}


@pytest.mark.parametrize("kind", [one.name for one in shipped()])
def test_a_line_of_each_kind_is_recognised_and_read(kind: str, tmp_path: Path) -> None:
    found = profiled(write(tmp_path / "trace", EXAMPLES[kind]))
    assert (found.kind, found.requests, found.bad) == (kind, 1, ())
    assert (found.input_tokens.p50, found.output_tokens.p50) == (70, 6)
    if kind in ("sglang", "otel-genai", "otlp-genai"):
        assert found.cached_share == 0.5
    if kind == "sglang":
        assert found.latency_s is not None
        assert found.latency_s.most == pytest.approx(2.0, rel=0.001)
        assert found.other_lines == 2


def test_a_map_of_ones_own(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        'schema = 1\nfile = "csv"\ntime = "ms"\nseparator = ";"\n[columns]\nat = "t"\ninput = "i"\noutput = "o"\n'
    )
    found = profiled(write(tmp_path / "x.csv", ["i;o;t", "70;6;1000", "80;7;2500"]), str(own))
    assert (found.requests, found.span_s) == (
        2,
        1.5,
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "schema = 1"),
        ('schema = 1\nfile = "csv"\n[columns]\nat = "t"\ninput = "i"\n', "needs text for at, input and output"),
        ('schema = 1\nfille = "csv"\n', "unknown key fille"),
        ('schema = 1\nfile = "csv"\n[columns]\nat = "t"\ninput = "i"\noutput = "o"\nblocks = "b"\n', "block_tokens"),
    ],
)
def test_a_wrong_map_says_what_is_wrong(text: str, said: str) -> None:
    with pytest.raises(InvalidFileError, match=said):
        read_map(text, "own.toml")
