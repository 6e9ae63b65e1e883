# SPDX-License-Identifier: Apache-2.0
"""Brings the file systems of this machine to what is declared; the plan is read as JSON, and what was done is said as JSON.

`try` says which stores refuse the secrets that are declared for what is mounted, and changes nothing.
`up` sets parameters of the module fuse, then mounts, mounts anew, unmounts, and moves to the release that is installed, and brings the exporter to
what is wanted; `down` takes everything away. With `check` in the plan they only say what they would do.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from paddleflow_core.model import mount as model

from ..cli.ask import AskError
from ..files.written.folders import caches
from . import exporter, keys
from .agents import TroubleError, document
from .decide import Agent, Step, Wanted, is_due, is_ours
from .machine import Machine, Places, real, remove_empty, waits
from .services import Runit, Services, Systemd

if TYPE_CHECKING:
    from collections.abc import Callable

_PARAMETERS: Final = Path("/sys/module/fuse/parameters")


class _Task:
    """
    :ivar problems: what could not be done
    """

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan, self.check, self.force = plan, bool(plan["check"]), bool(plan["force"])
        base = Path(plan["base"])
        cache = Path(model.defaults()["data-cache-path"])
        self.places = Places(Path(plan["config"]), base / "releases", Path(plan["run"]), cache)
        services: Services = Systemd() if plan["supervisor"] == "systemd" else Runit(base, Path(plan["log"]))
        self.services = services
        self.machine = Machine(self.places, services, float(plan["patience"]), check=self.check, force=self.force)
        self.problems: list[str] = []

    def tried(self, how: Callable[[], None]) -> None:
        """What one cannot do holds up no other."""
        try:
            how()
        except (TroubleError, AskError, OSError) as error:
            self.problems.append(str(error))

    def answer(self) -> dict[str, Any]:
        return {"did": self.machine.did, "kept": self.machine.kept, "problems": self.problems}


def _kernel(task: _Task) -> None:
    """What is no longer wanted is set back to what it was."""
    wanted: dict[str, str] = task.plan["parameters"]
    if not Path("/dev/fuse").exists():
        task.machine.do(Step.LOAD, "the module fuse", _load)
    record = task.machine.record()
    before: dict[str, str] = record["parameters"]
    for name, value in sorted({**before, **wanted}.items()):
        path = _PARAMETERS / name
        try:
            now = path.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            raise TroubleError(
                f"fuse of this kernel has no parameter {name}; it has {', '.join(sorted(one.name for one in _PARAMETERS.iterdir()))}. Take it out of "
                "fuse_agent_parameters, or boot a newer kernel."
            ) from None
        if now != value:
            task.machine.do(Step.SET, f"fuse.{name} to {value}", partial(_set, path, value))
            record["parameters"] = {**record["parameters"], name: before.get(name, now)}
    kept = {name: value for name, value in record["parameters"].items() if name in wanted}
    if kept != before and not task.check:
        task.machine.keep({**record, "parameters": kept})


def up(task: _Task) -> None:
    """Every declared file system, and then everything that runs from a release of ours."""
    _kernel(task)
    if not task.check:
        task.services.reload()
    (there, silent), known = task.machine.agents(), task.machine.declared()
    left = {one.socket: one for one in silent}
    release, remade = task.places.releases / task.plan["release"], set[str]()
    for one in task.plan["mounts"]:
        point = one["point"] or known.get(one["name"], {}).get("point", "")
        wanted = Wanted(one["name"], one["state"], real(point), one["digest"])
        if task.machine.socket(wanted.point) in left:
            continue
        agent = _of(wanted.name, there) or next((found for found in there if found.point == wanted.point), None)
        anew = agent is not None and not agent.goes_on and is_due(agent, str(task.places.releases), release.name)
        remade |= {agent.socket} if agent and anew else set()
        task.tried(partial(task.machine.bring, wanted, agent, anew))
    there, silent = (there, []) if task.check else task.machine.agents(but=left)
    for agent in there:
        if agent.socket not in remade and is_due(agent, str(task.places.releases), release.name):
            task.tried(partial(task.machine.move, agent, release))
    task.tried(partial(_exporter, task, task.plan["exporter"]))
    task.problems += map(task.machine.silence, [*left.values(), *silent])


def attempt(task: _Task) -> None:
    """Only those that are not in use already."""
    there, known = task.machine.agents()[0], task.machine.declared()
    new = [
        one
        for one in task.plan["declared"]
        if one.get("secrets") and one.get("state", "mounted") == "mounted" and _of(one["name"], there)
        if (one["url"], keys.given(one)) != tuple(known.get(one["name"], {}).get(name) for name in ("url", "options"))
        or one["secrets"] != document(task.places.config / "secrets" / f"{one['name']}.json")
    ]
    with ThreadPoolExecutor(len(new) or 1) as threads:
        task.problems += filter(None, threads.map(keys.refused, new))


def down(task: _Task) -> None:
    """Nothing is unmounted before all of it is stored, and nothing removed before all of it is unmounted."""
    machine, known = task.machine, task.machine.declared()
    there, silent = machine.agents()
    ours = [agent for agent in there if is_ours(agent, str(task.places.releases))]
    roots, served = list(machine.roots()), {agent.point for agent in ours}
    if not task.force:
        task.problems += map(machine.silence, silent)  # what they hold nobody knows
        for agent in ours:
            task.tried(partial(machine.require_stored, agent))
        task.problems += [
            waits(folder, files)
            for root in roots
            for folder, point, files in caches(root)
            if files and point not in served
        ]
    if task.problems:
        return
    for agent in ours:
        if agent.name not in known:
            wanted = Wanted(agent.name, "unmounted", agent.point, "")
            task.tried(partial(machine.bring, wanted, agent))
    for name, one in known.items():
        wanted = Wanted(name, "absent", real(one.get("point", "")), "")
        task.tried(partial(machine.bring, wanted, _of(name, ours)))
    task.tried(partial(_exporter, task, []))
    declared = {machine.socket(real(one.get("point", ""))) for one in known.values()}
    task.problems += [machine.silence(one) for one in silent if one.socket not in declared]
    if not task.problems:
        _remove(task, roots)


def _exporter(task: _Task, wanted: list[str]) -> None:
    exporter.bring(task.machine, task.services, wanted, task.machine.patience)


def _remove(task: _Task, roots: list[Path]) -> None:
    machine = task.machine
    for root in roots:
        for folder, _point, files in caches(root):
            if not files and not task.check:  # of what was mounted by hand
                machine.clean(folder)
    for name, value in machine.record()["parameters"].items():
        machine.do(Step.SET, f"fuse.{name} to {value}", partial(_set, _PARAMETERS / name, value))
    for path in map(Path, task.plan["removes"]):
        if os.path.lexists(path):
            machine.do(Step.REMOVE, str(path), partial(_delete, path))
    if not task.check:
        for path in task.places.run.glob("*.json"):
            if not path.with_suffix(".sock").exists():  # of an agent that has ended
                path.unlink()
        if not any(task.places.run.glob("*.sock")):
            for name in model.RATES:  # of all mounts together
                (task.places.run / name).unlink(missing_ok=True)
        remove_empty([*map(str, roots), *task.plan["empties"]])
        task.services.reload()


def _load() -> None:
    done = subprocess.run(["modprobe", "fuse"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise TroubleError(f"This kernel has no FUSE, and its module cannot be loaded: {done.stderr.strip()}")


def _set(path: Path, value: str) -> None:
    path.write_text(value, encoding="ascii")


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _of(name: str, there: list[Agent]) -> Agent | None:
    return next((agent for agent in there if agent.name == name), None)


_VERBS: Final = {"try": attempt, "up": up, "down": down}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m paddleflow_fuse.declared", description=__doc__.partition("\n")[0])
    parser.add_argument("verb", choices=list(_VERBS))
    given = parser.parse_args()
    task = _Task(json.load(sys.stdin))
    task.tried(partial(_VERBS[given.verb], task))
    json.dump(task.answer(), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
