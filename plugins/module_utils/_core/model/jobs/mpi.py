# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""MPI: the master runs mpirun, the workers an ssh server. Keys come from Volcano's plugin ssh, the list of hosts from svc."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .pods import Extra
    from .tasks import Job, Task

HOSTS = "/tmp/paddleflow-hosts"
# For Open MPI up to 4, Open MPI from 5, Intel MPI and MPICH.
ENV = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_orte_default_hostfile": HOSTS,
    "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
    "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
    "PRTE_MCA_prte_default_hostfile": HOSTS,
    "PRTE_MCA_prte_keep_fqdn_hostnames": "1",
    "PRTE_MCA_plm_ssh_args": "-o ConnectionAttempts=10",
    "I_MPI_HYDRA_HOST_FILE": HOSTS,
    "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": "-o ConnectionAttempts=10",
    "HYDRA_HOST_FILE": HOSTS,
    "HYDRA_LAUNCH_EXTRA_ARGS": "-o ConnectionAttempts=10",
}
# The hosts of all workers, and then until each of them answers: their images may come later than the master's.
WAIT = f"""\
for file in /etc/volcano/worker*.host; do cat "$file"; echo; done >{HOSTS}
for host in $(cat {HOSTS}); do
  tries=0
  until ssh -o ConnectTimeout=3 "$host" true 2>/dev/null; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || {{ echo "paddleflow: $host does not answer by ssh" >&2; exit 1; }}
    sleep 1
  done
done
"""
# sshd wants its full name, and a directory and keys that an image may not have. What it starts has the image's paths.
SERVE = """\
mkdir -p /run/sshd
ssh-keygen -A >/dev/null
exec "$(command -v sshd || echo /usr/sbin/sshd)" -D -e \\
  -o "SetEnv=PATH=$PATH ${LD_LIBRARY_PATH:+LD_LIBRARY_PATH=$LD_LIBRARY_PATH}"
"""


def extras(job: Job) -> dict[str, Extra]:
    return {task.name: _extra(task) for task in job.tasks}


def _extra(task: Task) -> Extra:
    if task.role == "master":
        return {"defaults": ENV, "before": WAIT}
    return {} if task.spec.get("command") else {"command": SERVE, "args": ()}


def leading(job: Job) -> list[Task]:
    return [task for task in job.tasks if task.role == "master"]
