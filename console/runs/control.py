"""What may be said to a running run from outside, and what it answers: one JSON line each."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from console.schema.names import Read


class Ping(Read):
    """Is anybody there?"""

    do: Literal["ping"] = "ping"


class Abort(Read):
    """Stop; `choice` answers the question that follows before it is asked."""

    do: Literal["abort"] = "abort"
    choice: Literal["", "leave", "rollback", "wait"] = ""
    by: str = ""


class Answer(Read):
    """An answer to the question that is asked now."""

    do: Literal["answer"] = "answer"
    question: str = ""
    answer: str
    by: str = ""


class Extend(Read):
    """Wait longer for the service to come up."""

    do: Literal["extend"] = "extend"
    minutes: float = Field(gt=0, le=24 * 60)
    by: str = ""


Message = Annotated[Ping | Abort | Answer | Extend, Field(discriminator="do")]


class Reply(Read):
    """`ok`: it was taken up. `message` says what was done or what is wrong."""

    ok: bool
    message: str = ""


_MESSAGE: TypeAdapter[Ping | Abort | Answer | Extend] = TypeAdapter(Message)


def read_message(line: bytes) -> Ping | Abort | Answer | Extend:
    """The message of one line. Raises ValueError that says what is wrong."""
    try:
        return _MESSAGE.validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{key}: {first['msg']}" if key else first["msg"]) from None
