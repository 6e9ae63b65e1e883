# SPDX-License-Identifier: Apache-2.0
"""Folders of HDFS clusters as a source."""
