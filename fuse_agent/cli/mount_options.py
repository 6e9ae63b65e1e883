# SPDX-License-Identifier: Apache-2.0
# Written by `make generate` from _core/model/mount.py, _core/model/stores.py, docs/model/mount.yaml and docs/model/shared.yaml; do not edit.
"""What `paddleflow-fuse mount --help` says of -o."""

from __future__ import annotations

from typing import Final

TEXT: Final = """\
options of a mount (one with a star may change while it is mounted):
  read-only                 Nobody writes through this mount (false)
  allow-other               Other users see it as well, not its owner alone (true)
  profile                   How opens are answered (auto; or small, large)
  passthrough               The kernel itself reads and writes files that are whole in the cache (true)
  session                   Who talks to the kernel (auto; or direct, pyfuse3)
  capacity                  The most bytes that the file system says it has room for, as df shows them; a
                            store that knows its end may say less (1Pi)
  conflict                  What becomes of a file that others stored anew meanwhile (last; or fail)
  locks                     With kernel locks hold for all programs of this machine, and for no other one;
                            refuse gives ENOLCK to who asks for one (kernel; or refuse)
  disable-xattrs            Extended attributes are refused (true)
  data-cache-path           Folder of this machine for what is cached and what waits to be stored; one for
                            many mounts (/var/cache/paddleflow/fuse)
  data-cache-quota *        Bytes of that disk for what is cached and what waits to be stored, together (0)
  data-cache-files *        How many files the cache may hold (0)
  data-cache-expire *       Seconds after which what is cached is removed (0)
  free-space-ratio *        Share of the disk that stays free of what is cached, from 0.1 to below 1 (0.3)
  clean-cache               What is cached is removed when the mount ends (false)
  block-size                Bytes that are fetched of a large file at a time (20Mi)
  memory-cache-size *       Bytes of memory for content that is cached (512Mi)
  data-read-ahead-size *    The most bytes that are fetched ahead of who reads a file in order (200Mi)
  meta-cache-driver         Where listings are kept (mem; or disk)
  meta-cache-expire         Seconds for which the agent believes what it knows of a file (size, times) (5)
  entry-cache-expire        Seconds for which the agent believes which names there are (5)
  attr-timeout              Seconds for which the kernel believes what the agent said of a file, in addition
                            (1)
  entry-timeout             Seconds for which the kernel believes which names the agent said there are, in
                            addition (1)
  rate-limit-read *         Bytes a second that this mount fetches (0)
  rate-limit-write *        Bytes a second that this mount stores (0)
  node-rate-limit-read *    Bytes a second that all mounts of the machine that give it fetch together (0)
  node-rate-limit-write *   Bytes a second that all mounts of the machine that give it store together (0)
  grace *                   Seconds that the agent has to store what is not stored when it is told to end (30)
  deadline *                Seconds that one operation may take before it fails (300)
  spin *                    Seconds for which the agent looks for the next request before it sleeps; 100u is a
                            ten thousandth (100u)
  log-level *               What is logged, from this on (INFO; or DEBUG, WARNING, ERROR)
  log-format                Lines for people, or objects of JSON for programs (text; or json)

options of s3, bos:
  endpoint                  Address of the object store
  region                    Region of the object store
  accessKey                 Access key of the object store
  secretKey (secret)        Secret key of the object store
  sessionToken (secret)     Session token for types s3 and bos, when something else renews temporary
                            credentials
  s3ForcePathStyle          Whether the bucket is a part of the path and not of the host name
  implicitDirectories       Whether a prefix without an object of its own shows as a directory
  sts                       Whether agents use temporary credentials
  duration                  How many seconds temporary credentials are valid
  acl                       Policy of temporary credentials, in the language of the store
  stsEndpoint               Address of who lends temporary credentials
  storageClass              Storage class of new objects, such as STANDARD_IA
  persistAttributes         Whether owner, permissions and times are kept with each object

options of s3, bos, sftp:
  insecureSkipVerify        Whether to trust any certificate, or for type sftp any host key

options of s3:
  roleArn                   Role that temporary credentials take on
  webIdentityTokenFile      File with a token that is shown to STS in the place of keys
  encryption                How the store encrypts new objects: with its own key (SSE-S3), with a key of its
                            key service (SSE-KMS), or with customerKey (SSE-C)
  kmsKeyId                  Key of the key service for SSE-KMS
  customerKey (secret)      Key of 32 bytes in base64 for SSE-C, without which nobody reads the objects
  requesterPays             Whether requests say that whoever makes them pays for them, which such buckets
                            want
  checksums                 Whether new objects carry a SHA-256 that the store compares with what it received

options of hdfs, sftp:
  user                      User at the store

options of hdfs:
  group                     Group at the store
  blockSize                 Size of the blocks of new files
  replication               Number of copies of new files
  keyTabData (secret)       Kerberos key table in base64
  principal                 Kerberos principal, such as hdfs/host
  realm                     Kerberos realm
  kdc                       Kerberos key distribution centers as host or host:port, with commas between them
  nameNodePrincipal         Kerberos principal of the name nodes
  dataTransferProtection    How data is protected on its way

options of sftp:
  password (secret)         Password at the store
  privateKey (secret)       Private key in PEM form
  hostKey                   Host key, or text of a known_hosts file

options of local:
  debug                     Has to be true where a link leads to type local, whose content differs from node
                            to node

options of s3, bos, hdfs, sftp:
  uid                       User that owns entries whose owner the store does not know
  gid                       Group that owns entries whose owner the store does not know
  dirMode                   Permissions of directories whose permissions the store does not know, as octal
                            text
  fileMode                  Permissions of files whose permissions the store does not know, as octal text
  umask                     Permissions that no entry has, as octal text
  ignoreOwnership           Whether a change of owner or permissions that the store cannot keep succeeds
                            silently
  relaxedOpen               Whether a file is opened without asking the store for its version again

What is secret stands in the file that --secrets names. More of each: docs/reference/mount-options.md of the collection.
"""
