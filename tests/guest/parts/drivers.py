# SPDX-License-Identifier: Apache-2.0
"""Both cgroup drivers where systemd runs: what it makes of a container's cgroup, and what it does to it later."""

import json

import world
from box import MIB, POLICY, TCPMEM, Box, ask, daemons, live, run
from parts.topology import blast, events, locked_of, place

PARTS = []
