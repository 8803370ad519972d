"""Configuration files of other programs are changed safely, and a change can be taken back byte for byte."""

from __future__ import annotations

import json
import os

import pytest

from scopes.clock import new_id
from scopes.errors import Busy, Inaccessible, Refused
from scopes.hosts import config_file
from scopes.hosts.config_file import (
    advise_removal,
    delete,
    find_object,
    format_json,
    parse_json,
    read_text,
    require_inside,
    save,
    take_back,
)

ODD = '{"z" : 1.50,\n\t"a":[1 ,2]}\r\n'


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "settings.json")


def write(path, text):
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def add(text):
    document = parse_json(text, "settings")
    document["ours"] = True
    return format_json(document)


def install(path):
    before = read_text(path)
    return save(path, before, add(before))


def remove(path):
    current = read_text(path)
    document = parse_json(current, path)
    del document["ours"]
    return take_back(path, current, add, format_json(document))


def test_a_change_that_is_taken_back_leaves_every_byte_as_it_was(path):
    write(path, ODD)
    install(path)
    assert read_text(path) != ODD
    assert remove(path) is None
    assert read_text(path) == ODD


def test_nothing_is_left_of_a_file_that_the_change_has_made(path):
    install(path)
    remove(path)
    assert os.listdir(os.path.dirname(path)) == []


def test_an_empty_file_is_empty_again(path):
    write(path, "")
    install(path)
    remove(path)
    assert read_text(path) == ""


def test_what_was_changed_since_stays_and_only_the_entry_goes(path):
    write(path, ODD)
    install(path)
    document = json.loads(read_text(path))
    write(path, json.dumps({**document, "theirs": 1}))
    backup = remove(path)
    assert json.loads(read_text(path)) == {"z": 1.5, "a": [1, 2], "theirs": 1}
    assert json.loads(read_text(backup))["ours"] is True


def test_a_kept_file_of_an_earlier_change_is_not_restored(path):
    """The file was deleted and made again since: what was in it long ago must not come back."""
    write(path, ODD)
    install(path)
    os.unlink(path)
    install(path)
    remove(path)
    assert not os.path.exists(path)


def test_the_kept_file_is_that_from_before_the_first_change(path):
    write(path, ODD)
    backup = install(path)
    save(path, read_text(path), add('{"other": 1}'), keep=False)
    assert read_text(backup) == ODD


def test_a_file_that_another_program_writes_meanwhile_is_not_overwritten(path, monkeypatch):
    write(path, ODD)
    before = read_text(path)
    write(path, '{"theirs": 1}')
    with pytest.raises(Busy, match="meanwhile"):
        save(path, before, add(before))
    assert read_text(path) == '{"theirs": 1}'
    assert not [name for name in os.listdir(os.path.dirname(path)) if name.endswith(".part")]


def test_a_file_that_another_program_makes_meanwhile_is_not_overwritten(path):
    write(path, "{}")
    with pytest.raises(Busy):
        save(path, None, add(None))
    assert read_text(path) == "{}"


def test_a_full_disk_leaves_the_file_as_it_was(path, monkeypatch):
    write(path, ODD)

    def refuse(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(config_file.os, "fsync", refuse)
    with pytest.raises(Inaccessible, match="No space left"):
        save(path, ODD, add(ODD))
    assert read_text(path) == ODD
    assert not [name for name in os.listdir(os.path.dirname(path)) if name.endswith(".part")]


def test_a_link_to_a_file_that_does_not_exist_yet_stays_a_link(path, tmp_path):
    os.symlink(tmp_path / "dotfiles.json", path)
    install(path)
    assert os.path.islink(path)
    remove(path)
    assert os.path.islink(path)
    assert not os.path.exists(path)


@pytest.mark.parametrize("text", ["{", "[1]", '{"a": 1, "a": 2}', "// mine\n{}", "[" * 100_000, r'{"a": "\ud800"}'])
def test_what_would_not_survive_a_rewrite_is_refused(path, text):
    with pytest.raises(Refused) as error:
        parse_json(text, path)
    assert "--dry-run" in error.value.hint


def test_an_object_is_found_or_made_but_never_put_over_something_else():
    document = {"a": {"b": 1}}
    find_object(document, ["a", "c"], "settings")["d"] = 1
    assert document == {"a": {"b": 1, "c": {"d": 1}}}
    with pytest.raises(Refused, match="is not an object"):
        find_object(document, ["a", "b"], "settings")


def test_a_file_that_is_not_utf_8_is_refused(path):
    with open(path, "wb") as file:
        file.write(b'{"a": "\xff"}')
    with pytest.raises(Refused, match="is not UTF-8"):
        read_text(path)


def test_a_kept_file_that_cannot_be_read_is_not_put_back(path):
    write(path, ODD)
    install(path)
    with open(f"{path}.before-scopes", "wb") as file:
        file.write(b"\xff")
    remove(path)
    assert json.loads(read_text(path)) == {"z": 1.5, "a": [1, 2]}


def test_a_file_that_cannot_be_deleted_is_named(path, monkeypatch):
    install(path)

    def refuse(name):
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(config_file.os, "unlink", refuse)
        with pytest.raises(Inaccessible, match=r"cannot delete .*: Read-only") as error:
            delete(path, read_text(path))
    assert error.value.hint == "delete it"


def test_a_file_that_was_changed_meanwhile_is_not_deleted(path):
    write(path, "{}")
    with pytest.raises(Busy):
        delete(path, '{"a": 1}')
    assert read_text(path) == "{}"


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (Refused("x", hint="show what to add: --dry-run"), "remove it yourself: the entry"),
        (Inaccessible("x", hint="delete it"), "delete it"),
        (Busy("x", hint="show what to add: --dry-run"), "show what to add: --dry-run"),
    ],
)
def test_only_hints_about_adding_become_hints_about_removing(error, hint):
    with pytest.raises(type(error)) as caught, advise_removal("the entry"):
        raise error
    assert caught.value.hint == hint


@pytest.mark.parametrize(("name", "inside"), [("a/b.json", True), ("out/b.json", False), ("in/b.json", True)])
def test_a_path_is_inside_by_where_its_links_lead(tmp_path, name, inside):
    project = tmp_path / "project"
    (project / "a").mkdir(parents=True)
    (tmp_path / "project-2").mkdir()
    os.symlink(tmp_path / "project-2", project / "out")
    os.symlink("a", project / "in")
    if inside:
        require_inside(str(project / name), str(project))
    else:
        with pytest.raises(Refused, match="is outside of the project"):
            require_inside(str(project / name), str(project))


@pytest.mark.parametrize("number", ["1e400", "0.12345678901234567890", "-0", "1E2", "1.50", "-0.0", "9" * 5000, "3"])
def test_a_number_stays_as_it_is_written(number):
    text = f'{{\n  "a": [\n    {number}\n  ]\n}}\n'
    assert format_json(parse_json(text, "settings")) == text


def test_a_number_that_the_user_changed_to_an_equal_one_is_a_change(path):
    write(path, '{"z": 1.5}')
    install(path)
    write(path, format_json(parse_json('{"z": 1.50, "ours": true}', path)))
    remove(path)
    assert "1.50" in read_text(path)


def test_a_copy_leaves_the_file_of_before_alone(path):
    write(path, ODD)
    backup = install(path)
    copy = config_file.keep_copy(path, "now")
    assert (read_text(backup), read_text(copy)) == (ODD, "now")
    with pytest.raises(Inaccessible, match="cannot write"):
        config_file.keep_copy(os.path.join(path, "x"), "")


def test_what_a_killed_process_left_goes_before_the_next_change(path):
    write(path, ODD)
    ours = [f"{each}.{new_id()}.part" for each in (path, f"{path}.before-scopes")]
    theirs = [f"{path}.x.part", f"{path}.{new_id()}", os.path.join(os.path.dirname(path), f"other.{new_id()}.part")]
    for each in (*ours, *theirs):
        write(each, "a full copy")
    assert config_file.read_to_change(path) == ODD
    assert not [each for each in ours if os.path.exists(each)]
    assert all(os.path.exists(each) for each in theirs)


def test_a_file_that_another_process_writes_now_stays(path, monkeypatch):
    write(path, "{}")
    seen = []

    def look():
        config_file.read_to_change(path)
        seen.extend(name for name in os.listdir(os.path.dirname(path)) if name.endswith(".part"))

    monkeypatch.setattr(config_file, "_require_unchanged", lambda *_: look())
    save(path, "{}", ODD, keep=False)
    assert (len(seen), read_text(path)) == (1, ODD)
