"""Another tool and ours on one engine, through one path, in one run, with the engine's own truth for both.

    python -m bench.beside [--delay-ms 75 --swing-ms 30 --jitter-ms 0 --loss 0 --buffered] -- TOOL WORDS…

In the tool's words `{url}` becomes the address of the path's near end, `{port}` its port, `{model}` the served name,
`{tokenizer}` a folder with a tokenizer of plain words (the lab has none of its own, and nothing is downloaded),
`{book}` the address of a text. Ours measures before and after the tool, so that a machine that got slower shows.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path as Folder
from tempfile import TemporaryDirectory

import httpx

from bench.path_reader import RATE, bench_at, lab_engine, prompt_for
from bench.proxy import Path, Proxy
from console.lab.bare import BareEngine
from console.measure.decode import DecodeCell, Shape
from console.measure.prompts import text_of
from console.schema.cells import Cell

SEED = "beside"
BOOK_TOKENS = 20_000


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Another tool and ours on one engine, through one path.", epilog="After --: the tool and its words."
    )
    parser.add_argument("--delay-ms", type=float, default=0.0, help="one way")
    parser.add_argument("--swing-ms", type=float, default=0.0, help="normal, around the delay")
    parser.add_argument("--jitter-ms", type=float, default=0.0, help="lognormal, on top")
    parser.add_argument("--loss", type=float, default=0.0, help="share of packets")
    parser.add_argument("--buffered", action="store_true", help="answers come when they are complete")
    parser.add_argument("tool", nargs=argparse.REMAINDER)
    asked = parser.parse_args()
    words = asked.tool[1:] if asked.tool[:1] == ["--"] else asked.tool
    if not words:
        parser.error("say the tool and its words after --")
    path = Path(
        delay_s=asked.delay_ms / 1000,
        swing_s=asked.swing_ms / 1000,
        jitter_s=asked.jitter_ms / 1000,
        loss=asked.loss,
        buffered=asked.buffered,
    )
    # A tool's clock is the wall's, so the engine's time runs as fast.
    with lab_engine(speed=1.0) as engine, TemporaryDirectory() as folder:
        return asyncio.run(side_by_side(engine, path, words, Folder(folder)))


async def side_by_side(engine: BareEngine, path: Path, words: list[str], folder: Folder) -> int:
    make_tokenizer(folder / "tokenizer")
    books = serve(folder)
    print(f"the engine decodes {RATE:g} tok/s", flush=True)
    before = await ours(engine, path, "before")
    async with Proxy(engine.port, path, random.Random(SEED)) as proxy, httpx.AsyncClient(base_url=engine.url) as client:
        model = (await client.get("/v1/models")).json()["data"][0]["id"]
        named = {
            "url": f"http://127.0.0.1:{proxy.port}",
            "port": str(proxy.port),
            "model": model,
            "tokenizer": str(folder / "tokenizer"),
            "book": f"http://127.0.0.1:{books.server_port}/book.txt",
        }
        began = await counted(client)
        tool = await asyncio.create_subprocess_exec(*(filled(word, named) for word in words))
        code = await tool.wait()
        ended = await counted(client)
    after = await ours(engine, path, "after")
    books.shutdown()
    answers, tokens = (int(ended[name] - began[name]) for name in ("num_requests", "generation_tokens"))
    print(f"the tool ended with {code}: {answers} answers of the engine, {tokens} tokens in them")
    for told, cell in (("before it", before), ("after it", after)):
        print(f"ours, {told}: {line(cell)}")
    return code


async def ours(engine: BareEngine, path: Path, name: str) -> Cell:
    async with bench_at(engine.port, path, f"{SEED}-{name}", 1.0) as (bench, _):
        return await DecodeCell(bench, await prompt_for(bench), Shape(), "prose@1024", random.Random(SEED)).measure()


def line(cell: Cell) -> str:
    figures = [
        f"{one.method} {one.unusable}" if one.rate_tok_s is None else f"{one.method} {one.rate_tok_s:.1f} tok/s"
        for one in cell.estimates
    ]
    return f"{', '.join(figures) or cell.reason} ({cell.pairs} pairs)"


def filled(word: str, named: dict[str, str]) -> str:
    """The word with its names replaced; other braces stay, so that JSON may be said."""
    return re.sub(r"\{(url|port|model|tokenizer|book)\}", lambda found: named[found[1]], word)


async def counted(client: httpx.AsyncClient) -> dict[str, float]:
    """The engine's own counters, asked past the path."""
    text = (await client.get("/metrics")).text
    return {
        name: float(value) for name, value in re.findall(r"^sglang:(\w+?)_total\{[^}]*\} (\S+)$", text, re.MULTILINE)
    }


def make_tokenizer(folder: Folder) -> None:
    """One token a word or sign, in the form that the `tokenizers` library reads; and a book of such words beside it."""
    book = text_of("prose", BOOK_TOKENS)
    words = sorted({*re.findall(r"\w+|[^\w\s]", book), "user", "assistant"})
    vocabulary = {word: number for number, word in enumerate(["<unk>", *words])}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"}
    whole = {"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "model": model}
    folder.mkdir()
    (folder / "tokenizer.json").write_text(json.dumps(whole))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>", "model_max_length": 200_000})
    )
    (folder.parent / "book.txt").write_text(book)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


def serve(folder: Folder) -> ThreadingHTTPServer:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


if __name__ == "__main__":
    sys.exit(main())
