#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""A client that another user runs: makes the calls its standard input lists and prints a code for each.

usage: other.py ENDPOINT ID [GROUP ...] < calls; ID is the user and the group it becomes

  shm_map PATH PROT | shm_unmap PATH | neff_file PATH | infer MODEL PATH PATH | post MODEL |
  wait COOKIE
"""

import os
import shutil
import sys
import types

from harness import WORK, Client, in_shm, infer_request, nrt


def run(client: Client, words: list[str]) -> int:
    if words[0] == "shm_map":
        return client.call("shm_map", nrt.shm_map_request(path=words[1], mmap_prot=int(words[2]))).status.code
    if words[0] == "shm_unmap":
        return client.call("shm_unmap", nrt.shm_unmap_request(path=words[1], mmap_prot=3)).status.code
    if words[0] == "neff_file":
        answer = client.load_messages(iter([nrt.load_request(neff_file=words[1])]))
        if answer.h_nn.id:
            client.unload(answer.h_nn.id)
        return answer.status.code
    if words[0] == "infer":
        request = infer_request(int(words[1]), in_shm(input0=words[2], input1=words[3]))
        return client.call("infer", request).status.code
    if words[0] == "post":
        model = int(words[1])
        return client.call("infer_post", infer_request(model, client.zeros(model))).status.code
    if words[0] == "wait":
        return client.call("infer_wait", nrt.infer_wait_request(cookie=int(words[1]))).status.code
    raise SystemExit(f"no such call: {words}")


def main() -> int:
    user = int(sys.argv[2])
    shutil.rmtree(WORK)  # the other user could not
    os.setgroups([int(group) for group in sys.argv[3:]])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    client = Client(types.SimpleNamespace(endpoint=sys.argv[1]))
    for line in sys.stdin:
        print(run(client, line.split()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
