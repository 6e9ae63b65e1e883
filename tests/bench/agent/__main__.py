# SPDX-License-Identifier: Apache-2.0
"""The agent beside its peers and a plain folder: each round does each load to each of them, in another order.

No client lasts longer than its budget of seconds: who is slow reads less, and is known by his rate. `--quick` only tries the whole thing.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time

from tests.bench.agent import peers
from tests.bench.agent.daemon import TroubleError
from tests.bench.agent.loads import LOADS, Note
from tests.bench.agent.results import CLIENT, Results
from tests.bench.agent.stand import Sizes, Stand, stand
from tests.bench.report import report

# Of the client of S3 alone, with the load that it is held against.
OWN = {"B": ("seq cold", "read"), "E": ("write 1 GiB", "store")}


def measure(place: Stand, contenders: list[peers.Contender], loads: list[str], rounds: int, seconds: float) -> Results:
    results = Results()
    for round_ in range(rounds):
        for load in loads:
            turn = round_ % len(contenders)
            for one in [*contenders[turn:], *contenders[:turn]]:
                if one.name == peers.NO_DISK and load != "B":
                    continue
                begin = time.monotonic()
                try:
                    results.add(round_, one.name, LOADS[load](place, one, seconds))
                except TroubleError as error:
                    results.trouble(one.name, load, str(error))
                    print(f"round {round_}, load {load}: {one.name}: {error}", file=sys.stderr, flush=True)
                took = time.monotonic() - begin
                print(f"round {round_}, load {load}: {one.name} took {took:.1f} s", file=sys.stderr, flush=True)
            if load in OWN:
                row, do = OWN[load]
                results.add(round_, CLIENT, [Note(row, place.own_rate(do))])
                place.remove()
    return results


def machine() -> dict[str, object]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"kernel": os.uname().release, "processors": os.cpu_count(), "memory, GiB": round(memory / 2**30)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers and sizes of files")
    parser.add_argument("--seconds", type=float, default=5.0, help="of a client, at most")
    parser.add_argument("--only", default="", help="of whom, such as: native,juicefs,large")
    parser.add_argument("--loads", default="", help=f"of {','.join(LOADS)}")
    parser.add_argument("--quick", action="store_true", help="one round, a twentieth of the data, two seconds")
    parser.add_argument("--settings", action="store_true", help="only print the table of settings")
    given = parser.parse_args()
    if given.settings:
        print(peers.settings(), end="")
        return 0
    if given.quick:
        given.rounds, given.scale, given.seconds = 1, 0.05, 2.0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # mounts and servers end with it
    loads = [name for name in LOADS if not given.loads or name in given.loads.split(",")]
    # "large, relaxed" has a comma of its own.
    only = [one.name for one in peers.CONTENDERS if one.name.replace(", ", "-") in given.only.split(",")]
    with stand(Sizes().scaled(given.scale)) as place:
        contenders, versions = place.contenders(only)
        place.fill(contenders)
        results = measure(place, contenders, loads, given.rounds, given.seconds)
        absent = place.absent
    print(results.table([one.name for one in contenders]))
    for name, why in (absent | {name: "; ".join(texts) for name, texts in results.troubles.items()}).items():
        print(f"{name}: {why}")
    return report(
        "agent",
        {
            "machine": machine(), "rounds": given.rounds, "scale": given.scale, "seconds": given.seconds, "versions": versions,
            "absent": absent, "troubles": results.troubles, "metrics": results.metrics(), "values": results.values(),
        },
    )  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())
