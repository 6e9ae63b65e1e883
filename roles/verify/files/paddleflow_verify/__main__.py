# SPDX-License-Identifier: Apache-2.0
"""`python3 paddleflow_verify verify|demo`, settings as JSON on stdin, the result as JSON on stdout."""

from __future__ import annotations

import json
import os
import sys

if not __package__:  # started as a folder
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from paddleflow_verify.checks import Settings, verify
from paddleflow_verify.demo import demo, preview

VERBS = {"verify": verify, "demo": demo, "preview": preview}


def main() -> int:
    result = VERBS[sys.argv[1]](Settings(**json.load(sys.stdin)))
    json.dump(result, sys.stdout)
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main())
