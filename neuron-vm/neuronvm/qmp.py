# SPDX-License-Identifier: MIT
"""QMP, QEMU's control protocol, over a unix socket: commands, and events as they come."""

import contextlib
import json
import socket
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from . import VmError

DEADLINE = 60.0  # QEMU answers at once, but for a machine that is badly overloaded
POLL = 0.01


class QmpError(VmError):
    """A command that QEMU refused, with its own words."""


class Qmp:
    """One connection. Events that nobody waited for stay in `events`."""

    def __init__(self, path: Path, deadline: float = DEADLINE, alive: Callable[[], bool] = lambda: True):
        """Connects, waiting until QEMU listens; alive() says whether it still may."""
        self.events: list[dict[str, Any]] = []
        self._deadline = deadline
        end = time.monotonic() + deadline
        while True:
            self._socket = socket.socket(socket.AF_UNIX)
            try:
                self._socket.connect(str(path))
                break
            except (FileNotFoundError, ConnectionRefusedError) as error:
                self._socket.close()
                if time.monotonic() > end or not alive():
                    raise VmError(f"nobody listens on {path}") from error
                time.sleep(POLL)
        self._socket.settimeout(deadline)
        self._file = self._socket.makefile("rw", encoding="utf-8")
        self._read()
        self("qmp_capabilities")

    def __enter__(self) -> "Qmp":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def patient(self) -> None:
        """From here on events may take as long as they like."""
        self._socket.settimeout(None)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
        self._socket.close()

    def _read(self) -> dict[str, Any]:
        try:
            line = self._file.readline()
        except TimeoutError as error:
            raise VmError(f"QEMU said nothing for {self._deadline:g} s") from error
        if not line:
            raise VmError("QEMU has ended")
        return json.loads(line)

    def __call__(self, command: str, **arguments: Any) -> Any:
        """A command and its answer; in names of arguments _ stands for -."""
        words = {name.replace("_", "-"): value for name, value in arguments.items()}
        self._file.write(json.dumps({"execute": command, "arguments": words}) + "\n")
        self._file.flush()
        while True:
            answer = self._read()
            if "event" in answer:
                self.events.append(answer)
            elif "error" in answer:
                raise QmpError(answer["error"]["desc"])
            else:
                return answer["return"]

    def wait_event(self, name: str, wanted: Callable[[dict[str, Any]], bool] = lambda data: True) -> dict[str, Any]:
        """The first event of that name, seen already or not; it and those before it are dropped."""
        seen = 0
        while True:
            for i in range(seen, len(self.events)):
                event = self.events[i]
                if event["event"] == name and wanted(event.get("data", {})):
                    del self.events[: i + 1]
                    return event
            seen = len(self.events)
            self.events.append(self._read())
