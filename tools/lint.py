# SPDX-License-Identifier: Apache-2.0
"""Every check that reads the tree and runs nothing of it. All run, even after one failed; a missing tool is a failure.

`python -m tools.lint [check ...]` runs some of them; without names, all.
"""

from __future__ import annotations

import ast
import fcntl
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path

from tools import collection, tree

BIN = Path(sys.executable).parent

# ansible-test fetches this program from its vendor's host to make its virtual environments, unless a copy lies in its cache.
GET_PIP = """\
# SPDX-License-Identifier: Apache-2.0
import subprocess, sys
subprocess.check_call([sys.executable, "-m", "ensurepip"])
arguments = [item for item in sys.argv[1:] if item not in ("--no-setuptools", "--no-wheel")]
sys.exit(subprocess.call([sys.executable, "-m", "pip", "install", *arguments]) if arguments else 0)
"""
SILENCE = 30  # seconds after which it is said what is still running
GET_PIP_VERSIONS = ("24_2", "23_1_2", "21_3_1", "20_3_4")


class CheckError(Exception):
    """What a check found by itself."""


def run(*command: str, cwd: Path = tree.ROOT, env: Mapping[str, str] | None = None) -> None:
    """Show a command and run it; its failure is the check's."""
    print(f"+ {shlex.join(command)}", flush=True)
    subprocess.run(command, cwd=cwd, env={**os.environ, "NO_COLOR": "1", **(env or {})}, check=True)


def tool(name: str) -> str:
    """A program of build/venv, whatever PATH says."""
    return str(BIN / name)


def matching(*patterns: str) -> list[str]:
    return [str(path) for path in tree.files() if any(path.match(pattern) for pattern in patterns)]


def ruff() -> None:
    run(tool("ruff"), "check", "--no-cache")
    run(tool("ruff"), "format", "--no-cache", "--check")


def role_programs() -> tuple[list[str], list[str]]:
    """The Python files that roles carry, which belong to no package of ours, and the folders they are run from."""
    scripts = matching("roles/*/files/*.py", "roles/*/files/*/*.py")
    return scripts, sorted({str(Path(*Path(script).parts[:3])) for script in scripts})


def mypy() -> None:
    """Both names of the library in one run; the tests also import what roles carry."""
    packages = ["ansible_collections.paddleflow.core.plugins", "tools", "tests"]
    packages += sorted(path.name for path in (tree.BUILD / "py").iterdir())
    folders = ["build/collections", "build/py", ".", *role_programs()[1]]
    run(tool("mypy"), *(word for package in packages for word in ("-p", package)), env={"MYPYPATH": ":".join(folders)})


def mypy_roles() -> None:
    scripts, folders = role_programs()
    run(tool("mypy"), *scripts, env={"MYPYPATH": ":".join(folders)})


def layers() -> None:
    run(tool("lint-imports"), "--cache-dir", "build/import-linter", env={"PYTHONPATH": "build/py"})


def yamllint() -> None:
    run(tool("yamllint"), "--strict", ".")


def ansible_lint() -> None:
    run(tool("ansible-lint"), "--offline", "--profile", "production")


def docs() -> None:
    """What plugins and roles say of themselves, and the reference that is built of it into build/docs."""
    run(tool("antsibull-docs"), "lint-collection-docs", "--plugin-docs", "--skip-rstcheck", ".")
    target = tree.BUILD / "docs"
    target.mkdir(parents=True, exist_ok=True)
    form = ("--squash-hierarchy", "--output-format", "simplified-rst")
    where = ("--dest-dir", str(target), "paddleflow.core")
    run(tool("antsibull-docs"), "collection", "--use-current", "--fail-on-error", *form, *where)


def changelog() -> None:
    run(tool("antsibull-changelog"), "lint")


def sanity() -> None:
    ansible_test("sanity", "--skip-test", "pylint")


def pylint() -> None:
    """The one test of ansible-test that takes longer than all its others together, so that they run beside it."""
    ansible_test("pylint", "--test", "pylint")


def ansible_test(name: str, *tests: str) -> None:
    """In a copy, since ansible-test refuses a symlinked tree, and in a home of its own, since it keeps its environments there:
    by what they hold, so that they serve every checkout."""
    work = tree.BUILD / "sanity" / name / "ansible_collections/paddleflow/core"
    environments, kept = work / "tests/output", tree.BUILD / "sanity" / f"{name}-output"
    if environments.is_dir():
        shutil.rmtree(kept, ignore_errors=True)
        environments.rename(kept)
    tree.copy(tree.files(), work)
    if kept.is_dir():
        kept.rename(environments)
    run("git", "init", "--quiet", cwd=work)
    home = tree.cache() / "ansible-test" / name
    cache = home / ".ansible/test/cache"
    cache.mkdir(parents=True, exist_ok=True)
    for version in GET_PIP_VERSIONS:
        (cache / f"get_pip_{version}.py").write_text(GET_PIP, encoding="utf-8")
    write_pip_configuration(home / ".config/pip/pip.conf")
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    command = [tool("ansible-test"), "sanity", "--venv", "--python", python, "--color", "no", *tests]
    with (home / "lock").open("w") as lock:  # it makes them without looking whether another does
        fcntl.flock(lock, fcntl.LOCK_EX)
        run(*command, cwd=work, env={"HOME": str(home)})


def write_pip_configuration(target: Path) -> None:
    """ansible-test passes no PIP_* variable on, and the home is not the user's: what pip is told here, it has to read there."""
    listing = subprocess.run([tool("pip"), "config", "list"], check=True, capture_output=True, text=True).stdout
    settings = {}
    for line in listing.splitlines():
        name, _equals, value = line.partition("=")
        settings[name.rpartition(".")[2]] = str(ast.literal_eval(value))
    target.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{name} = {value}".replace("\n", "\n  ") for name, value in settings.items()]
    target.write_text("\n".join(["[global]", *lines, ""]), encoding="utf-8")


def importer() -> None:
    """What Galaxy does with the tarball, in a folder of its own, since it unpacks and logs where it stands."""
    tarball = collection.build()
    folder = tree.BUILD / "importer"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    # Its ansible-doc runs without our environment, and would write into the user's own Ansible folder.
    done = subprocess.run(
        [sys.executable, "-m", "galaxy_importer.main", str(tarball)],
        cwd=folder, env={**os.environ, "HOME": str(folder)}, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    print(done.stdout, end="", flush=True)
    done.check_returncode()
    complaints = importer_complaints(done.stdout)
    if complaints:
        raise CheckError(f"{len(complaints)} warnings, the first: {complaints[0]}")


def importer_complaints(log: str) -> list[str]:
    """It succeeds with warnings, the findings of its ansible-lint among them."""
    return [line for line in log.splitlines() if line.startswith(("WARNING: ", "ERROR: ", "CRITICAL: "))]


def shellcheck() -> None:
    program = shutil.which("shellcheck")
    if program is None:
        raise FileNotFoundError("shellcheck is not installed: run `make deps`")
    scripts = [str(path) for path in tree.files() if path.suffix in {"", ".sh"} and is_shell(tree.ROOT / path)]
    run(program, *scripts)


def is_shell(path: Path) -> bool:
    with path.open("rb") as file:
        first = file.readline()
    return first.startswith(b"#!") and first.rstrip().endswith((b"/sh", b"bash", b" sh"))


def go_fmt() -> None:
    run(sys.executable, "-m", "tools.go", "fmt")


def go_vet() -> None:
    run(sys.executable, "-m", "tools.go", "vet")


def generated() -> None:
    run(sys.executable, "-m", "tools.generate", "--check", env={"PYTHONPATH": "build/py:."})


# In the order in which they begin: the longest first, so that all others run beside it.
CHECKS: dict[str, Callable[[], None]] = {
    "pylint": pylint,
    "sanity": sanity,
    "ruff": ruff,
    "mypy": mypy,
    "mypy-roles": mypy_roles,
    "layers": layers,
    "generated": generated,
    "yamllint": yamllint,
    "changelog": changelog,
    "shellcheck": shellcheck,
    "docs": docs,
    "ansible-lint": ansible_lint,
    "importer": importer,
    "gofmt": go_fmt,
    "govet": go_vet,
}


def check(name: str) -> int:
    print(f"--- {name}", flush=True)
    start, failure = time.monotonic(), ""
    try:
        CHECKS[name]()
    except subprocess.CalledProcessError as error:
        failure = f"exit code {error.returncode}"
    except (OSError, CheckError) as error:
        failure = str(error)
    if failure:
        print(f"FAILED {name}: {failure}", flush=True)
    print(f"--- {name}: {time.monotonic() - start:.1f} s", flush=True)
    return 1 if failure else 0


def alone(name: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, since others run beside it, with what it says in one piece."""
    return subprocess.run(
        [sys.executable, "-m", "tools.lint", name],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip


def main(names: list[str]) -> int:
    unknown = sorted(set(names) - set(CHECKS))
    if unknown:
        print(f"no such check: {', '.join(unknown)}; there are {', '.join(CHECKS)}")
        return 2
    names = names or list(CHECKS)
    if len(names) == 1:
        return check(names[0])
    failed = []
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        running = {threads.submit(alone, name): name for name in names}
        began = time.monotonic()
        while running:
            ended, _others = wait(running, timeout=SILENCE, return_when=FIRST_COMPLETED)
            for one in ended:
                name, done = running.pop(one), one.result()
                print(done.stdout, end="", flush=True)
                failed += [name] * bool(done.returncode)
            if not ended:
                print(
                    f"after {time.monotonic() - began:.0f} s still to come: {', '.join(running.values())}", flush=True
                )
    if failed:
        print(f"failed: {', '.join(failed)} (`make lint CHECKS={failed[0]}` runs one alone)")
    print(f"{len(names) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
