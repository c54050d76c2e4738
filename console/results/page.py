"""A report as one HTML file that needs nothing beside it: our own Markdown, with its charts put in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }
th, td { border: 1px solid #8884; padding: .25rem .6rem; text-align: left; vertical-align: top; }
pre { background: #8881; padding: .8rem; overflow-x: auto; }
code { background: #8881; padding: 0 .2rem; }
svg { max-width: 100%; height: auto; }
"""
_IMAGE = re.compile(r"!\[([^\]]*)\]\(([A-Za-z0-9_.-]+\.svg)\)")
_FENCE = re.compile(r"(`{3,})(\w*)")
_CODE = re.compile(r"(`+) ?(.+?) ?\1(?!`)")
_BOLD = re.compile(r"\*\*(.+?)\*\*")
_ESCAPED = re.compile(r"\\([\\`<>\[\]*|])")
_DIVIDER = re.compile(r"\|(?:---\|)+")


def html(report: str, charts: Mapping[str, str]) -> str:
    """`report` is a report.md of ours, `charts` its SVG files by name."""
    title = next((line[2:] for line in report.splitlines() if line.startswith("# ")), "report")
    body = "\n".join(_blocks(report.splitlines(), charts))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{escape(_plain(title))}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _blocks(lines: list[str], charts: Mapping[str, str]) -> Iterator[str]:
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        if fence := _FENCE.match(line):
            end = next((at for at in range(index, len(lines)) if lines[at] == fence[1]), len(lines))
            yield f"<pre>{escape(chr(10).join(lines[index:end]))}</pre>"
            index = end + 1
        elif image := _IMAGE.fullmatch(line):
            yield charts.get(image[2], f"<p>{escape(image[1])}</p>")
        elif line.startswith("#"):
            level = len(line) - len(line.lstrip("#"))
            yield f"<h{level}>{_inline(line[level:].strip())}</h{level}>"
        elif line.startswith("|"):
            end = next((at for at in range(index, len(lines)) if not lines[at].startswith("|")), len(lines))
            yield from _table([line, *lines[index:end]])
            index = end
        elif line.startswith("- "):
            end = next((at for at in range(index, len(lines)) if not lines[at].startswith("- ")), len(lines))
            items = "".join(f"<li>{_inline(item[2:])}</li>" for item in [line, *lines[index:end]])
            yield f"<ul>{items}</ul>"
            index = end
        elif line.strip():
            yield f"<p>{_inline(line)}</p>"


def _table(lines: list[str]) -> Iterator[str]:
    yield "<table>"
    for number, line in enumerate(lines):
        if _DIVIDER.fullmatch(line):
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]
        tag = "th" if number == 0 and any(cells) else "td"
        if any(cells):
            yield f"<tr>{''.join(f'<{tag}>{_inline(cell)}</{tag}>' for cell in cells)}</tr>"
    yield "</table>"


def _inline(text: str) -> str:
    """Text of a report; what was escaped there is text here, and nothing of it becomes markup."""
    said, done = [], 0
    for match in _CODE.finditer(text):
        said += [_words(text[done : match.start()]), f"<code>{escape(match[2])}</code>"]
        done = match.end()
    return "".join([*said, _words(text[done:])])


def _words(text: str) -> str:
    said = escape(_BOLD.sub("\x01\\1\x02", text))
    return _ESCAPED.sub(r"\1", said.replace("\x01", "<strong>").replace("\x02", "</strong>"))


def _plain(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)
