#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""A client that holds a session, two groups, a running model and shared memory until it is killed.

usage: victim.py ENDPOINT
"""

import sys
import time
import types

from harness import Client, Shm, nrt, sum_and_product

client = Client(types.SimpleNamespace(endpoint=sys.argv[1]))
session = client.session()
session_id = session.read().session_id
client.eg(1, session_id)
model = client.load(sum_and_product(), client.eg(2, session_id), session_id).h_nn.id
shm = Shm(64)
mapped = client.call("shm_map", nrt.shm_map_request(path=shm.path, mmap_prot=3, session_id=session_id))
shm.unlink()
ok = model and client.start(model) == 0 and mapped.status.code == 0
print("ready" if ok else "failed", flush=True)
time.sleep(3600)
