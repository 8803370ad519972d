"""What a command line does: files that it may write, commits that it can make, files that it renames."""

from __future__ import annotations

import pytest

from scopes.code_links.shell_commands import MAX_COMMAND, commit_chance, list_moves, may_write

FILE = "src/f.py"

READS = """\
cat src/f.py
cat src/f.py | head -20
head -5 src/f.py; tail -5 src/f.py
wc -l src/f.py && rm other.py
grep -n 'sed -i' src/f.py
grep -n x src/f.py > /tmp/out
rg -n 'x|y' src/f.py | sort
sed -n 1,20p src/f.py
sed 's/a/b/' src/f.py
awk '{print $1}' src/f.py
ls -l src/f.py
stat src/f.py
file src/f.py
diff src/f.py src/g.py
cmp src/f.py src/g.py
nl -ba src/f.py
test -f src/f.py && echo yes
[ -f src/f.py ] || exit 1
[[ src/f.py > x ]] && echo later
git diff src/f.py
git log -p -- src/f.py
git show HEAD:src/f.py
git status src/f.py
git add src/f.py && git commit -m 'rm src/f.py'
git blame src/f.py
git ls-files src/f.py
git grep x -- src/f.py
git -C . diff src/f.py
git checkout -b fix
git switch -c fix
git reset HEAD src/f.py
git reset --soft HEAD~1
git restore --staged src/f.py
git stash list
git apply --check x.diff
git clean -n
git clean -nd
git stash push src/f.py && make test; git stash pop
git checkout -- other.py
git checkout HEAD~1 -- other.py
python -m pytest src/f.py -q
python3 -m mypy src/f.py
pytest src/f.py 2>&1 | tail -5
go test ./... -run f.py
npm test src/f.py
uv run pytest src/f.py
ruff check src/f.py
ruff format --check src/f.py
black --check src/f.py
prettier --check src/f.py
eslint src/f.py
gofmt -l src/f.py
echo src/f.py
printf '%s' src/f.py
cd src && cat f.py
find . -name f.py
find . -name f.py -exec grep x {} +
find . -name f.py | xargs grep x
find . -name '*.go' -exec sed -i s/a/b/ {} +
find . -name '*.go' | xargs sed -i s/a/b/
du -h src/f.py
md5sum src/f.py
python src/f.py > out.txt
sed -i s/a/b/ other/f.py
sed -i s/a/b/ src/*.go
rm -rf build
rm src/conf.py
rm src/f.pyc
cp src/f.py /tmp/copy.py
D=$(mktemp -d); cd $D && git init && git checkout main
gofmt -w .
cargo fmt
go fmt ./...
echo x > other.py
python make.py 2>/dev/null
cat > notes.md <<'E'\\nsee src/f.py\\nE
git commit -m "$(cat <<'E'\\nchange src/f.py\\nE\\n)"
touch src/f.py
chmod +x src/f.py
make test
tee out.txt < src/f.py
# sed -i s/a/b/ src/f.py
"""

WRITES = """\
sed -i 's/line 30/T30/' src/f.py
sed -i 's|line 30|T30|' src/f.py
sed -i 's/line 30;*/T30/' src/f.py
sed -Ei 's/line 30/T30/' src/f.py
sed -ri s/a/b/ src/f.py
sed -n -i s/a/b/ src/f.py
sed s/a/b/ -i src/f.py
sed -i.bak s/a/b/ src/f.py
sed --in-place=.b s/a/b/ src/f.py
sed -i '' s/a/b/ src/f.py
sed -i 's/line 30/T30/' src/*.py
sed -i s/a/b/ {src,lib}/*.py
sed -i s/a/b/ src/[a-g].py
sed -i s/a/b/ "src/f.py"
sed -i s/a/b/ src\\\\/f.py
cd src && sed -i s/a/b/ f.py
for f in src/*.py; do sed -i s/a/b/ $f; done
for f in a f; do sed -i s/a/b/ "src/$f.py"; done
F=src/f.py; sed -i s/a/b/ $F
ls src | while read -r f; do sed -i s/a/b/ "$f"; done
grep -rl x . | xargs sed -i s/a/b/
find . -name f.py | xargs sed -i s/a/b/
find . -name '*.py' -exec sed -i s/a/b/ {} +
find src -name '*.py' -delete
sudo sed -i s/a/b/ src/f.py
time sed -i s/a/b/ src/f.py
bash -c 'sed -i s/a/b/ src/f.py'
bash -lc "cd src && sed -i s/a/b/ f.py"
bash <<'E'\\nsed -i s/a/b/ src/f.py\\nE
eval "sed -i s/a/b/ src/f.py"
(sed -i s/a/b/ src/f.py)
{ sed -i s/a/b/ src/f.py; }
if true; then sed -i s/a/b/ src/f.py; fi
ls & sed -i s/a/b/ src/f.py
echo $(sed -i s/a/b/ src/f.py)
echo `sed -i s/a/b/ src/f.py`
echo "$(sed -i s/a/b/ src/f.py)"
/usr/bin/sed -i s/a/b/ src/f.py
perl -pi -e 's/a/b/' src/f.py
perl -0pi -e 's|a|b|' src/f.py
perl -i -pe 's/a;/b;/' src/f.py
awk -i inplace 1 src/f.py
sort -o src/f.py src/f.py
curl -o src/f.py https://example.org
echo x > src/f.py
echo x >> src/f.py
echo x >|src/f.py
echo x &>src/f.py
echo x >"src/f.py"
{ echo x; } >src/f.py;
echo x >src/f.py;ls
(cd src; echo x >f.py)
cat > src/f.py <<'E'\\nx = 1\\nE
curl -s https://example.org | tee src/f.py
cp template.py src/f.py
cp /tmp/f.py src/
cp -r other/src .
mv src/f.py src/g.py
mv src lib
git mv src/f.py src/g.py
git mv src lib
install g src/f.py
ln -sf g src/f.py
rsync g src/f.py
rsync -a other/ src/
truncate -s 0 src/f.py
dd if=x of=src/f.py
ed src/f.py
ex -sc wq src/f.py
unzip z src/f.py
patch -p1 < x.diff
isort src/f.py
isort .
autopep8 -i src/f.py
ruff check --fix src/f.py
ruff check --fix
ruff check . --fix
eslint --fix src/f.py
git -C . checkout src/f.py
git checkout src/f.py
git checkout -- src/f.py
git checkout HEAD~1 -- src
git checkout .
git checkout -- .
git checkout main
git restore src/f.py
git restore .
git reset --hard
git reset --hard HEAD~1
git clean -fd
git merge x
git rebase main
git pull
git cherry-pick abc
git revert abc
git apply x.diff
git am x.patch
git switch main
git rm -r src
git rm --cached src/f.py
rm -rf src
rm -rf .
rm -r ./src/
rm src/*
rm -rf /work/proj/src
rm -f src/f.py
rm src/f.py src/g.py
rm 'src/f.py' || true
rm src/./f.py
python3 - <<'E'\\nfrom pathlib import Path\\np=Path('src/f.py')\\np.write_text('x')\\nE
cd src && python3 - <<'E'\\np='f.py'\\nopen(p,'w').write('x')\\nE
python3 -c "open('src/f.py', 'w')"
python gen.py src/f.py
./gen --out=src/f.py
make src/f.py
node -e 'fs.writeFileSync("src/f.py", "")'
sed -i s/a/b/ 'src/f.py
npm run format
black src/f.py
black .
black src
python -m black src/f.py
ruff format
ruff format src/f.py
uv run ruff format .
npx prettier --write src/f.py
yarn prettier --write src/f.py
gofmt -w src/f.py
gofmt -s -w lib.go src/f.py
rustfmt src/f.py
"""

BY_GIT = [
    "git commit -m x", "cd a && git -C b -c user.name=x commit -qm 'fix'", "git add -A; git commit --amend --no-edit",
    "git merge topic", "git rebase --continue", "git cherry-pick a1b2", "git revert HEAD", "git am < x.patch",
    "git pull --rebase", "sudo -u me git commit -m x", "bash -c 'git commit -m x'", "sh -lc \"cd x && git merge y\"",
    "eval git commit -m x", "echo $(git commit -m x)", "find . -name '*.patch' -exec git am {} +",
    "bash <<'E'\ngit commit -m x\nE", "jj commit -m x", "gt create -m x", "make test && git commit -m x",
    "for x in 1 2; do git commit --allow-empty -m $x; done",
]  # fmt: skip
UNKNOWN = [
    "make release", "./scripts/publish.sh", "npm version patch", "python3 -c 'print(1)'", "git ci -m x", "source x.sh",
    "bash script.sh", "gh pr merge 5", "pytest", "git commit -m 'open quote", "x" * (MAX_COMMAND + 1), "jj log",
]  # fmt: skip
NEVER = [
    "", "ls -la", "git log -1", "git show HEAD | head", "cat x && grep -n 'git commit' README.md", "echo git commit -m x",
    "git add -A && git push", "cat > x <<'E'\ngit commit -m x\nE", "find . -name '*.py'", "git stash pop", "bash",
    "git diff > x.patch", "# git commit", "cd x", "git -C x status", "sed -i s/a/b/ x && rm y",
]  # fmt: skip


def rows(text):
    return [line.replace("\\n", "\n").replace("\\\\", "\\") for line in text.splitlines()]


@pytest.mark.parametrize("command", rows(READS))
def test_a_command_that_does_not_change_the_file(command):
    assert not may_write(command, FILE)


@pytest.mark.parametrize("command", rows(WRITES))
def test_a_command_that_may_change_the_file(command):
    assert may_write(command, FILE)


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("cat > 'my dir/f.py'", "my dir/f.py"),
        ("cat > my\\ dir/f.py", "my dir/f.py"),
        ("sed -i s/a/b/ a\\ b.py", "a b.py"),
        ('sed -i s/a/b/ "it\'s é.py"', "it's é.py"),
        ("echo x > 'a[1].py'", "a[1].py"),
        ("echo x > .env", ".env"),
        ("rm ../.env", ".env"),
    ],
)
def test_a_name_with_special_characters_is_found(command, file):
    assert may_write(command, file)
    assert not may_write(command, "other.py")


def test_a_patch_in_a_command_is_no_command():
    """Its lines are read as edits, and a context line can look like a command that writes the file."""
    patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/f.py\n@@\n rm src/f.py\n*** End Patch\nEOF\n"
    assert not may_write(patch, FILE)
    assert may_write(f"{patch}sed -i s/y/z/ src/f.py", FILE)


def test_a_command_that_is_too_long_may_change_every_file_that_it_names():
    long = f"echo {'x' * MAX_COMMAND}; "
    assert may_write(f"{long}cat src/f.py", FILE)
    assert not may_write(long, FILE)


@pytest.mark.parametrize("command", BY_GIT)
def test_a_command_that_runs_git_for_it_can_commit(command):
    assert commit_chance(command) == "git"


@pytest.mark.parametrize("command", UNKNOWN)
def test_whether_another_program_or_an_alias_commits_is_unknown(command):
    assert commit_chance(command) == "unknown"


@pytest.mark.parametrize("command", NEVER)
def test_what_only_reads_or_names_git_makes_no_commit(command):
    assert commit_chance(command) == "none"


def test_scripts_in_scripts_end_somewhere():
    assert commit_chance("eval " * 50 + "git commit") == "unknown"


@pytest.mark.parametrize("command", ["mv *.py lib", "mv $A lib", "mv -t lib a.py", "echo mv a b", "rm a.py"])
def test_a_rename_with_unknown_names_is_none(command):
    assert list_moves(command) == []
