"""How much each model takes in and how its tokens are counted: a table that settings extend.

`scopes.model.<name>.window`, `.encoding` and `.factor` add a row or change one; a name stands for every model that
begins with it, and the longest one counts. Windows are those that the providers publish.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NamedTuple

from scopes.errors import Invalid
from scopes.store.config import MODEL_SETTING, Setting
from scopes.tokens.encodings import DEFAULT_ENCODING, ENCODINGS


class Model(NamedTuple):
    """A family of models; `factor` is how many of its tokens one of the encoding stands for, in hundredths.

    Only a factor of 100 can be counted exactly: other providers do not publish their encodings. A factor that is not
    `fixed` gives way to what a conversation records.
    """

    name: str
    window: int
    encoding: str = DEFAULT_ENCODING
    factor: int = 100
    fixed: bool = False


MODELS = (
    Model("gpt-5", 400_000),
    Model("gpt-4.1", 1_047_576),
    Model("gpt-4o", 128_000),
    Model("gpt-4-turbo", 128_000, "cl100k_base"),
    Model("gpt-4-32k", 32_768, "cl100k_base"),
    Model("gpt-4", 8_192, "cl100k_base"),
    Model("gpt-3.5-turbo", 16_385, "cl100k_base"),
    Model("o1", 200_000),
    Model("o3", 200_000),
    Model("o4-mini", 200_000),
    Model("claude", 200_000, factor=130),
    Model("gemini", 1_048_576, factor=110),
)


def find_model(name: str, settings: Iterable[Setting] = ()) -> Model:
    """Return the row that a model falls under; `openai/gpt-4o` is looked up without the provider.

    Raises:
        Invalid: no row fits, or a setting of the row means nothing.
    """
    table = {model.name: model for model in MODELS}
    for setting in settings:
        found = MODEL_SETTING.fullmatch(setting.key)
        if found is not None:
            table[found["name"].lower()] = _changed(table, found["name"].lower(), found["field"].lower(), setting)
    wanted = name.rpartition("/")[2].lower()
    fitting = [known for known in table if wanted.startswith(known) and table[known].window]
    if wanted and fitting:
        return table[max(fitting, key=len)]
    near = difflib.get_close_matches(wanted, table, n=3) or sorted(table)
    hint = f"known: {', '.join(near)}; add it: scopes config set scopes.model.{wanted or 'NAME'}.window 200000"
    raise Invalid(f"{name!a} is no model whose window is known", hint=hint)


def _changed(table: dict[str, Model], name: str, field: str, setting: Setting) -> Model:
    row = table.get(name) or Model(name, 0)
    if field == "encoding":
        if setting.value not in ENCODINGS:
            raise Invalid(f"{setting.value!a} is no encoding ({setting.key})", hint=f"known: {', '.join(ENCODINGS)}")
        return row._replace(encoding=setting.value)
    try:
        number = round(float(setting.value) * 100) if field == "factor" else int(setting.value)
    except (ValueError, OverflowError) as error:
        raise Invalid(f"{setting.value!a} is no number ({setting.key})", hint="for example: 200000 or 1.2") from error
    if not 0 < number < 10**12:
        raise Invalid(f"{setting.value!a} is out of range ({setting.key})", hint="for example: 200000 or 1.2")
    return row._replace(factor=number, fixed=True) if field == "factor" else row._replace(window=number)
