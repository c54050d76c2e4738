from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.schema.splice import Splice, apply, compose, inverse


@st.composite
def splices_of(draw: st.DrawFn, data: bytes) -> list[Splice]:
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    found: list[Splice] = []
    for start, end in zip(cuts[::2], cuts[1::2], strict=False):
        new = draw(st.binary(max_size=5))
        if found and start == found[-1].end:
            continue  # an insertion where one ends would have no order of its own
        found.append(Splice(start=start, old=data[start:end], new=new))
    return found


@st.composite
def two_edits(draw: st.DrawFn) -> tuple[bytes, list[Splice], list[Splice]]:
    data = draw(st.binary(max_size=40))
    first = draw(splices_of(data))
    return data, first, draw(splices_of(apply(data, first)))


@settings(deadline=None)  # the machine may be busy
@given(two_edits())
def test_two_edits_in_one_list_do_what_both_do(case: tuple[bytes, list[Splice], list[Splice]]) -> None:
    data, first, second = case
    assert apply(data, compose(data, first, second)) == apply(apply(data, first), second)


@settings(deadline=None)  # the machine may be busy
@given(two_edits())
def test_an_edit_is_undone_by_its_inverse(case: tuple[bytes, list[Splice], list[Splice]]) -> None:
    data, first, _ = case
    assert apply(apply(data, first), inverse(first)) == data
    assert inverse(inverse(first)) == tuple(first)


@settings(deadline=None)  # the machine may be busy
@given(st.binary(), st.binary())
def test_any_bytes_survive_the_plan_file(old: bytes, new: bytes) -> None:
    splice = Splice(start=3, old=old, new=new)
    assert Splice.model_validate_json(splice.model_dump_json()) == splice
    assert Splice.model_validate(json.loads(splice.model_dump_json())) == splice


def test_the_plan_file_shows_text_a_person_can_read() -> None:
    assert json.loads(Splice(start=7, old=b"32768", new=b"200000").model_dump_json()) == {
        "start": 7,
        "old": "32768",
        "new": "200000",
    }


def test_edits_at_different_places_stay_apart() -> None:
    data = b"--context-length 32768 --port 30000"
    first = [Splice(start=17, old=b"32768", new=b"200000")]
    second = [Splice(start=31, old=b"30000", new=b"30001")]
    assert compose(data, first, second) == (first[0], Splice(start=30, old=b"30000", new=b"30001"))


def test_an_edit_taken_back_is_no_edit() -> None:
    data = b"--port 30000"
    there = [Splice(start=7, old=b"30000", new=b"31000")]
    assert compose(data, there, inverse(there)) == ()


@pytest.mark.parametrize(
    ("splices", "complaint"),
    [
        ([Splice(start=0, old=b"x", new=b"y")], "does not hold"),
        ([Splice(start=2, old=b"cd", new=b"")], "does not hold"),
        ([Splice(start=9, old=b"", new=b"y")], "does not hold"),
        ([Splice(start=1, old=b"b", new=b""), Splice(start=0, old=b"a", new=b"")], "overlaps"),
    ],
)
def test_a_splice_that_does_not_fit_is_refused(splices: list[Splice], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        apply(b"abc", splices)
