from __future__ import annotations

from console.engines.sglang import SGLang
from console.settings.names import SETTINGS, nearest_setting


def test_every_setting_an_engine_spells_has_a_meaning_and_the_same_type() -> None:
    kinds = {"int": "int", "human_int": "int", "float": "float", "str": "str", "flag": "flag"}
    spelled = {name: kinds[spelling.kind] for name, spelling in SGLang().spellings.items()}
    assert spelled == {name: SETTINGS[name].type for name in spelled}


def test_a_misspelt_name_finds_the_nearest() -> None:
    assert nearest_setting("context-lenght") == "context_length"
    assert nearest_setting("zzz") == ""
