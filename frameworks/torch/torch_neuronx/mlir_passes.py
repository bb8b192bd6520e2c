# SPDX-License-Identifier: MIT
"""A process of its own for torch-mlir's passes: graphs come on stdin, StableHLO's text or the reasons why there is none go to stdout.

The passes of torch-mlir 20261001 end their process over some graphs that they cannot lower; this way it is not the user's. Imports nothing of torch.
Messages both ways: a byte (1: it is what was asked for, 0: why not), a length of 8 bytes, little-endian, and text of that length.
"""

import ctypes
import signal
import sys

PIPELINES = ("builtin.module(func.func(torch-match-quantized-custom-ops), torchdynamo-export-to-torch-backend-pipeline{ extra-library=})",
             "builtin.module(torch-backend-to-stablehlo-backend-pipeline{allow-non-finites=True})")
PR_SET_PDEATHSIG = 1


def lowered(text: str) -> tuple[bool, str]:
    from torch_mlir import ir, passmanager
    from torch_mlir.dialects import torch as dialect

    said: list[str] = []
    with ir.Context() as context:
        dialect.register_dialect(context)
        context.attach_diagnostic_handler(lambda diagnostic: bool(said.append(str(diagnostic.message)) or True))
        try:
            module = ir.Module.parse(text)
            for pipeline in PIPELINES:
                passmanager.PassManager.parse(pipeline).run(module.operation)
            return True, str(module)
        except Exception as error:
            return False, "; ".join(said) or str(error).strip()


def send(stream: object, good: bool, text: str) -> None:
    data = text.encode()
    stream.write(bytes([good]) + len(data).to_bytes(8, "little") + data)
    stream.flush()


def receive(stream: object) -> tuple[bool, str] | None:
    """None: there is no more"""
    head = stream.read(9)
    data = stream.read(int.from_bytes(head[1:], "little")) if len(head) == 9 else None
    return None if data is None else (bool(head[0]), data.decode())


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # a pass that does not end must not outlive whom it is for
    messages = sys.stdout.buffer
    while (asked := receive(sys.stdin.buffer)) is not None:
        send(messages, *lowered(asked[1]))


if __name__ == "__main__":
    main()
