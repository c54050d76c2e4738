"""Charts stand on a light page and on a dark one: what is drawn is told from either."""

from __future__ import annotations

import pytest

from console.results import svg

PAGES = {"light": "#ffffff", "dark": "#0d1117"}


def luminance(colour: str) -> float:
    """WCAG 2: relative luminance."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("page", PAGES)
def test_colours_on(page: str) -> None:
    """3 for what is drawn, as WCAG asks of graphics; a grey that is read on both pages has at most 4.3 on each."""
    assert min(contrast(colour, PAGES[page]) for colour in (svg.LINE, svg.POINT, svg.FORECAST)) >= 3.0
    assert contrast(svg.INK, PAGES[page]) >= 4.2


def test_the_page_behind_is_not_painted() -> None:
    drawn = svg.chart([(1.0, 2.0)], (1.0, 0.1), [svg.Band(2.0, 3.0, 2.0, 4.0)], title="t")
    assert "background" not in drawn
    assert "<rect" not in drawn
