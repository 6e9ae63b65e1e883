# SPDX-License-Identifier: Apache-2.0
"""The components as supervised services: systemd units where systemd is the init, else one `runsv` each.

A service runs with a digest of everything it was started from in its environment. What runs with another digest than the
one that the files on disk give is restarted, so a run that was killed between writing a file and restarting its reader is
made good by the next one.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Collection
from pathlib import Path

from . import cgroups, pki
from .host import Config, Host, NodeError, Ready, Service, canonical
from .network import namespace_path

DIGEST = "PADDLEFLOW_DIGEST"
NAME = "PADDLEFLOW_SERVICE"
# What starts pods, and starts them anew.
OF_PODS = ("containerd", "kubelet")
STOP_SECONDS = "20"  # all of them are safe to kill; the API server may wait a minute for its watchers
UNITS = Path("/etc/systemd/system")


def digest(config: Config, service: Service) -> str:
    definition = {"systemd": systemd_unit, "runit": runit_script}[config.supervisor](config, service, "")
    total = hashlib.sha256((canonical(service) + config.binary + definition).encode())
    for path in service.watch:
        total.update(Path(path).read_bytes() if Path(path).exists() else b"\0absent")
    return total.hexdigest()[:16]


def environment(config: Config, service: Service, started_from: str) -> dict[str, str]:
    own = {NAME: f"{config.instance}-{service.name}", DIGEST: started_from}
    return dict(sorted((service.environment | own).items()))


# --- runit ----------------------------------------------------------------------------------------------------------


def runit_script(config: Config, service: Service, started_from: str) -> str:
    variables = environment(config, service, started_from)
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
    command = shlex.join(["nsenter", f"--net={namespace_path(config)}", "--", *service.argv])
    return (
        '#!/bin/sh\nexec 2>&1\nulimit -n "$(ulimit -H -n)"\ncd /\n'
        f"unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY\n{exports}exec {command}\n"
    )


def log_script(folder: Path) -> str:
    return f"#!/bin/sh\nexec svlogd -tt {shlex.quote(str(folder))}\n"


class Runit:
    def __init__(self, config: Config) -> None:
        self.config = config

    def folder(self, service: Service) -> Path:
        return self.config.data_dir / "services" / service.name

    def log(self, service: Service) -> Path:
        return self.config.data_dir / "log" / service.name

    def supervised(self, service: Service) -> bool:
        """runsv holds the reading end of this pipe open for as long as it lives."""
        try:
            os.close(os.open(self.folder(service) / "supervise" / "ok", os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            return False
        return True

    def pid(self, service: Service) -> int:
        try:
            return int((self.folder(service) / "supervise" / "pid").read_text().strip() or 0)
        except (FileNotFoundError, ValueError):
            return 0

    def install(self, service: Service) -> None:
        folder, log = self.folder(service), self.log(service)
        (folder / "log").mkdir(parents=True, exist_ok=True)
        log.mkdir(parents=True, exist_ok=True)
        (log / "config").write_text("s10000000\nn5\n")
        write_executable(folder / "log" / "run", log_script(log))
        write_executable(folder / "run", runit_script(self.config, service, digest(self.config, service)))

    def prepare(self, host: Host) -> None:
        """Nothing beside the services."""

    def start(self, service: Service) -> None:
        if self.supervised(service):
            Host.run(["sv", "-w", STOP_SECONDS, "up", str(self.folder(service))])
            return
        end_stray(self.pid(service), f"{self.config.instance}-{service.name}")
        subprocess.Popen(
            ["runsv", str(self.folder(service))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=lambda: cgroups.join(self.config),
        )

    def restart(self, service: Service) -> None:
        # Ends with 1 also when it had to kill, so what counts is what runs afterwards.
        if not Host.succeeds(["sv", "-w", STOP_SECONDS, "force-restart", str(self.folder(service))]):
            Host.run(["sv", "-w", STOP_SECONDS, "up", str(self.folder(service))])

    def stop(self, service: Service) -> None:
        if self.supervised(service):
            Host.succeeds(["sv", "-w", STOP_SECONDS, "force-shutdown", str(self.folder(service))])
            if self.supervised(service):
                raise NodeError(f"{service.name} does not stop: see its log in {self.log(service)}, then run again.")

    def enabled(self) -> list[str]:
        """Nothing starts at a boot."""
        return []

    def remove(self, service: Service) -> None:
        """Nothing outside the data folder."""

    def last_words(self, service: Service, lines: int = 15) -> str:
        try:
            text = (self.log(service) / "current").read_text(errors="replace")
        except FileNotFoundError:
            return "(no log)"
        return "\n".join(text.splitlines()[-lines:])


# --- systemd --------------------------------------------------------------------------------------------------------


def systemd_unit(config: Config, service: Service, started_from: str) -> str:
    """Restarted without end, for one program fails while another is away. A network namespace of its own would bring, since
    systemd 254, mounts of its own, and containerd has to see the volumes that the kubelet mounts."""
    variables = environment(config, service, started_from)
    lines = "".join(f'Environment="{name}={value}"\n' for name, value in variables.items())
    kill = "process" if service.keeps_children else "mixed"
    return f"""[Unit]
Description={config.instance}: {service.name}
Requires={config.instance}-node.service
After={config.instance}-node.service
StartLimitIntervalSec=0

[Service]
ExecStart={" ".join(systemd_quote(word) for word in service.argv)}
{lines}NetworkNamespacePath={namespace_path(config)}
PrivateMounts=no
Slice={cgroups.slice_name(config)}
Delegate=yes
KillMode={kill}
Restart=always
RestartSec=1
LimitNOFILE=1048576
TasksMax=infinity
OOMScoreAdjust=-900

[Install]
WantedBy=multi-user.target
"""


def systemd_quote(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def node_unit(config: Config) -> str:
    """What must be there before the components after a boot: namespace, mounts."""
    return f"""[Unit]
Description={config.instance}: network namespace and mounts
Before=multi-user.target
RequiresMountsFor={config.data_dir}

[Service]
Type=oneshot
RemainAfterExit=yes
Environment=PYTHONPATH={config.data_dir}/lib
ExecStart=/usr/bin/python3 -m paddleflow_node prepare --config {config.data_dir}/node.json

[Install]
WantedBy=multi-user.target
"""


class Systemd:
    def __init__(self, config: Config) -> None:
        self.config = config

    def unit(self, service: Service) -> str:
        return f"{self.config.instance}-{service.name}.service"

    @property
    def node(self) -> str:
        return f"{self.config.instance}-node.service"

    def enabled(self) -> list[str]:
        """Units that start at a boot; the node's comes last, for the others require it."""
        units = [*(self.unit(service) for service in reversed(self.config.services)), self.node]
        there = [unit for unit in units if (UNITS / unit).exists()]
        return [unit for unit in there if Host.succeeds(["systemctl", "is-enabled", "--quiet", unit])]

    def supervised(self, service: Service) -> bool:
        """Also while it waits for its next start: only `inactive` and `failed` are not looked after."""
        state = Host.run(["systemctl", "show", "--property=ActiveState", "--value", self.unit(service)]).strip()
        return state not in ("inactive", "failed")

    def pid(self, service: Service) -> int:
        return int(Host.run(["systemctl", "show", "--property=MainPID", "--value", self.unit(service)]).strip() or 0)

    def prepare(self, host: Host) -> None:
        """The node's own unit, which nothing runs from, so that nothing else tells that it is an older one."""
        path, text = UNITS / self.node, node_unit(self.config)
        if (not path.exists() or path.read_text() != text) and host.change(f"{self.node} written"):
            path.write_text(text)
            host.run(["systemctl", "daemon-reload"])

    def install(self, service: Service) -> None:
        text = systemd_unit(self.config, service, digest(self.config, service))
        (UNITS / self.unit(service)).write_text(text)
        Host.run(["systemctl", "daemon-reload"])
        Host.run(["systemctl", "enable", "--quiet", self.node, self.unit(service)])

    def start(self, service: Service) -> None:
        Host.run(["systemctl", "start", self.unit(service)])

    def restart(self, service: Service) -> None:
        Host.run(["systemctl", "restart", self.unit(service)])

    def stop(self, service: Service) -> None:
        Host.run(["systemctl", "stop", self.unit(service)])

    def remove(self, service: Service) -> None:
        for unit in (self.unit(service), self.node):
            if (UNITS / unit).exists():
                Host.run(["systemctl", "disable", "--quiet", "--now", unit])
                (UNITS / unit).unlink()
        Host.run(["systemctl", "daemon-reload"])

    def last_words(self, service: Service, lines: int = 15) -> str:
        return Host.run(["journalctl", "--no-pager", "-n", str(lines), "-u", self.unit(service)])


# Their certificates are made by themselves; whoever could answer on this loopback could do worse.
HEALTH = """
import ssl, sys, urllib.request
opener = urllib.request.build_opener(
    urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=ssl._create_unverified_context())
)
opener.open(sys.argv[1], timeout=5).close()
"""

# --- what both share ------------------------------------------------------------------------------------------------


def supervisor(config: Config) -> Runit | Systemd:
    return Systemd(config) if config.supervisor == "systemd" else Runit(config)


def write_executable(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(text)
    temporary.chmod(0o755)
    temporary.replace(path)


def process_environment(pid: int) -> dict[str, str]:
    try:
        raw = Path("/proc", str(pid), "environ").read_bytes().decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return {}
    return dict(item.split("=", 1) for item in raw.split("\0") if "=" in item)


def end_stray(pid: int, name: str) -> None:
    """A component whose supervisor was killed runs on, unsupervised: it would hold the port of the new one."""
    if pid and process_environment(pid).get(NAME) == name:
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + float(STOP_SECONDS)
        while Path("/proc", str(pid)).exists() and time.monotonic() < deadline:
            time.sleep(0.05)  # not our child: there is nothing to wait on


def running(config: Config, service: Service) -> str:
    """'' when it runs from the files as they are, else what has to be done."""
    keeper = supervisor(config)
    pid = keeper.pid(service) if keeper.supervised(service) else 0
    if not pid or not Path("/proc", str(pid)).exists():
        return "started"
    return "" if process_environment(pid).get(DIGEST) == digest(config, service) else "restarted"


def up(config: Config, host: Host) -> None:
    keeper = supervisor(config)
    keeper.prepare(host)
    for service in config.services:
        needed = running(config, service)
        if needed and host.change(f"{service.name} {needed}"):
            keeper.install(service)
            if needed == "started":
                keeper.start(service)
            else:
                keeper.restart(service)
        if service.ready and service.ready.kind != "health" and not host.check:
            wait(config, service, service.ready)
    # The last ones do not need each other to start, so they do it side by side.
    for service in config.services:
        if service.ready and service.ready.kind == "health" and not host.check:
            wait(config, service, service.ready)


def stop(config: Config, host: Host, names: Collection[str] = ()) -> None:
    """
    :param names: only these; else all
    """
    keeper = supervisor(config)
    for service in reversed(config.services):
        if names and service.name not in names:
            continue
        if keeper.supervised(service) and host.change(f"{service.name} stopped"):
            keeper.stop(service)
    # Also those that do not run: what was stopped does not come back with the next boot, nor do namespace and mounts.
    for unit in keeper.enabled() if not names else ():
        host.change(f"{unit} not at a boot", ["systemctl", "disable", "--quiet", "--now", unit])


def remove(config: Config, host: Host) -> None:
    """Once they are stopped."""
    if not host.check:
        for service in config.services:
            supervisor(config).remove(service)


def wait(config: Config, service: Service, ready: Ready) -> None:
    """Until it answers. Nothing announces that a server listens, so it is asked, ten times a second."""
    deadline = time.monotonic() + ready.timeout
    while True:
        try:
            probe(config, ready)
            return
        except OSError as error:
            if time.monotonic() > deadline:
                raise NodeError(
                    f"{service.name} does not answer on {ready.target} after {ready.timeout:.0f} s ({error}).\n"
                    f"Its last log lines:\n{supervisor(config).last_words(service)}"
                ) from None
        time.sleep(0.1)


def probe(config: Config, ready: Ready) -> None:
    """Raises OSError (urllib's errors are of that kind too) as long as the service does not answer."""
    if ready.kind == "unix":
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(ready.target)
    elif ready.kind == "tcp":
        address, _colon, port = ready.target.rpartition(":")
        if not Host.succeeds(["ip", "netns", "exec", config.instance, "true"]):
            raise OSError("the network namespace is not there")
        socket.create_connection((address, int(port)), timeout=2).close()
    elif ready.kind == "health":
        # They answer on the namespace's loopback; this interpreter cannot enter a namespace before Python 3.12.
        inside = ["ip", "netns", "exec", config.instance, sys.executable, "-I", "-c", HEALTH, ready.target]
        if not Host.succeeds(inside):
            raise OSError("its health check fails")
    else:
        folder = pki.folder(config)
        context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        context.load_cert_chain(folder / "apiserver-kubelet-client.crt", folder / "apiserver-kubelet-client.key")
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        opener.open(ready.target, timeout=5).close()


def status(config: Config) -> list[dict[str, str]]:
    keeper = supervisor(config)
    rows = []
    for service in config.services:
        pid = keeper.pid(service) if keeper.supervised(service) else 0
        state = "running" if pid else "stopped"
        if pid and running(config, service):
            state = "running with an older configuration"
        rows.append({"service": service.name, "state": state, "pid": str(pid or "")})
    return rows


def render(rows: list[dict[str, str]]) -> str:
    return json.dumps(rows, indent=1)
