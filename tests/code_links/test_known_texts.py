"""A replacement within a line changes that line, if an earlier edit of the conversation tells the text of the file."""

from __future__ import annotations

import pytest

from scopes.code_links.edits import list_added
from scopes.code_links.known_texts import MAX_FILES, MAX_TEXT, KnownTexts
from scopes.code_links.moved_texts import list_moves, names_after
from scopes.code_links.shell_commands import Move
from scopes.model.tools import FileEdit, Replacement
from tests.code_links.test_edits import call, lines_of, result

TEXT = "first = 1\nsecond = compute(2) + 1\nthird = 3\n"


def written(text=TEXT, path="/p/app.py"):
    texts = KnownTexts()
    list_added(call("write", filePath=path, content=text), result(), texts)
    return texts


def replace(old, new, **fields):
    return FileEdit("/p/app.py", "edit", replacements=(Replacement(old, new, **fields),))


def completed(texts, edit):
    return [(each.old, each.new) for each in texts.complete(edit)]


def test_a_replacement_within_a_line_adds_the_whole_line():
    changed = call("edit", filePath="/p/app.py", oldString="compute(2)", newString="compute(3)")
    assert lines_of(list_added(changed, result())) == {"/p/app.py": ["compute(3)"]}
    assert lines_of(list_added(changed, result(), written())) == {"/p/app.py": ["second = compute(3) + 1"]}


def test_a_second_replacement_begins_where_the_first_one_ended():
    texts = written()
    list_added(call("edit", filePath="/p/app.py", oldString="compute(2)", newString="compute(3)"), result(), texts)
    second = call("edit", filePath="/p/app.py", oldString="(3) + 1", newString="(3) + 2")
    assert lines_of(list_added(second, result(), texts)) == {"/p/app.py": ["second = compute(3) + 2"]}


def test_replacements_of_one_call_see_each_other():
    edit = replace("compute(2)", "f(2)")._replace(
        replacements=(Replacement("compute(2)", "f(2)"), Replacement("f(2) +", "f(2) -"))
    )
    assert completed(written(), edit)[1] == ("second = f(2) + 1", "second = f(2) - 1")


def test_a_text_that_is_replaced_everywhere_changes_all_its_lines():
    changed = call("edit", filePath="/p/app.py", oldString=" = ", newString=": int = ", replaceAll=True)
    found = list_added(changed, result(), written())
    assert lines_of(found) == {"/p/app.py": ["first: int = 1", "second: int = compute(2) + 1", "third: int = 3"]}


def test_a_replacement_that_is_not_in_the_known_text_stays_as_it_is():
    assert completed(written(), replace("fourth = 4", "fourth = 5")) == [("fourth = 4", "fourth = 5")]
    assert completed(KnownTexts(), replace("compute(2)", "compute(3)")) == [("compute(2)", "compute(3)")]


def test_a_block_of_a_patch_has_whole_lines_already():
    assert completed(written(), replace("third = 3\n", "third = 4\n", block=True)) == [("third = 3\n", "third = 4\n")]


def test_the_text_that_a_result_records_counts_before_the_known_one():
    edit = replace("compute(2)", "compute(3)")._replace(before="other = compute(2)\n")
    assert completed(written(), edit) == [("other = compute(2)", "other = compute(3)")]


def test_a_file_that_was_deleted_renamed_or_patched_is_not_known_any_more():
    for edit in (
        FileEdit("/p/app.py", "delete"),
        FileEdit("/p/new.py", "rename", source="/p/app.py"),
        replace("this is not in it", "so that the text is unknown"),
    ):
        texts = written()
        texts.take(edit)
        assert completed(texts, replace("compute(2)", "compute(3)")) == [("compute(2)", "compute(3)")]


def test_a_refused_call_changes_no_known_text():
    texts = written()
    changed = call("edit", filePath="/p/app.py", oldString="compute(2)", newString="compute(3)")
    assert list_added(changed, result(is_error=True), texts) == []
    assert completed(texts, replace("compute(2)", "f(2)")) == [("second = compute(2) + 1", "second = f(2) + 1")]


def test_large_files_and_the_first_of_many_are_forgotten():
    large = written(f"{TEXT}{'x' * MAX_TEXT}")
    assert completed(large, replace("compute(2)", "f(2)")) == [("compute(2)", "f(2)")]
    texts = written()
    for number in range(MAX_FILES):
        texts.take(FileEdit(f"/p/{number}.py", "create", "", "text\n"))
    assert completed(texts, replace("compute(2)", "f(2)")) == [("compute(2)", "f(2)")]


@pytest.mark.parametrize(
    ("path", "move", "names"),
    [
        ("/p/app.py", Move("/p/app.py", "/p/main.py", "/p/main.py/app.py"), ["/p/main.py", "/p/main.py/app.py"]),
        ("/p/app.py", Move("app.py", "src/main.py"), ["/p/src/main.py"]),
        ("/p/src/app.py", Move("./app.py", "../main.py"), ["/p/main.py"]),
        ("src/app.py", Move("src", "lib", "lib/src"), ["lib/app.py", "lib/src/app.py"]),
        ("/p/src/a/app.py", Move("src/a", "src/b"), ["/p/src/b/app.py"]),
        ("/p/my_app.py", Move("app.py", "main.py"), []),
        ("/p/app.py", Move("/q/app.py", "main.py"), []),
        ("app.py", Move("app", "main"), []),
    ],
)
def test_a_moved_file_has_its_new_name_relative_to_the_same_directory(path, move, names):
    assert names_after(path, move) == names


@pytest.mark.parametrize(
    ("command", "moves"),
    [
        ("mv a b", [("a", "b")]),
        ("mkdir x; mv -f a x/b || echo no", [("a", "x/b")]),
        ("git mv -- a 'b c'\nls", [("a", "b c")]),
        ("mv a b c/", [("a", "c/a"), ("b", "c/b")]),
        ("mv $NAME b; mv a* c", []),
        ("rm a && echo 'mv a b'", []),
        ("mv 'a", []),
        ("ls", []),
    ],
)
def test_plain_moves_of_a_command_line_are_known(command, moves):
    assert [(each.path, each.new) for each in list_moves(call("Bash", command=command))] == moves
    assert list_moves(call("edit", command=command)) == []


def test_a_text_is_known_under_both_names_and_not_more_files_than_others():
    texts = written()
    texts.move(Move("app.py", "main.py", "main.py/app.py"))
    for path in ("/p/app.py", "/p/main.py"):
        assert completed(texts, replace("compute(2)", "compute(3)")._replace(path=path)) == [
            ("second = compute(2) + 1", "second = compute(3) + 1")
        ]
    for number in range(MAX_FILES):
        texts.move(Move("app.py", f"{number}.py"))
    assert len(texts._texts) == MAX_FILES
