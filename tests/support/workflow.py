# SPDX-License-Identifier: Apache-2.0
"""Pipeline documents of tests, as text, and what is said of them."""

from __future__ import annotations

from typing import Any

from paddleflow_core.kube.document import load
from paddleflow_core.workflow.check import Checked, check
from paddleflow_core.workflow.document import Limits, Request

NESTED = """\
name: digits
docker_env: python:3.11
parallelism: 4
fs_options:
  main_fs: {name: lab, sub_path: exp1}
cache: {enable: true, max_expired_time: 3600, fs_scope: [{name: lab, path: exp1/src}]}
entry_points:
  make:
    command: "python src/make.py {{count}} > {{numbers}}"
    parameters:
      count: {type: int, default: 3}
    artifacts: {output: [numbers]}
  work:
    deps: make
    loop_argument: "{{items}}"
    artifacts:
      input: {items: "{{make.numbers}}"}
      output: {squares: "{{square.out}}"}
    entry_points:
      square:
        command: "python src/square.py {{num}} > {{out}}"
        parameters: {num: "{{PF_PARENT.PF_LOOP_ARGUMENT}}"}
        artifacts: {output: [out]}
  total:
    deps: work
    command: "python src/total.py {{parts}}"
    artifacts: {input: {parts: "{{work.squares}}"}}
post_process:
  report: {command: "echo done {{PF_RUN_ID}}"}
"""
REFERENCES = """\
name: two-fits
docker_env: python:3.11
failure_options: {strategy: continue}
disabled: "check"
entry_points:
  fit-a: {reference: {component: fit}, parameters: {rate: 0.1}}
  fit-b: {reference: {component: fit}}
  check: {command: "true", deps: fit-a}
  after-b: {command: "echo ok", deps: "fit-b, check"}
components:
  fit:
    command: "fit --rate {{rate}}"
    parameters: {rate: 0.01}
"""


def checked(text: str, asked: Request | None = None, limits: Limits | None = None) -> Checked:
    loaded = load(text)
    assert loaded.findings == []
    return check(loaded.value, asked or Request(), limits or Limits())


def said(text: str, asked: Request | None = None, limits: Limits | None = None) -> list[str]:
    return [("warning: " if one.warning else "") + one.text() for one in checked(text, asked, limits).findings]


def around(entry_points: str, **top: Any) -> str:
    """A document of entry points in flow style, with an image, a main file system and whatever else."""
    fields = {"name": "demo", "docker_env": "i", "fs_options": "{main_fs: {name: lab}}", **top}
    lines = [f"{name}: {value}" for name, value in fields.items() if value is not None]
    return "\n".join([*lines, f"entry_points: {entry_points}", ""])
