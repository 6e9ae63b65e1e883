# SPDX-License-Identifier: Apache-2.0
"""Folders of SFTP servers as a source."""
