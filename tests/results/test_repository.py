"""One commit per target's run, whatever the operator is doing in the repository meanwhile."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from console.errors import CommitError, HookRefusedError, RepositoryBusyError
from console.results.git import Git
from console.results.record import folder_of
from console.results.repository import Repository, last_message
from console.schema.record import Record
from console.secrets import Redactor

GitCommand = Callable[..., str]
REDACTOR = Redactor()


def other(record: Record, number: int, target: str = "gpu7/llm") -> Record:
    return record.model_copy(update={"run": f"01KAYX5V00000000000000{number:04d}", "target": target})


def hook(results: Path, name: str, script: str) -> None:
    path = results / ".git" / "hooks" / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


class TestCommit:
    def test_into_a_new_repository(
        self, repository: Repository, record: Record, results: Path, git: GitCommand
    ) -> None:
        sha = repository.commit_target(record, REDACTOR)
        assert git("rev-parse", "HEAD").strip() == sha
        assert git("ls-tree", "-r", "--name-only", "HEAD").split() == [
            f"gpu7/llm/2026/{record.run}/{name}" for name in ("record.json", "report.md")
        ]
        assert git("status", "--porcelain") == ""
        assert git("symbolic-ref", "HEAD").strip() == "refs/heads/main"
        assert repository.notes == []

    def test_into_an_empty_folder(self, repository: Repository, record: Record, results: Path, git: GitCommand) -> None:
        results.mkdir()
        repository.commit_target(record, REDACTOR)
        assert git("rev-list", "--count", "HEAD").strip() == "1"

    def test_into_a_repository_without_a_commit(
        self, repository: Repository, record: Record, results: Path, git: GitCommand
    ) -> None:
        results.mkdir()
        git("init", "-q", "-b", "trunk")
        repository.commit_target(record, REDACTOR)
        assert git("symbolic-ref", "HEAD").strip() == "refs/heads/trunk"

    def test_a_second_time_is_the_same_commit(self, repository: Repository, record: Record, git: GitCommand) -> None:
        first = repository.commit_target(record, REDACTOR)
        repository.commit_target(other(record, 1), REDACTOR)
        assert repository.commit_target(record, REDACTOR) == first
        assert git("rev-list", "--count", "HEAD").strip() == "2"

    def test_the_author_is_who_git_knows(self, repository: Repository, record: Record, git: GitCommand) -> None:
        repository.commit_target(record, REDACTOR)
        assert git("log", "-1", "--format=%an <%ae>").strip() == "Test Operator <operator@test.invalid>"

    def test_without_an_identity_the_login_is_the_author_and_it_is_said(
        self, repository: Repository, record: Record, git: GitCommand, clean_environment: Path
    ) -> None:
        (clean_environment / ".gitconfig").write_text("[user]\n    useConfigOnly = true\n")
        repository.commit_target(record, REDACTOR)
        author = git("log", "-1", "--format=%an <%ae>").strip()
        login = author.split()[0]
        assert author.startswith(f"{login} <{login}@")
        assert repository.notes == [f"git knows no identity: committed as {author}"]

    def test_secrets_reach_no_object(
        self, repository: Repository, record: Record, results: Path, git: GitCommand
    ) -> None:
        redactor = Redactor()
        redactor.learn("canary-value")
        leaky = record.model_copy(
            update={
                "message": "engine said canary-value",
                "argv_after": ("engine", "--api-key", "canary-2"),
                "diff": '-Environment="HF_TOKEN=canary 3"\n+Environment="HF_TOKEN=canary 4"\n',
                "facts_after": {"process": {"environment": {"API_KEY": "canary-5"}}},
                "reason": "see https://u:canary-6@x.example",
            }
        )
        repository.commit_target(leaky, redactor)
        objects = git("cat-file", "--batch-all-objects", "--batch")
        assert "canary" not in objects
        assert "***" in objects

    def test_a_changed_key_shows_as_changed_and_an_unchanged_one_does_not(
        self, repository: Repository, record: Record, git: GitCommand
    ) -> None:
        redactor = Redactor(lambda: b"k" * 32)
        leaky = record.model_copy(
            update={
                "argv_before": ("engine", "--api-key", "canary-one"),
                "argv_after": ("engine", "--api-key", "canary-two"),
                "diff": '-Environment="HF_TOKEN=canary 3"\n+Environment="HF_TOKEN=canary 3"\n',
            }
        )
        repository.commit_target(leaky, redactor)
        assert "canary" not in git("cat-file", "--batch-all-objects", "--batch")
        told = json.loads(git("show", f"HEAD:{folder_of(record)}/record.json"))
        assert told["argv_before"][2] != told["argv_after"][2]
        assert len({line[1:] for line in told["diff"].splitlines()}) == 1

    def test_ignore_rules_are_not_about_records(
        self, repository: Repository, record: Record, results: Path, git: GitCommand
    ) -> None:
        results.mkdir()
        git("init", "-q")
        (results / ".gitignore").write_text("*\n")
        repository.commit_target(record, REDACTOR)
        assert "record.json" in git("ls-tree", "-r", "--name-only", "HEAD")

    def test_a_message_with_hash_lines_survives_any_cleanup(
        self, repository: Repository, record: Record, git: GitCommand
    ) -> None:
        repository.open()
        git("config", "commit.cleanup", "strip")
        repository.commit_target(record.model_copy(update={"note": "#1 first of all"}), REDACTOR)
        assert "#1 first" in last_message(repository.path)


class TestBesideTheOperator:
    @pytest.fixture(autouse=True)
    def _a_repository_in_use(self, repository: Repository, results: Path, git: GitCommand) -> None:
        results.mkdir()
        git("init", "-q")
        (results / "notes.md").write_text("one\n")
        git("add", "notes.md")
        git("commit", "-q", "-m", "notes")

    def test_what_they_staged_stays_staged_and_uncommitted(
        self, repository: Repository, record: Record, results: Path, git: GitCommand
    ) -> None:
        (results / "notes.md").write_text("two\n")
        git("add", "notes.md")
        (results / "notes.md").write_text("three\n")
        (results / "new.md").write_text("new\n")
        git("add", "new.md")
        before = git("status", "--porcelain")
        repository.commit_target(record, REDACTOR)
        assert git("status", "--porcelain") == before == "A  new.md\nMM notes.md\n"
        assert git("show", "--format=", "--name-only", "HEAD").split()[0].startswith("gpu7/")
        assert (results / "notes.md").read_text() == "three\n"

    def test_a_hook_that_refuses_is_named_and_nothing_stays_staged(
        self, repository: Repository, record: Record, results: Path, git: GitCommand
    ) -> None:
        git("add", "notes.md")
        hook(results, "pre-commit", "echo 'policy: no commits on Friday' >&2; exit 1")
        head = git("rev-parse", "HEAD")
        with pytest.raises(HookRefusedError, match="no commits on Friday") as caught:
            repository.commit_target(record, REDACTOR)
        assert "console recover" in caught.value.hint
        assert git("rev-parse", "HEAD") == head
        assert git("diff", "--cached", "--name-only") == ""
        assert (results / folder_of(record) / "record.json").is_file()

    def test_once_the_hook_lets_it_it_is_committed(
        self, repository: Repository, record: Record, results: Path, git: GitCommand
    ) -> None:
        hook(results, "commit-msg", "exit 1")
        with pytest.raises(HookRefusedError):
            repository.commit_target(record, REDACTOR)
        (results / ".git" / "hooks" / "commit-msg").unlink()
        sha = repository.commit_target(record, REDACTOR)
        assert git("rev-parse", "HEAD").strip() == sha

    def test_hooks_see_the_commit(self, repository: Repository, record: Record, results: Path, git: GitCommand) -> None:
        hook(results, "pre-commit", "git diff --cached --name-only > seen")
        hook(results, "commit-msg", 'echo "Signed-off-by: Hook <hook@test.invalid>" >> "$1"')
        repository.commit_target(record, REDACTOR)
        assert f"{folder_of(record)}/record.json" in (results / "seen").read_text()
        assert git("log", "-1", "--format=%(trailers:key=Run-Id,valueonly)").strip() == record.run
        assert repository.notes == []

    def test_a_hook_that_breaks_the_message_is_noted(
        self, repository: Repository, record: Record, results: Path
    ) -> None:
        hook(results, "commit-msg", 'echo rewritten > "$1"')
        sha = repository.commit_target(record, REDACTOR)
        assert repository.notes == [f"{sha[:12]}: a hook changed the message, its trailers do not parse"]

    def test_a_hook_that_never_ends_is_ended(
        self, repository: Repository, record: Record, results: Path, git: GitCommand, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("console.results.repository.COMMIT_TIMEOUT_S", 0.3)
        hook(results, "pre-commit", "echo $$ > hook.pid; sleep 600")
        with pytest.raises(CommitError, match="did not end within"):
            repository.commit_target(record, REDACTOR)
        assert not (results / ".git" / "index.lock").exists()
        assert git("diff", "--cached", "--name-only") == ""
        pid = int((results / "hook.pid").read_text())
        state = Path(f"/proc/{pid}/stat")
        assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"

    def test_signing_that_fails_is_no_unsigned_commit(
        self, repository: Repository, record: Record, git: GitCommand
    ) -> None:
        git("config", "commit.gpgsign", "true")
        git("config", "gpg.program", "false")
        head = git("rev-parse", "HEAD")
        with pytest.raises(HookRefusedError, match="signing failed"):
            repository.commit_target(record, REDACTOR)
        assert git("rev-parse", "HEAD") == head
        assert git("diff", "--cached", "--name-only") == ""

    def test_signing_is_honoured(
        self, repository: Repository, record: Record, results: Path, git: GitCommand, tmp_path: Path
    ) -> None:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "key")], check=True)
        git("config", "gpg.format", "ssh")
        git("config", "user.signingkey", str(tmp_path / "key"))
        git("config", "commit.gpgsign", "true")
        repository.commit_target(record, REDACTOR)
        assert "gpgsig" in git("cat-file", "-p", "HEAD")

    @pytest.mark.parametrize("name", ["index.lock", "HEAD.lock"])
    def test_a_lock_of_another_git_is_waited_for(
        self, repository: Repository, record: Record, results: Path, git: GitCommand, name: str
    ) -> None:
        lock = results / ".git" / name
        lock.touch()
        timer = threading.Timer(0.3, lock.unlink)
        timer.start()
        assert repository.commit_target(record, REDACTOR) == git("rev-parse", "HEAD").strip()
        timer.join()

    @pytest.mark.parametrize("name", ["index.lock", "HEAD.lock"])
    def test_a_lock_that_stays_is_named_and_never_removed(
        self, results: Path, record: Record, git: GitCommand, name: str
    ) -> None:
        lock = results / ".git" / name
        lock.touch()
        head = git("rev-parse", "HEAD")
        repository = Repository(results, environment=os.environ, busy_patience_s=0.2, sleep=lambda _s: None)
        with pytest.raises(RepositoryBusyError) as caught:
            repository.commit_target(record, REDACTOR)
        assert str(lock) in caught.value.hint
        assert lock.exists()
        assert git("rev-parse", "HEAD") == head

    def test_a_merge_in_progress(self, repository: Repository, record: Record, results: Path, git: GitCommand) -> None:
        git("checkout", "-q", "-b", "side")
        (results / "notes.md").write_text("side\n")
        git("commit", "-q", "-am", "side")
        git("checkout", "-q", "-")
        (results / "notes.md").write_text("main\n")
        git("commit", "-q", "-am", "main")
        subprocess.run(["git", "merge", "-q", "side"], cwd=results, capture_output=True)
        with pytest.raises(CommitError, match="a merge is not finished"):
            repository.commit_target(record, REDACTOR)
        assert "UU notes.md" in git("status", "--porcelain")

    def test_a_detached_head(self, repository: Repository, record: Record, git: GitCommand) -> None:
        git("checkout", "-q", "--detach")
        with pytest.raises(CommitError, match="HEAD is detached"):
            repository.commit_target(record, REDACTOR)

    @pytest.mark.parametrize("damage", ["HEAD", "index", "ref"])
    def test_a_damaged_repository_is_an_error_of_ours(
        self, repository: Repository, record: Record, results: Path, damage: str
    ) -> None:
        path = next((results / ".git" / "refs" / "heads").iterdir()) if damage == "ref" else results / ".git" / damage
        path.write_bytes(b"\x00garbage")
        with pytest.raises(CommitError) as caught:
            repository.commit_target(record, REDACTOR)
        assert str(results) in caught.value.where


class TestPlaces:
    def test_a_folder_inside_another_repository_gets_one_of_its_own(
        self, tmp_path: Path, record: Record, git: GitCommand
    ) -> None:
        git("init", "-q", at=tmp_path)
        inner = tmp_path / "ops" / "findings"
        Repository(inner, environment=os.environ).commit_target(record, REDACTOR)
        assert (inner / ".git").is_dir()
        assert git("rev-list", "--all", "--count", at=tmp_path).strip() == "0"

    def test_a_used_folder_inside_another_repository_is_refused(
        self, tmp_path: Path, record: Record, git: GitCommand
    ) -> None:
        git("init", "-q", at=tmp_path)
        inner = tmp_path / "findings"
        inner.mkdir()
        (inner / "notes.md").write_text("x")
        with pytest.raises(CommitError, match="is not a git repository and not empty") as caught:
            Repository(inner, environment=os.environ).commit_target(record, REDACTOR)
        assert caught.value.hint == f"git init {inner}"
        assert [path.name for path in inner.iterdir()] == ["notes.md"]

    def test_a_bare_repository(self, results: Path, record: Record, repository: Repository, git: GitCommand) -> None:
        results.mkdir()
        git("init", "-q", "--bare")
        with pytest.raises(CommitError, match="bare repository"):
            repository.commit_target(record, REDACTOR)

    def test_a_linked_worktree(self, tmp_path: Path, record: Record, git: GitCommand) -> None:
        main = tmp_path / "main"
        main.mkdir()
        git("init", "-q", at=main)
        git("commit", "-q", "--allow-empty", "-m", "first", at=main)
        git("worktree", "add", "-q", "-b", "records", str(tmp_path / "linked"), at=main)
        sha = Repository(tmp_path / "linked", environment=os.environ).commit_target(record, REDACTOR)
        assert git("rev-parse", "records", at=main).strip() == sha

    def test_a_file_where_the_folder_should_be(self, results: Path, record: Record, repository: Repository) -> None:
        results.write_text("not a folder")
        with pytest.raises(CommitError, match="cannot make it"):
            repository.commit_target(record, REDACTOR)

    def test_a_file_in_the_way_of_a_record(self, results: Path, record: Record, repository: Repository) -> None:
        repository.open()
        (results / "gpu7").write_text("in the way")
        with pytest.raises(CommitError, match="cannot write"):
            repository.commit_target(record, REDACTOR)

    def test_without_git(self, results: Path, record: Record, tmp_path: Path) -> None:
        with pytest.raises(CommitError, match="git is not installed"):
            Repository(results, environment={"PATH": str(tmp_path)}).commit_target(record, REDACTOR)

    def test_the_environment_of_a_hook_leads_nowhere_else(
        self, results: Path, record: Record, tmp_path: Path, git: GitCommand
    ) -> None:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        git("init", "-q", at=elsewhere)
        hostile = {
            "GIT_DIR": str(elsewhere / ".git"),
            "GIT_WORK_TREE": str(elsewhere),
            "GIT_INDEX_FILE": "/nonexistent",
            "GIT_OBJECT_DIRECTORY": "/nonexistent",
            "GIT_AUTHOR_DATE": "2001-01-01T00:00:00",
            "GIT_CONFIG_PARAMETERS": "x",
        }
        sha = Repository(results, environment={**os.environ, **hostile}).commit_target(record, REDACTOR)
        assert git("rev-parse", "HEAD").strip() == sha
        assert git("rev-list", "--all", "--count", at=elsewhere).strip() == "0"
        assert not git("log", "-1", "--format=%as").startswith("2001")


class TestPush:
    @pytest.fixture
    def upstream(self, tmp_path: Path, repository: Repository, results: Path, git: GitCommand) -> Path:
        path = tmp_path / "origin.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(path)], check=True)
        repository.open()
        git("commit", "-q", "--allow-empty", "-m", "first")
        git("remote", "add", "origin", str(path))
        git("push", "-q", "-u", "origin", "main")
        return path

    def test_to_the_upstream(self, repository: Repository, record: Record, upstream: Path, git: GitCommand) -> None:
        sha = repository.commit_target(record, REDACTOR)
        assert git("rev-parse", "main", at=upstream).strip() == sha
        assert repository.unpushed() == 0

    def test_never_when_told_so(self, results: Path, record: Record, upstream: Path, git: GitCommand) -> None:
        repository = Repository(results, push="never", environment=os.environ)
        repository.commit_target(record, REDACTOR)
        repository.commit_target(other(record, 1), REDACTOR)
        assert repository.unpushed() == 2
        assert repository.notes == []

    def test_no_upstream_is_nothing_to_say(self, repository: Repository, record: Record) -> None:
        repository.commit_target(record, REDACTOR)
        assert repository.unpushed() is None
        assert repository.notes == []

    def test_a_server_that_is_gone_is_a_note_and_counted(
        self, repository: Repository, record: Record, upstream: Path, git: GitCommand
    ) -> None:
        shutil.rmtree(upstream)
        sha = repository.commit_target(record, REDACTOR)
        assert git("rev-parse", "HEAD").strip() == sha
        assert "not pushed to origin" in repository.notes[0]
        assert repository.unpushed() == 1

    def test_records_of_two_clones_merge_without_conflict(
        self, repository: Repository, record: Record, upstream: Path, tmp_path: Path, git: GitCommand
    ) -> None:
        clone = tmp_path / "colleague"
        subprocess.run(["git", "clone", "-q", str(upstream), str(clone)], check=True)
        Repository(clone, environment=os.environ).commit_target(other(record, 1), REDACTOR)
        repository.commit_target(record, REDACTOR)
        git("pull", "-q", "--rebase")
        assert len(git("ls-tree", "-r", "--name-only", "HEAD").split()) == 4


class TestAtOnce:
    def test_threads_of_one_run(self, repository: Repository, record: Record, git: GitCommand) -> None:
        records = [other(record, number, f"gpu{number}/llm") for number in range(8)]
        failures: list[BaseException] = []

        def commit(one: Record) -> None:
            try:
                repository.commit_target(one, REDACTOR)
            except BaseException as error:  # noqa: BLE001 - shown by the assertion
                failures.append(error)

        threads = [threading.Thread(target=commit, args=(one,)) for one in records]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert git("rev-list", "--count", "HEAD").strip() == "8"
        assert git("status", "--porcelain") == ""

    def test_processes_of_several_operators(self, record: Record, results: Path, git: GitCommand) -> None:
        script = (
            "import os, sys; from pathlib import Path; from console.results.repository import Repository;"
            "from console.schema.record import Record; from console.secrets import Redactor;"
            "Repository(Path(sys.argv[1]), environment=os.environ)"
            ".commit_target(Record.model_validate_json(sys.stdin.read()), Redactor())"
        )
        started = [
            (
                subprocess.Popen([sys.executable, "-c", script, str(results)], stdin=subprocess.PIPE, text=True),
                other(record, n),
            )
            for n in range(4)
        ]
        for process, one in started:
            process.communicate(one.model_dump_json(by_alias=True))
        assert [process.returncode for process, _ in started] == [0, 0, 0, 0]
        assert git("rev-list", "--count", "HEAD").strip() == "4"

    def test_our_lock_held_without_end_is_said(
        self, repository: Repository, record: Record, results: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repository.open()
        monkeypatch.setattr("console.results.repository.COMMIT_TIMEOUT_S", 0.2)
        with (results / ".git" / "console.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with pytest.raises(RepositoryBusyError, match="another console is committing"):
                repository.commit_target(record, REDACTOR)


def test_git_does_not_see_our_terminal(results: Path) -> None:
    results.mkdir()
    assert Git(results, os.environ).run("version").ok
    leader = Git(results, os.environ).run("-c", "alias.s=!ps -o sid= -p $$; true", "s")
    assert leader.out.strip() != str(os.getsid(0))
