"""Which names (flags, variables, keys of JSON) carry a secret value, and which only look as if they did."""

from __future__ import annotations

import re
from functools import lru_cache


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_ALWAYS = _set(
    "password passwords passwd passphrase secret secrets credential credentials authorization cookie cookies bearer "
    "apikey apikeys authtoken accesstoken accesskey secretkey privatekey"
)
# A key is a secret one when the word before it says so ("cache key" and "public key" do not).
_KEYS = _set("api access secret private auth encryption signing account license master shared service client session")
_PASSES = _set("user db smtp basic auth proxy redis mysql pg postgres admin root http ssh sudo ftp")
# In this trade a token is mostly a piece of text: these words before or after it make it a count, a mark or an id.
_OF_TEXT = _set(
    "max min num n total new draft prompt completion context output input cached pool batch prefill chunk chunked pad "
    "eos bos unk sep cls mask stop special per skip of budget reasoning top decode accept accepted generated used free "
    "available kv cache page window limit text image audio number count request requests old served probe largest "
    "think tool added block first last next asked at long short deepest"
)
_AFTER_TOKEN = _set("value plain raw b base secret")
# What follows names a place, a kind or a size of the secret, not the secret.
_NOT_ITSELF = _set(
    "env file files path dir folder id ids name names count type types length len size limit ttl expiry age policy "
    "provider backend worker workers num sharing usage capacity source required enabled"
)
_CREDENTIAL = _set("auth access refresh session bearer hf hub api id csrf oauth")

# Every secret name has one of these in it.
_SOMEWHERE = ("key", "token", "pass", "secret", "credential", "authorization", "cookie", "bearer", "pwd")


def may_name_a_secret(text: str) -> bool:
    """Whether a secret name can stand anywhere in a text; most text is passed over by this, and quickly."""
    lowered = text.lower()
    return any(part in lowered for part in _SOMEWHERE)


@lru_cache(maxsize=4096)
def _words(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(name[:200]))


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether the value of a flag, variable or key of this name is to be masked."""
    words = _words(name)
    for index, word in enumerate(words):
        before, after = words[:index], words[index + 1 :]
        if any(follow in _NOT_ITSELF for follow in after):
            continue
        if word in _ALWAYS:
            return True
        if word in ("key", "keys") and before and before[-1] in _KEYS:
            return True
        if word == "pwd" and before and not after:
            return True
        if word == "pass" and before and before[-1] in _PASSES and not after:
            return True
        if word in ("token", "tokens"):
            if not all(follow in _AFTER_TOKEN or follow.isdigit() for follow in after) or _OF_TEXT & set(before):
                continue
            if word == "token" or before:
                return True
    return False


@lru_cache(maxsize=4096)
def is_count_of_tokens(name: str) -> bool:
    """Whether a number under this secret-looking name is a count (`token: 1234`), not a credential."""
    words = _words(name)
    return bool(words) and words[-1] in ("token", "tokens") and not _CREDENTIAL & set(words)
