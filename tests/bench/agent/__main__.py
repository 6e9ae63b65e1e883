# SPDX-License-Identifier: Apache-2.0
"""The agent beside its peers and a plain folder: each round does each load to each of them, in another order.

No client lasts longer than its budget of seconds: who is slow reads less, and is known by his rate. Nothing new is begun when the minutes
are over. What was found is kept part by part: a run that was cut off goes on where it was. `--quick` only tries the whole thing.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

from tests.bench.agent import loads, peers
from tests.bench.agent.daemon import TroubleError
from tests.bench.agent.loads import Note
from tests.bench.agent.memory import memory
from tests.bench.agent.plan import CLIENT, OWN, ROUNDS, Kept, Part, plan
from tests.bench.agent.results import Results
from tests.bench.agent.stand import Sizes, Stand, stand
from tests.bench.agent.wheels import pytorch
from tests.bench.report import report
from tools import tree

LOADS = {**loads.LOADS, "M": memory}


def measure(place: Stand, parts: Sequence[Part], kept: Kept, seconds: float, deadline: float) -> None:
    """What is not known yet."""
    left = [part for part in parts if part not in kept.found]
    for number, part in enumerate(left, 1):
        begin = time.monotonic()
        if begin > deadline:
            return
        try:
            found: dict[str, Any] = {"notes": [note.told() for note in _do(place, part, seconds)]}
        except TroubleError as error:
            found = {"trouble": str(error)}
        kept.add(part, found)
        what = f"{number}/{len(left)}: round {part.round}, load {part.load}: {part.name}"
        print(f"{what} took {time.monotonic() - begin:.1f} s {found.get('trouble', '')}", file=sys.stderr, flush=True)


def _do(place: Stand, part: Part, seconds: float) -> list[Note]:
    if part.name != CLIENT:
        return LOADS[part.load](place, peers.BY_NAME[part.name], seconds)
    row, do = OWN[part.load]
    try:
        return [Note(row, place.own_rate(do))]
    finally:
        place.remove()


def machine() -> dict[str, object]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"kernel": os.uname().release, "processors": os.cpu_count(), "memory, GiB": round(memory / 2**30)}


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="at most; by load they may be fewer")
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers and sizes of files")
    parser.add_argument("--seconds", type=float, default=3.0, help="of a client, at most")
    parser.add_argument("--minutes", type=float, default=50.0, help="after which nothing is begun")
    parser.add_argument("--only", default="", help="of whom, such as: native,juicefs,large")
    parser.add_argument("--loads", default="", help=f"of {','.join(LOADS)}")
    parser.add_argument("--anew", action="store_true", help="not where an earlier run with the same settings ended")
    parser.add_argument("--quick", action="store_true", help="one round, a twentieth of the data, one second")
    parser.add_argument("--settings", action="store_true", help="only print the table of settings")
    given = parser.parse_args()
    if given.quick:
        given.rounds, given.scale, given.seconds, given.anew = 1, 0.05, 1.0, True
    return given


def main() -> int:
    given = _given()
    if given.settings:
        print(peers.settings(), end="")
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # mounts and servers end with it
    wanted = [name for name in LOADS if not given.loads or name in given.loads.split(",")]
    # "large, relaxed" has a comma of its own.
    only = [one.name for one in peers.CONTENDERS if one.name.replace(", ", "-") in given.only.split(",")]
    here, versions, absent = peers.here(only)
    parts = plan(here, wanted, given.rounds)
    settings = {"scale": given.scale, "seconds": given.seconds, "machine": machine(), "versions": versions}
    kept = Kept(tree.BUILD / "bench/agent.parts", settings)
    kept.begin(given.anew or all(part in kept.found for part in parts))
    deadline = time.monotonic() + 60 * given.minutes
    trains = any(part.load == "F" and part not in kept.found for part in parts)
    loader = None if given.quick else pytorch(installs=trains)
    with stand(Sizes().scaled(given.scale), loader) as place:
        place.fill("juicefs" in here)
        measure(place, parts, kept, given.seconds, deadline)
        settings["loader"] = place.loader
    results = Results(kept.found)
    left = sum(part not in kept.found for part in parts)
    print(results.table(here))
    for name, why in (absent | results.troubles).items():
        print(f"{name}: {why}")
    if left:
        print(f"{left} of {len(parts)} parts are left; `make bench-agent` with the same ARGS goes on with them.")
    found = {"rounds": given.rounds, **settings, "absent": absent, "troubles": results.troubles, "left": left}
    return report("agent", {**found, "metrics": results.metrics(), "values": results.values()}, results.verdicts())


if __name__ == "__main__":
    raise SystemExit(main())
