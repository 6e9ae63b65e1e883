# SPDX-License-Identifier: Apache-2.0
"""Where all are measured: one MinIO, the same data for everybody, one disk for every cache, one mount at a time."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import obstore
from obstore.store import S3Store

from tests.bench.agent import peers
from tests.bench.agent.daemon import Daemon, TroubleError
from tests.bench.agent.peers import NATIVE, Contender
from tests.bench.agent.wheels import pillow
from tests.support.minio import KEYS, Minio, minio
from tools import tree

CLIENT, TORCH = (Path(__file__).with_name(name) for name in ("client.py", "torch_loader.py"))
PATIENCE = 240.0  # seconds, for what no budget ends
BUCKET, JUICE = "bench", "juice"
WRITTEN = "new/file-"
MIB = 1 << 20


class Sizes(NamedTuple):
    """How much of each there is. At a scale of 1 as the protocol says."""

    small: int = 20_000
    folder: int = 1_000  # small files in one
    large: int = 1024 * MIB  # bytes of one
    larges: int = 4
    many: int = 100_000
    images: int = 20_000
    names: int = 1_000_000  # of one folder, for what they cost in memory
    created: int = 4_000
    written: int = 1024 * MIB

    def scaled(self, scale: float) -> Sizes:
        def less(number: int) -> int:
            return max(int(number * scale), 64)

        size = max(int(self.large * scale) // MIB, 16) * MIB
        return self._replace(
            small=less(self.small), folder=max(less(self.folder), 250), large=size, many=less(self.many),
            images=less(self.images), names=less(self.names), created=less(self.created), written=size,
        )  # fmt: skip

    def small_files(self) -> list[str]:
        return [f"small/{number // self.folder:03d}/{number:06d}" for number in range(self.small)]

    def large_files(self) -> list[str]:
        return [f"large/{number}" for number in range(self.larges)]

    def many_files(self) -> list[str]:
        return [f"many/{number:06d}" for number in range(self.many)]

    def image_files(self) -> list[str]:
        return [f"images/{number % 10}/{number:06d}.jpg" for number in range(self.images)]


class Measured(NamedTuple):
    """What a client found, and what it cost whoever served it: seconds of a processor, MB."""

    found: dict[str, Any]
    cpu: float
    memory: float

    @property
    def rate(self) -> float:
        return float(self.found["done"] / self.found["seconds"])


class Client:
    """A client that is ready to begin."""

    def __init__(self, words: Sequence[str], wanted: dict[str, Any], patience: float) -> None:
        self._patience = patience
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._say(json.dumps(wanted))

    def _say(self, line: str) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # what became of it is found by who reads
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()

    def ready(self) -> None:
        assert self.process.stdout is not None
        if self.process.stdout.readline() != "ready\n":
            self.process.wait(self._patience)
            raise TroubleError("the client ended before it began, as its own messages say")

    def begin(self) -> None:
        self._say("begin")

    def result(self, forgives: bool = False) -> dict[str, Any]:
        """
        :param forgives: what went wrong is counted, not raised
        :raises TroubleError:
        """
        try:
            said, _none = self.process.communicate(timeout=self._patience)
        except subprocess.TimeoutExpired:
            raise TroubleError(f"it was not done after {self._patience:g} s") from None
        if self.process.returncode:
            raise TroubleError("its client failed, as its messages say")
        found: dict[str, Any] = json.loads(said)
        if found["wrong"] and not forgives:
            raise TroubleError(f"{found['wrong']} of {found['done']} were wrong")
        return found

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


@dataclass
class Trial:
    """A mount that was just made, with an empty cache; native there is none.

    :ivar root: what users see
    """

    root: Path
    daemon: Daemon | None

    def path(self, name: str) -> str:
        return str(self.root / name)

    def paths(self, names: Sequence[str]) -> list[str]:
        return [self.path(name) for name in names]

    @contextlib.contextmanager
    def client(
        self,
        do: str,
        patience: float = PATIENCE,
        words: Sequence[str] = (sys.executable, "-I", "-S", str(CLIENT)),
        **given: Any,
    ) -> Iterator[Client]:
        one = Client(words, {"do": do, "given": given}, patience)
        try:
            one.ready()
            yield one
        except TroubleError:
            if self.daemon:
                self.daemon.kill()  # or a client that waits for it could not end
            raise
        finally:
            one.end()

    def run(self, do: str, **given: Any) -> Measured:
        """
        :raises TroubleError:
        """
        with self.client(do, **given) as client:
            before = self.daemon.cpu() if self.daemon else 0.0
            client.begin()
            found = client.result()
            after, memory = (self.daemon.cpu(), self.daemon.memory()) if self.daemon else (0.0, 0.0)
        return Measured(found, after - before, memory)

    def look(self, names: Sequence[str], seconds: float) -> list[str]:
        """Into the folders of these files, as whoever reads a data set does first; those for which there was the time."""
        looked: set[str] = set()
        deadline = time.monotonic() + seconds
        for folder in sorted({os.path.dirname(name) for name in names}):  # noqa: PTH120 (names, not files)
            if looked and time.monotonic() > deadline:
                break
            self.run("listing", folder=self.path(folder), seconds=PATIENCE)
            looked.add(folder)
        return [name for name in names if os.path.dirname(name) in looked]  # noqa: PTH120


class Stand:
    """
    :ivar native: the data as plain files
    :ivar decoder: a folder with Pillow; None without one
    :ivar pytorch: a Python that has PyTorch; None without one
    """

    def __init__(
        self, folder: Path, server: Minio, sizes: Sizes, decoder: Path | None, pytorch: Path | None = None
    ) -> None:
        self.folder, self.server, self.sizes, self.decoder, self.pytorch = folder, server, sizes, decoder, pytorch
        self.native = folder / "native"
        self._trials = 0
        self.store = S3Store(
            BUCKET, endpoint=server.url, region="us-east-1", access_key_id=KEYS.key, secret_access_key=KEYS.secret,
            virtual_hosted_style_request=False, client_options={"allow_http": True},
        )  # fmt: skip

    @property
    def loader(self) -> str:
        if self.pytorch:
            return "DataLoader of PyTorch"
        return "stand-in for a DataLoader" if self.decoder else "none, since Pillow cannot be had"

    # --- data --------------------------------------------------------------------------------

    def fill(self, juice: bool) -> None:
        """The same for everybody.

        :param juice: whether it is wanted in the form of JuiceFS, too
        """
        chance, sizes = random.Random(0), self.sizes
        block = chance.randbytes(64 * MIB)
        for name in sizes.small_files():
            start = chance.randrange(60 * MIB)
            self._write(name, [block[start : start + 4096]])
        for name in sizes.many_files():
            self._write(name, [b"x"])
        for name in sizes.large_files():
            self._write(name, (block[place % len(block) :][:MIB] for place in range(0, sizes.large, MIB)))
        if self.decoder:
            self._images()
        self._write("new/.keep", [b"x"])
        self.server.client.create_bucket(Bucket=BUCKET)
        self._upload()
        if juice:
            self._juice()

    def _write(self, name: str, blocks: Any) -> None:
        path = self.native / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            for block in blocks:
                file.write(block)

    def _images(self) -> None:
        """JPEGs of 4 to 128 KiB, of noise that is drawn out, so that they are as large as photographs of their size."""
        folder = self.folder / "images"
        folder.mkdir()
        wanted = {"paths": [str(self.native / name) for name in self.sizes.image_files()], "decoder": str(self.decoder)}
        maker = Path(__file__).with_name("images.py")
        for path in {os.path.dirname(one) for one in wanted["paths"]}:  # noqa: PTH120
            Path(path).mkdir(parents=True)
        subprocess.run([sys.executable, "-I", "-S", str(maker)], input=json.dumps(wanted), text=True, check=True)

    def _upload(self) -> None:
        def put(path: Path) -> None:
            obstore.put(self.store, str(path.relative_to(self.native)), path)

        # s3fs sees no folder without one.
        for path in self.native.rglob("*/"):
            self.server.client.put_object(Bucket=BUCKET, Key=f"{path.relative_to(self.native)}/")
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(put, (path for path in self.native.rglob("*") if path.is_file())))

    def _juice(self) -> None:
        """By its own means; it keeps files in a form of its own."""
        self.server.client.create_bucket(Bucket=JUICE)
        program = peers.program("juicefs")
        keys = {**self.environment(), "ACCESS_KEY": KEYS.key, "SECRET_KEY": KEYS.secret, "JFSBENCH": self._meta()}
        place = ["--storage", "minio", "--bucket", f"{self.server.url}/{JUICE}", "--trash-days", "0"]
        copy = ["sync", "--threads", "32", "--dirs", f"{self.native}/", "jfs://JFSBENCH/"]
        for words in (["format", *place, self._meta(), "bench"], copy):
            done = subprocess.run(
                [program, *words, "--no-agent"], env=keys, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise TroubleError(f"juicefs {words[0]}: {done.stderr[-600:]}")

    def _meta(self) -> str:
        return f"sqlite3://{self.folder}/juicefs.db"

    def environment(self) -> dict[str, str]:
        names = ("PATH", "PYTHONPATH", "LC_ALL", "PYTHONPYCACHEPREFIX")
        return {name: os.environ[name] for name in names if name in os.environ} | {"HOME": str(self.folder)}

    def stored(self, prefix: str) -> int:
        """How many objects are there."""
        return len(self._new(prefix))

    def remove(self) -> None:
        """What was written."""
        there = self._new(WRITTEN)
        for start in range(0, len(there), 1000):
            obstore.delete(self.store, there[start : start + 1000])

    def _new(self, prefix: str) -> list[str]:
        # The client knows prefixes that are folders only.
        folder = os.path.dirname(prefix)  # noqa: PTH120
        return [
            one["path"] for page in obstore.list(self.store, folder) for one in page if one["path"].startswith(prefix)
        ]

    # --- mounts ------------------------------------------------------------------------------

    @contextlib.contextmanager
    def mounted(self, one: Contender, ttl: int = 60, names: int | None = None, writes: bool = False) -> Iterator[Trial]:
        """
        :param names: for how many seconds the kernel believes what names mean, where that is less than all else
        :raises TroubleError:
        """
        if one.name == NATIVE:
            yield Trial(self.native, None)
            return
        self._trials += 1
        folder = self.folder / f"trial-{self._trials}"
        point = folder / "mount"
        point.mkdir(parents=True)
        facts = {
            "program": "" if one.is_ours else peers.program(one.name), "folder": str(folder), "point": str(point),
            "cache": str(folder / "cache"), "bucket": BUCKET, "url": self.server.url,
            "address": self.server.url.partition("://")[2], "key": KEYS.key, "secret": KEYS.secret, "meta": self._meta(),
            "ttl": str(ttl), "attributes": str(ttl), "names": str(ttl if names is None else names),
        }  # fmt: skip
        (folder / "cache").mkdir()
        peers.secure(folder, one, facts)
        environment = self.environment() | dict(one.environment)
        try:
            daemon = Daemon(one.words(writes, facts), environment, point, folder / "log")
            try:
                yield Trial(point, daemon)
            finally:
                daemon.end()
        finally:
            _empty(folder)

    def own_rate(self, do: str) -> Measured:
        """Of the client of S3 that our agent has, without a mount."""
        secrets = self.folder / "secrets"
        peers.secure(self.folder, peers.BY_NAME["large"], {"key": KEYS.key, "secret": KEYS.secret})
        wanted = {
            "do": do, "url": f"s3://{BUCKET}", "properties": {"endpoint": self.server.url, "s3ForcePathStyle": True},
            "secrets": str(secrets), "paths": self.sizes.large_files(), "size": self.sizes.large,
            "file": str(self.native / self.sizes.large_files()[0]),
        }  # fmt: skip
        client = Client([sys.executable, "-m", "tests.bench.agent.own_rate"], wanted, PATIENCE)
        try:
            client.ready()
            client.begin()
            return Measured(client.result(), 0.0, 0.0)
        finally:
            client.end()


def _empty(folder: Path) -> None:
    """Its room is given back now; files go when all is over. For minutes after a file went, an ext4 without a journal looks at its number
    again for each file that is made: whoever keeps small files would pay for what was removed between two mounts."""
    for root, _folders, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # a link or a socket
                os.close(os.open(Path(root, name), os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK))


@contextlib.contextmanager
def stand(sizes: Sizes, pytorch: Path | None) -> Iterator[Stand]:
    with tempfile.TemporaryDirectory(prefix="bench-agent-", dir=tree.cache()) as name:
        folder = Path(name)
        (folder / "server").mkdir()
        with minio(folder / "server") as server:
            yield Stand(folder, server, sizes, pillow(folder), pytorch)
