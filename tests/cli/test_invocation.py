"""Invocation: global options, directories, the selected store, confirmation."""

from __future__ import annotations

import io
import os

import pytest

from scopes.cli.command_line import before_separator
from scopes.cli.invocation import Invocation
from scopes.cli.table import GLOBAL_OPTIONS, TABLE
from scopes.errors import Inaccessible, Invalid, NotFound, Refused
from tests.cli.running import PRODUCT, scopes

NOTHING = dict.fromkeys(option.key for option in GLOBAL_OPTIONS) | {"directories": (), "settings": ()}


def invocation(*arguments, environ=None, **options):
    made = Invocation(list(arguments), environ or {"HOME": "/home/carol"})
    made.begin(TABLE.commands["list",], "scopes list", NOTHING | options)
    return made


@pytest.mark.parametrize("broken", ["\udcff", "caf\udce9", "a\ud800b"])
def test_an_argument_that_is_not_text_is_refused_with_its_position(broken):
    """A-7."""
    with pytest.raises(Invalid, match="argument 2 is not valid UTF-8"):
        Invocation(["conv", broken], {}).refuse_broken_text()


def test_every_valid_text_is_accepted():
    Invocation(["", "\x1b", "é", "\U0001f600"], {}).refuse_broken_text()


def test_empty_scopes_variables_are_unset_and_others_kept():
    made = Invocation([], {"SCOPES_STORE": "", "SCOPES_PAGER": "cat", "PAGER": ""})
    assert made.environ == {"SCOPES_PAGER": "cat", "PAGER": ""}


def test_json_is_known_before_anything_is_parsed():
    assert Invocation(["bogus", "--json"], {}).json
    assert not Invocation(["bogus", "--", "--json"], {}).json


def test_before_separator_ends_at_the_double_dash():
    assert before_separator(["a", "--", "b"]) == ["a"]
    assert before_separator(["a"]) == ["a"]


def test_repeated_directory_options_combine_as_in_git(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert invocation(directories=("a", "b")).cwd == str(tmp_path / "a" / "b")


def test_a_missing_directory_is_not_found(tmp_path):
    with pytest.raises(NotFound, match=r"directory .* not found"):
        invocation(directories=(str(tmp_path / "nowhere"),))


def test_a_file_is_not_a_directory(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotFound, match=r"directory .* not found"):
        invocation(directories=(str(tmp_path / "file"),))


def test_a_directory_with_an_impossible_name_is_inaccessible():
    with pytest.raises(Inaccessible, match="name too long"):
        invocation(directories=("x" * 5000,))


def test_a_deleted_current_directory_is_an_error(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(Inaccessible, match="current directory no longer exists"):
        _ = invocation().store_path


def test_the_store_option_wins_over_the_environment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    environ = {"SCOPES_STORE": "/from/environment"}
    assert invocation(environ=environ, store="flag").store_path == str(tmp_path / "flag")
    assert invocation(environ=environ).store_path == "/from/environment"


def test_by_default_the_store_is_the_users(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/carol")
    assert invocation().store_path == "/home/carol/.local/share/scopes/store.git"
    assert invocation(environ={"XDG_DATA_HOME": "/data"}).store_path == "/data/scopes/store.git"


def test_an_empty_store_is_refused():
    """A-3."""
    with pytest.raises(Invalid, match="--store is empty"):
        _ = invocation(store="").store_path


def test_settings_of_options_win_over_the_environment():
    made = invocation(
        environ={"SCOPES_LOCK_TIMEOUT": "3", "SCOPES_STORE": "x", "HOME": "/"}, settings=("scopes.lockTimeout=5",)
    )
    assert {key: (s.value, s.origin) for key, s in made.overrides.items()} == {"scopes.locktimeout": ("5", "flag")}


def test_a_variable_names_a_setting_without_its_underscores():
    made = invocation(environ={"SCOPES_LOCK_TIMEOUT": "3"})
    assert made.overrides["scopes.locktimeout"].value == "3"
    assert made.overrides["scopes.locktimeout"].origin == "environment"


def test_a_setting_without_a_value_is_true_as_in_git():
    assert invocation(settings=("scopes.hints",)).overrides["scopes.hints"].value == "true"


def test_a_setting_without_a_key_is_refused():
    with pytest.raises(Invalid, match="has no key"):
        invocation(settings=("=x",))


def test_an_unknown_color_choice_is_refused():
    with pytest.raises(Invalid, match="auto, always, never"):
        invocation(color="sometimes")


def test_nothing_is_recorded_before_the_store_is_open():
    assert invocation().committed is None


def asked(answer, **options):
    made = invocation(**options)
    made.stdin, made.stderr = io.StringIO(answer), io.StringIO()
    made.interactive = not options.get("no_input")
    return made


@pytest.mark.parametrize("answer", ["y\n", "YES\n", " y \n"])
def test_yes_confirms(answer):
    made = asked(answer)
    made.confirm("Delete it?")
    assert made.stderr.getvalue() == "Delete it? [y/N] "


@pytest.mark.parametrize("answer", ["n\n", "\n", "", "yesterday\n"])
def test_every_other_answer_refuses(answer):
    with pytest.raises(Refused, match="nothing was changed"):
        asked(answer).confirm("Delete it?")


def test_without_a_terminal_or_with_no_input_confirmation_is_refused():
    with pytest.raises(Refused, match="confirmation needed"):
        asked("y\n", no_input=True).confirm("Delete it?")


def test_the_yes_option_confirms_without_a_question():
    asked("", no_input=True, yes=True).confirm("Delete it?")


def test_the_environment_of_the_process_is_not_changed():
    environ = dict(os.environ)
    Invocation([], os.environ)
    assert dict(os.environ) == environ


@pytest.mark.parametrize("how", ["option", "variable"])
def test_a_named_store_that_does_not_exist_is_exit_4_for_every_reader(tmp_path, how):
    """D10: `list` printed nothing and exited with 0. Only the default store may be missing."""
    path = str(tmp_path / "typo")
    words = ("--store", path) if how == "option" else ()
    environ = {"SCOPES_STORE": path} if how == "variable" else {}
    for command in ("list", "list --json", "search x", "verify", "config", "config scopes.author"):
        done = scopes(*words, *command.split(), table=PRODUCT, env=environ)
        assert (done.returncode, path in done.stderr) == (4, True), (command, done.stderr)
    assert scopes("list", table=PRODUCT, env={"SCOPES_STORE": ""}).returncode == 0


@pytest.mark.parametrize(
    ("setting", "error"),
    [
        ("scopes.autor=carol", "error: unknown setting 'scopes.autor'\nhint: did you mean scopes.author?\n"),
        ("gpg.ssh.allowedSignersFile=/none", "error: -c is for settings of scopes, and 'gpg.ssh.allowedSignersFile'"),
    ],
)
def test_a_setting_that_scopes_does_not_have_is_refused_for_a_run(setting, error):
    done = scopes("-c", setting, "list", table=PRODUCT)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(error)


@pytest.mark.parametrize("setting", ["SCOPES.Author=carol", "scopes.model.gpt.window=9", "scopes.hints"])
def test_a_setting_that_scopes_has_is_accepted_for_a_run(setting):
    assert list(invocation(settings=(setting,)).overrides) == [setting.partition("=")[0].lower()]
