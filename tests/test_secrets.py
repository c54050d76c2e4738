"""Secrets are masked wherever they stand, and what only looks like one stays readable."""

from __future__ import annotations

import copy
import importlib
import json
import pickle
import pkgutil
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from console import schema
from console.secret_names import may_name_a_secret
from console.secrets import MASK, Redactor, Secret, is_secret_name
from console.settings.names import SETTINGS

CASES = Path(__file__).parent / "cases" / "secrets"


def cases(name: str) -> list[Any]:
    lines = (CASES / name).read_text(encoding="utf-8").splitlines()
    return [pytest.param(case, id=case["why"]) for case in map(json.loads, lines)]


@pytest.mark.parametrize("case", cases("masked.jsonl"))
def test_secret_is_masked(case: dict[str, str]) -> None:
    assert Redactor().text(case["text"]) == case["shown"]


@pytest.mark.parametrize("case", cases("masked.jsonl"))
def test_masking_twice_changes_nothing_more(case: dict[str, str]) -> None:
    assert Redactor().text(case["shown"]) == case["shown"]


@pytest.mark.parametrize("case", cases("kept.jsonl"))
def test_ordinary_text_stays(case: dict[str, str]) -> None:
    assert Redactor().text(case["text"]) == case["text"]


@pytest.mark.parametrize(
    "name",
    [
        "--api-key",
        "api_key",
        "apiKey",
        "X-Api-Key",
        "HF_TOKEN",
        "HF_TOKEN_2",
        "AUTH_TOKENS",
        "token",
        "AWS_SECRET_ACCESS_KEY",
        "client_secret",
        "DB_PASSWORD",
        "ssl_keyfile_password",
        "MYSQL_PWD",
        "Authorization",
        "Cookie",
        "admin_api_key",
        "GITHUB_TOKEN",
        "hfToken",
        "PRIVATE_KEY",
        "passphrase",
        "credentials",
        "api_key_2",
        "password_b64",
        "SLACK_BOT_TOKEN",
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)
    assert may_name_a_secret(f"--x {name}=1")  # else nothing looks at it


@pytest.mark.parametrize(
    "name",
    [
        "max_total_tokens",
        "max_prefill_tokens",
        "speculative_num_draft_tokens",
        "tokens",
        "token_ids",
        "eos_token_id",
        "tokenizer_path",
        "api_key_env",
        "api_key_file",
        "pool_tokens",
        "old_limit_tokens",
        "tokens_per_s",
        "context_tokens",
        "largest_request_tokens",
        "cache_key",
        "public_key",
        "key",
        "PWD",
        "bypass",
        "prefill_pass",
        "secret_name",
        "path",
        "#new-token",
        "token usage",
        "kv_cache_dtype",
    ],
)
def test_names_that_only_look_secret(name: str) -> None:
    assert not is_secret_name(name)


def test_every_setting_but_keys_stays_readable() -> None:
    assert [name for name in SETTINGS if is_secret_name(name) and "api_key" not in name] == []


def test_no_field_of_ours_is_named_like_a_secret() -> None:
    """Its value would be masked on the way to disk, and be missing when it is read back."""
    modules = [
        importlib.import_module(f"console.schema.{found.name}") for found in pkgutil.iter_modules(schema.__path__)
    ]
    models = {
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, BaseModel)
    }
    assert len(models) > 50
    assert [(model.__name__, name) for model in models for name in model.model_fields if is_secret_name(name)] == []


class TestSecret:
    def test_shows_itself_nowhere(self) -> None:
        secret = Secret("canary-value")
        assert MASK == str(secret) == repr(secret) == f"{secret}" == f"{secret!r}"
        assert "canary" not in f"{[secret]} { ({'a': secret}) }"

    def test_is_revealed_on_purpose_only(self) -> None:
        assert Secret("canary-value").reveal() == "canary-value"

    def test_is_not_pickled_or_copied(self) -> None:
        with pytest.raises(TypeError):
            pickle.dumps(Secret("canary-value"))
        with pytest.raises(TypeError):
            copy.deepcopy(Secret("canary-value"))

    def test_equal_by_value(self) -> None:
        assert Secret("one") == Secret("one")
        assert Secret("one") != Secret("two")
        assert len({Secret("one"), Secret("one")}) == 1


class TestByValue:
    def test_a_seen_value_is_masked_without_its_name(self) -> None:
        redactor = Redactor()
        redactor.learn_environment({"ENGINE_API_KEY": "canary-value", "LOG": "info"})
        assert redactor.text("curl said canary-value, log info") == "curl said ***, log info"

    @pytest.mark.parametrize(
        "words",
        [
            ["engine", "--api-key", "canary-value", "--port", "1"],
            ["engine", "--api-key=canary-value"],
            ["docker", "run", "-e", "HF_TOKEN=canary-value"],
            ["docker", "run", "--env=HF_TOKEN=canary-value"],
        ],
    )
    def test_learned_from_a_command_line(self, words: list[str]) -> None:
        redactor = Redactor()
        redactor.learn_words(words)
        assert redactor.text("seen: canary-value") == "seen: ***"

    def test_as_json_and_urls_spell_it(self) -> None:
        redactor = Redactor()
        redactor.learn('can"ary/ü value')
        assert redactor.text(json.dumps({"x": 'can"ary/ü value'})) == '{"x": "***"}'
        assert redactor.text("GET /?q=can%22ary%2F%C3%BC%20value") == "GET /?q=***"

    def test_each_line_of_a_long_value(self) -> None:
        redactor = Redactor()
        redactor.learn("first-line-of-canary\nsecond-line-of-canary\nend")
        assert redactor.text("> second-line-of-canary\n> end") == "> ***\n> end"

    def test_a_short_value_spares_paths_that_hold_it(self) -> None:
        redactor = Redactor()
        redactor.learn("opens")
        assert redactor.text("/srv/opens/bin opens opens-x") == "/srv/opens/bin *** opens-x"

    @pytest.mark.parametrize("value", ["", "abc", "None", "null", "true"])
    def test_what_is_no_value_is_not_learned(self, value: str) -> None:
        redactor = Redactor()
        redactor.learn(value)
        assert redactor.text(f"x {value} y") == f"x {value} y"

    def test_the_longest_first(self) -> None:
        redactor = Redactor()
        redactor.learn("canary-value", "canary-value-and-more")
        assert redactor.text("canary-value-and-more") == MASK


class TestWords:
    def test_after_and_within_flags(self) -> None:
        words = [
            "engine",
            "--api-key",
            "a b",
            "--admin-api-key=c d",
            "-e",
            "HF_TOKEN=e f",
            "--env=DB_PASSWORD=g h",
            "--tp",
            "8",
        ]
        shown = [
            "engine",
            "--api-key",
            MASK,
            "--admin-api-key=***",
            "-e",
            "HF_TOKEN=***",
            "--env=DB_PASSWORD=***",
            "--tp",
            "8",
        ]
        assert Redactor().words(words) == shown

    def test_counts_stay(self) -> None:
        words = ["--max-total-tokens", "203386", "--chunked-prefill-size=8192"]
        assert Redactor().words(words) == words

    def test_a_flag_without_its_value(self) -> None:
        assert Redactor().words(["--api-key", "--port", "1"]) == ["--api-key", "--port", "1"]

    def test_json_in_a_word(self) -> None:
        assert Redactor().words(["--config", '{"api_key":"a b"}']) == ["--config", '{"api_key":"***"}']

    def test_a_private_key_line_by_line(self) -> None:
        lines = ["x", "-----BEGIN PRIVATE KEY-----", "MIIEabc", "MIIEdef", "-----END PRIVATE KEY-----", "y"]
        assert Redactor().words(lines) == ["x", MASK, MASK, MASK, MASK, "y"]


class TestTree:
    def test_by_key_at_any_depth(self) -> None:
        tree = {
            "process": {"environment": {"HF_TOKEN": "abc", "LOG": "info"}, "argv": ["--api-key", "abc", "--tp", "8"]}
        }
        assert Redactor().tree(tree) == {
            "process": {"environment": {"HF_TOKEN": MASK, "LOG": "info"}, "argv": ["--api-key", MASK, "--tp", "8"]}
        }

    def test_everything_under_a_secret_name(self) -> None:
        tree = {"credentials": {"user": "a", "parts": ["b", 1]}, "password": 12345, "secret": None, "api_keys": ["c"]}
        assert Redactor().tree(tree) == {
            "credentials": {"user": MASK, "parts": [MASK, MASK]},
            "password": MASK,
            "secret": None,
            "api_keys": [MASK],
        }

    def test_numbers_and_flags_stay(self) -> None:
        tree = {"token": 5, "pool_tokens": 101134, "agree": True, "eta_s": 1.5, "reason": None, "api_key": False}
        assert Redactor().tree(tree) == tree
        assert Redactor().tree([1, Secret("canary-value")]) == [1, MASK]

    def test_a_name_of_a_variable_stays(self) -> None:
        assert Redactor().tree({"api_key_env": "K26_API_KEY"}) == {"api_key_env": "K26_API_KEY"}


CANARY = "cAnArY-0123456789"
NAMES = st.sampled_from(["api_key", "HF_TOKEN", "db-password", "clientSecret", "AWS_SECRET_ACCESS_KEY"])
FORMS = st.sampled_from(
    [
        "{n}={v}",
        "--{n} {v}",
        "--{n}={v}",
        "{n}: {v}",
        '"{n}": "{v}"',
        "'{n}': '{v}'",
        "{n}='{v} x'",
        '{n}="x {v} y"',
        'Environment="{n}=a {v}"',
        "export {n}={v}",
        "Env(x=1, {n}='{v}')",
        "?a=1&{n}={v}&b=2",
        '\\"{n}\\": \\"{v}\\"',
        "'--{n}', '{v}'",
    ]
)
AROUND = st.text(st.sampled_from("ab1 \t\n\"'{}[](),;:=\\-/&#"), max_size=30)


@given(name=NAMES, form=FORMS, before=AROUND, after=AROUND)
def test_no_form_leaks_whatever_stands_around_it(name: str, form: str, before: str, after: str) -> None:
    assert CANARY not in Redactor().text(f"{before}\n{form.format(n=name, v=CANARY)}\n{after}")


@given(st.text(max_size=400))
def test_any_text_can_be_masked(text: str) -> None:
    Redactor().text(text)


@pytest.mark.parametrize(
    "hostile",
    [
        "a" * 300_000,
        "token" * 60_000,
        "token=" * 50_000,
        'api_key="' * 30_000,
        "a.a-" * 80_000,
        "x://" * 80_000,
        "\\" * 300_000,
        'password:\\"' * 20_000,
        "AAAAAAAAAAAAAAAA\n" * 20_000 + "-----END PRIVATE KEY-----",
    ],
    ids=lambda text: text[:12],
)
def test_hostile_text_takes_no_longer_than_its_length(hostile: str) -> None:
    started = time.perf_counter()
    Redactor().text(hostile)
    assert time.perf_counter() - started < 3.0


class TestDigest:
    """With a key a mask says whether it is the same secret, and nothing else."""

    KEYED = staticmethod(lambda: Redactor(lambda: b"k" * 32))

    @pytest.mark.parametrize(
        "form",
        [
            "--api-key {}", "--api-key={}", "API_KEY={}", 'Environment="HF_TOKEN={}"', '{{"api_key": "{}"}}',
            "https://user:{}@x.example/", "Authorization: Bearer {}", "password: {}",
        ],
    )  # fmt: skip
    def test_a_changed_secret_shows_as_changed(self, form: str) -> None:
        redactor = self.KEYED()
        one, same, other = (
            redactor.text(form.format(value)) for value in ("first-one-x", "first-one-x", "second-one-x")
        )
        assert one == same != other
        assert "first-one" not in one
        assert redactor.text(one) == one

    def test_learned_and_named_values_agree(self) -> None:
        redactor = self.KEYED()
        named = redactor.text("--api-key hush-hush")
        redactor.learn("hush-hush")
        assert redactor.text("--api-key hush-hush") == named
        assert redactor.words(["--api-key", "hush-hush"]) == named.split(" ")
        assert redactor.tree({"api_key": "hush-hush"}) == {"api_key": named.split(" ")[1]}
        assert redactor.text("it said hush-hush") == f"it said {named.split(' ')[1]}"

    def test_another_key_gives_another_digest(self) -> None:
        other = Redactor(lambda: b"o" * 32)
        assert self.KEYED().mask("hush-hush") != other.mask("hush-hush")
        assert self.KEYED().key_id != other.key_id

    def test_masking_twice_changes_nothing(self) -> None:
        redactor = self.KEYED()
        tree = {
            "argv": ["run", "--api-key", "hush-hush", "TOKEN=abcdefgh"],
            "password": "x1x1",
            "text": "api_key: zzzzzz",
        }
        once = redactor.tree(tree)
        assert redactor.tree(once) == once

    def test_without_a_key_nothing_is_told(self) -> None:
        assert Redactor().mask("hush-hush") == "***"
        assert Redactor().key_id == ""
