# SPDX-License-Identifier: Apache-2.0
"""What becomes of each error of the client, as it is told by the client."""

from __future__ import annotations

import errno

import pytest
from paddleflow_fuse.sources.hdfs.failures import SilentError, of


def remote(name: str, said: str = "said", fatal: bool = False) -> RuntimeError:
    """Of the cluster, with the places in Java's code."""
    return RuntimeError(
        f'{"Fatal" if fatal else ""}RPCError("{name}", "{said}\\n\\tat org.apache.hadoop.Some.code(Some.java:1)")'
    )


@pytest.mark.parametrize(
    ("error", "number"),
    [
        (FileNotFoundError("/none"), errno.ENOENT),
        (FileExistsError("/there\n\tat org.apache"), errno.EEXIST),
        (NotImplementedError("encryption"), errno.EOPNOTSUPP),
        (remote("org.apache.hadoop.security.AccessControlException"), errno.EACCES),
        (remote("org.apache.hadoop.security.token.SecretManager$InvalidToken", fatal=True), errno.EACCES),
        (remote("org.apache.hadoop.fs.PathIsNotEmptyDirectoryException"), errno.ENOTEMPTY),
        (remote("org.apache.hadoop.fs.ParentNotDirectoryException"), errno.ENOTDIR),
        (remote("org.apache.hadoop.hdfs.protocol.FSLimitException$PathComponentTooLongException"), errno.ENAMETOOLONG),
        (remote("org.apache.hadoop.hdfs.protocol.DSQuotaExceededException"), errno.EDQUOT),
        (remote("org.apache.hadoop.fs.InvalidPathException"), errno.EINVAL),
        (
            remote("java.io.IOException", "File /a could only be written to 0 of the 1 minReplication nodes."),
            errno.ENOSPC,
        ),
        (remote("java.io.IOException"), errno.EIO),
        (RuntimeError('SASLError("no")'), errno.EACCES),
        (RuntimeError("anything"), errno.EIO),
    ],
)
def test_what_is_refused_is_refused_once(error: Exception, number: int) -> None:
    failure = of(error)
    assert (failure.number, failure.again) == (number, False)
    assert failure.status >= 400
    assert "\n" not in failure.said
    assert "org.apache" not in failure.said


@pytest.mark.parametrize(
    ("error", "number"),
    [
        (OSError("Connection refused (os error 111)"), errno.ETIMEDOUT),
        (OSError("failed to lookup address information: Name or service not known"), errno.ETIMEDOUT),
        (OSError("RPC listener disconnected"), errno.EIO),
        (SilentError(), errno.EIO),
        (remote("org.apache.hadoop.ipc.StandbyException"), errno.EIO),
        (remote("org.apache.hadoop.hdfs.server.namenode.SafeModeException"), errno.EIO),
        (RuntimeError('DataTransferError("no")'), errno.EIO),
        (RuntimeError("ChecksumError"), errno.EIO),
    ],
)
def test_what_may_be_otherwise_a_moment_later_is_tried_again(error: Exception, number: int) -> None:
    failure = of(error)
    assert (failure.number, failure.again) == (number, True)


@pytest.mark.parametrize(
    ("error", "login"),
    [
        (RuntimeError('GSSAPIError(GssMajorCodes(GSS_S_FAILURE), 1, "Cannot contact any KDC")'), True),
        (remote("javax.security.sasl.SaslException", "GSS initiate failed", fatal=True), True),
        (RuntimeError('SASLError("no common protection")'), False),
        (remote("org.apache.hadoop.security.AccessControlException"), False),
        (OSError("Connection refused (os error 111)"), False),
    ],
)
def test_who_is_not_let_in_is_known(error: Exception, login: bool) -> None:
    assert of(error).login == login


def test_what_is_told_names_all_that_helps() -> None:
    failure = of(remote("org.apache.hadoop.fs.InvalidPathException", 'no \\"a:b\\"'))
    told = failure.told("create", b"a:b", "nn:8020", 2)
    assert told.errno == errno.EINVAL
    assert told.strerror == (
        "create of 'a:b' on nn:8020 failed after 2 tries: no \"a:b\"; take another name: HDFS has none with a colon"
    )
