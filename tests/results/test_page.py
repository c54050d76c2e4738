"""One HTML file: complete, and no text of a host becomes markup."""

from __future__ import annotations

from html.parser import HTMLParser

from console.results import before_after
from console.results.page import html
from console.results.record import documents
from console.schema.record import Record, RecordSetting, Stack

HOSTILE = "<script>alert(1)</script> | `x` **b** <img src=x onerror=y> [a](javascript:x) \\"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]


def tags(text: str) -> Tags:
    parser = Tags()
    parser.feed(text)
    parser.close()
    return parser


def test_a_report_with_its_chart(record: Record) -> None:
    small, large = Stack(pool_tokens=20000), Stack(pool_tokens=210000)
    full = record.model_copy(update={"stack_before": small, "stack_after": large})
    files = {name: data.decode() for name, data in documents(full).items()}
    page = html(files["report.md"], files)
    found = tags(page)
    assert "svg" in found.seen
    assert found.links == []
    assert page.startswith("<!doctype html>")
    assert "<td>context_length</td>" in page
    assert "prefers" in page or "light dark" in page


def test_hostile_text_stays_text(record: Record) -> None:
    hostile = record.model_copy(
        update={"message": HOSTILE, "reason": HOSTILE, "next": (HOSTILE,), "warnings": (HOSTILE,), "diff": HOSTILE}
    )
    found = tags(html(documents(hostile)["report.md"].decode(), {}))
    assert not {"script", "img", "a"} & set(found.seen)
    assert found.links == []


def test_before_and_after_needs_both_pools(record: Record) -> None:
    assert before_after.pairs(record) == ()
    setting = RecordSetting(setting="context_length", before="32768", after="200000", path="x", made=True)
    both = record.model_copy(
        update={
            "settings": (setting,),
            "stack_before": Stack(pool_tokens=50000),
            "stack_after": Stack(pool_tokens=203386),
        }
    )
    assert [(pair.name, pair.before, pair.after) for pair in before_after.pairs(both)] == [
        ("context_length", 32768.0, 200000.0),
        ("pool_tokens", 50000.0, 203386.0),
    ]
    assert "203386" in before_after.chart(before_after.pairs(both), title="<t>")
