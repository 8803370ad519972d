from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.errors import Invalid
from scopes.render.fields import compile_template
from scopes.sanitize import clean

FIELDS = ["id", "title", "last_activity"]
VALUES = {"id": "conv-001", "title": "Login {bug}", "last_activity": "2m ago"}


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("", ""),
        ("plain", "plain"),
        ("{id}", "conv-001"),
        (r"{id}\t{title}", "conv-001\tLogin {bug}"),
        ("{id}{id}", "conv-001conv-001"),
        ("{{id}}", "{id}"),
        ("{{{id}}}", "{conv-001}"),
        (r"a\nb\0c\\n", "a\nb\0c\\n"),
        ("日本 {last_activity}!", "日本 2m ago!"),
    ],
)
def test_fields_are_replaced_and_escapes_resolved(template, filled):
    assert compile_template(template, FIELDS)(VALUES) == filled


def test_values_are_not_templates_themselves():
    assert compile_template("{title}", FIELDS)({"title": r"{id}\t"}) == r"{id}\t"


@pytest.mark.parametrize("template", ["{", "}", "a{id", "id}", "\\", r"\x1b", r"\e", "{a{b}"])
def test_stray_signs_are_refused_with_what_to_write(template):
    with pytest.raises(Invalid, match="stray") as refusal:
        compile_template(template, FIELDS)
    assert "{{" in refusal.value.hint


def test_an_unknown_field_is_refused_with_the_known_ones():
    with pytest.raises(Invalid, match="'oid'") as refusal:
        compile_template("{id} {oid}", ["id", "title"])
    assert refusal.value.hint.endswith("fields: id, title")


def test_a_misspelled_field_gets_the_nearest_one():
    with pytest.raises(Invalid) as refusal:
        compile_template("{titel}", FIELDS)
    assert refusal.value.hint.startswith("did you mean {title}?")


@given(st.text(st.sampled_from("{}\\tn0idé ")))
def test_a_template_is_compiled_or_refused_but_never_crashes(template):
    with contextlib.suppress(Invalid):
        assert isinstance(compile_template(template, FIELDS)(VALUES), str)


@given(st.text(st.characters(exclude_categories=["C", "M", "Z"])))
def test_text_with_its_signs_doubled_is_itself(text):
    doubled = text.replace("\\", "\\\\").replace("{", "{{").replace("}", "}}")
    assert compile_template(doubled, FIELDS)(VALUES) == clean(text)
