# SPDX-License-Identifier: MIT
"""TAP for the tests of this directory."""


class Tap:
    def __init__(self) -> None:
        self.count = 0

    def ok(self, good: object, title: str, *notes: str) -> None:
        self.count += 1
        print(f"{'ok' if good else 'not ok'} {self.count} - {title}", flush=True)
        if not good:
            for note in notes:
                print("\n".join("# " + line for line in note.splitlines()))

    def same(self, got: object, want: object, title: str) -> None:
        self.ok(got == want, title, f"got:\n{got}", f"want:\n{want}")

    def done(self) -> None:
        print(f"1..{self.count}")
