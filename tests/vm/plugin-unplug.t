#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
# host: QEMU unplugs while the guest works
"""A chip that QEMU unplugs while a framework's program runs on it by the PJRT plug-in: the program's error says so, and what the
same process has on another chip is right."""

import sys

from guest import BUILD, TOP, Guest, is_, run_tests


def test_unplug() -> None:
    data = TOP / "tests" / "data" / "pjrt"
    copies = [BUILD / "tests/unit/pjrt/pjrt_unplug", BUILD / "frameworks/pjrt/libneuronpjrt.so", BUILD / "runtime/nrt/libnrt.so.1",
              data / "add1.hlo.pb", data / "long.hlo.pb"]
    environ = ["PJRT_LIBRARY=./libneuronpjrt.so", "PJRT_PROGRAMS=.", "NEURON_RT_VISIBLE_CORES=11,12", "NEURON_CC_FLAGS=--no_cache",
               "LD_LIBRARY_PATH=."]
    # the cores of two chips, of which the last is the one that goes
    vm = Guest(["env", *environ, "./pjrt_unplug"], copies=copies, options=["--instance", "inf1.6xlarge"])
    vm.until("running")
    vm.qmp("device_del", id="chip3")
    is_(vm.until("UNAVAILABLE"), "UNAVAILABLE: No such device", "the program under way fails, and says why")
    is_(vm.line(), "went on", "the other chip's program is right")
    is_(vm.status(), 0, "and the process ends well")


sys.exit(run_tests([test_unplug]))
