"""config.json of the model that a command line names, and of its draft: a folder, or a snapshot in a download cache.

A GGUF file says the same in its header, and then that is what is read.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from console.engines.base import Engine
from console.facts.parse import pairs, unbase64
from console.schema.facts import Facts, ModelConfig
from console.settings import resolve
from console.settings.flags import sought, value_in
from console.untrusted import one_line

Role = Literal["model", "draft"]
_SETTINGS: Mapping[Role, str] = {"model": "model_path", "draft": "draft_model_path"}
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})


@dataclass(frozen=True)
class Question:
    """What look_model.sh is asked: the names by their roles, and its words; none where no model is named."""

    named: Mapping[Role, str]
    script: tuple[str, ...]

    def read(self, sections: Mapping[str, bytes]) -> tuple[ModelConfig, ...]:
        """The configs; what could not be read carries its reason."""
        return tuple(_config(role, name, sections) for role, name in self.named.items())


def question(engine: Engine, facts: Facts) -> Question:
    """Where the process's command line points to, or that of the files where nothing runs."""
    disk_environment = resolve.environment_on_disk(unit := resolve.unit_of(facts))
    words = list(facts.process.argv) or resolve.argv_on_disk(unit, disk_environment) or []
    environment = {**disk_environment, **facts.process.environment}
    named = names(words, engine, environment)
    arguments: list[str] = []
    launcher = resolve.argv_on_disk(unit, disk_environment) or words
    for role, name in named.items():
        for candidate in candidates(name, environment, launcher, words, facts.unit.working_directory):
            arguments += [role, candidate]
    return Question(named, ("look_model.sh", facts.unit.user or "root", *arguments) if named else ())


def names(words: Sequence[str], engine: Engine, environment: Mapping[str, str] | None = None) -> dict[Role, str]:
    """The words that name the model and its draft; where there are none, the variables an engine also takes."""
    found: dict[Role, str] = {}
    for role, setting in _SETTINGS.items():
        if setting in engine.spellings:
            value = value_in(words, engine, sought(engine, setting=setting))
            for name in engine.spellings[setting].environment:
                value = value or (environment or {}).get(name)
            if value:
                found[role] = value
    if "model" not in found and "serve" in words:
        after = words[list(words).index("serve") + 1 :]
        if after and not after[0].startswith("-"):
            found["model"] = after[0]
    return found


def candidates(
    name: str, environment: Mapping[str, str], launcher: Sequence[str], words: Sequence[str], working_folder: str
) -> Iterator[str]:
    """Where a model's folder may be on the host, the likeliest first.

    `launcher` is the unit's own command: where that starts a container, its volumes say what a path means outside.
    """
    volumes = dict(_volumes(launcher))
    if name.startswith("/"):
        outside = _outside(name, volumes)
        if outside:
            yield outside
        yield name
        return
    if working_folder.lstrip("!-").startswith("/"):
        yield posixpath.normpath(posixpath.join(working_folder.lstrip("!-"), name))
    if not _REPOSITORY.fullmatch(name):
        return
    folder = f"models--{name.replace('/', '--')}@{_after(words, '--revision') or 'main'}"
    for cache in _caches(environment, words):
        outside = _outside(cache, volumes)
        if outside:
            yield f"{outside}/{folder}"
        yield f"{cache}/{folder}"


def _caches(environment: Mapping[str, str], words: Sequence[str]) -> Iterator[str]:
    """Folders of huggingface_hub's cache, in its own order of precedence."""
    for cache in (
        _after(words, "--download-dir"),
        environment.get("HF_HUB_CACHE", ""),
        environment.get("HUGGINGFACE_HUB_CACHE", ""),
        _below(environment.get("HF_HOME", ""), "hub"),
        _below(environment.get("XDG_CACHE_HOME", ""), "huggingface/hub"),
        _below(environment.get("HOME", ""), ".cache/huggingface/hub"),
        "/root/.cache/huggingface/hub",
    ):
        if cache.startswith("/"):
            yield cache.rstrip("/")
    yield "home:.cache/huggingface/hub"


def _volumes(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(inside, outside) of the bind mounts of a container's command line."""
    if not any(word.rpartition("/")[2] in _CONTAINERS for word in words[:6]):
        return
    for index, word in enumerate(words):
        flag, equals, value = word.partition("=")
        value = value if equals else words[index + 1] if index + 1 < len(words) else ""
        if flag in ("-v", "--volume"):
            outside, _, inside = value.partition(":")
            if outside.startswith("/"):
                yield inside.partition(":")[0].rstrip("/"), outside.rstrip("/")
        elif flag == "--mount":
            options = dict(part.partition("=")[::2] for part in value.split(","))
            inside = options.get("target") or options.get("destination") or options.get("dst") or ""
            outside = options.get("source") or options.get("src") or ""
            if inside and outside.startswith("/"):
                yield inside.rstrip("/"), outside.rstrip("/")


def _outside(path: str, volumes: Mapping[str, str]) -> str:
    """The path on the host of one inside a container; "" where no volume holds it."""
    for inside in sorted(volumes, key=len, reverse=True):
        if path == inside or path.startswith(f"{inside}/"):
            return volumes[inside] + path[len(inside) :]
    return ""


def _config(role: Role, name: str, sections: Mapping[str, bytes]) -> ModelConfig:
    said = pairs(sections.get(f"model.{role}", b""))
    shown = one_line(name, 300)
    if not said:
        empty = pairs(sections.get(f"empty.{role}", b"")).get("path")
        closed = pairs(sections.get(f"closed.{role}", b""))
        if closed and not empty:
            why = one_line(closed.get("error", ""), 120)
            reason = f"{one_line(closed.get('path', ''), 300)} cannot be looked at as the login user ({why})"
        elif empty:
            reason = f"{one_line(empty, 300)} holds no config.json (not downloaded yet, gated, or no model)"
        else:
            reason = f"no folder or download cache on the host holds {shown}"
        return ModelConfig(role=role, named=shown, error=reason)
    # `pairs` makes controls visible, and base64 has none.
    content = unbase64(said.get("content", "").encode())
    weights = said.get("weights", "")
    return ModelConfig(
        role=role,
        named=shown,
        path=one_line(said.get("path", ""), 300),
        sha256=hashlib.sha256(content).hexdigest() if content else "",
        error="" if content else "it is there and could not be read",
        weights_bytes=int(weights) if weights.isdigit() and int(weights) else None,
        content=content,
    )


def _after(words: Sequence[str], flag: str) -> str:
    for index, word in enumerate(words):
        if word == flag and index + 1 < len(words):
            return words[index + 1]
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
    return ""


def _below(folder: str, rest: str) -> str:
    return f"{folder.rstrip('/')}/{rest}" if folder else ""
