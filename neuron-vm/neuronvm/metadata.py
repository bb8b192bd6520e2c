# SPDX-License-Identifier: MIT
"""The instance metadata service of a guest: what EC2 answers at 169.254.169.254, versions 1 and 2.

neuron-vm writes the documents of a machine to a file and gives the guest a network of its own, on which
QEMU starts this file as a program for each connection, with the connection as its standard input and output.
"""

import base64
import hashlib
import hmac
import json
import os
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import BinaryIO, Iterator

ADDRESS = "169.254.169.254"
GUEST_ADDRESS = "169.254.169.15"
NETWORK = "net=169.254.169.0/24,host=169.254.169.2,restrict=on"
PCI_ADDRESS = "8.0"
REGION, ZONE, ZONE_ID = "us-east-1", "us-east-1a", "use1-az1"
TTL_MAX = 21600  # seconds that a token may be valid for
HEAD_MAX = 16384  # bytes of a request
BODY_MAX = 65536
IDLE = 20  # seconds until a connection without a request is closed
TOKEN = "x-aws-ec2-metadata-token"
STATUS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed"}


def _hex(kind: str, seed: str) -> str:
    return hashlib.sha256(f"{kind} {seed}".encode()).hexdigest()


def instance_id(seed: str) -> str:
    """An instance id like EC2's: the same for the same seed."""
    return f"i-0{_hex('instance', seed)[:16]}"


def system_uuid(seed: str) -> str:
    """A system UUID, which begins with ec2 as EC2's do."""
    digits = _hex("uuid", seed)
    return f"ec2{digits[:5]}-{digits[5:9]}-4{digits[9:12]}-a{digits[12:15]}-{digits[15:27]}"


def mac(seed: str) -> str:
    digits = _hex("mac", seed)
    return ":".join(["02", *(digits[i : i + 2] for i in range(0, 10, 2))])


def documents(kind: str, seed: str) -> dict[str, str]:
    """By their paths below /latest."""
    identity = {
        "accountId": "123456789012",
        "architecture": "x86_64",
        "availabilityZone": ZONE,
        "imageId": f"ami-0{_hex('image', 'debian')[:16]}",
        "instanceId": instance_id(seed),
        "instanceType": kind,
        "pendingTime": "2024-01-01T00:00:00Z",
        "privateIp": GUEST_ADDRESS,
        "region": REGION,
        "version": "2017-09-30",
    }
    name = "ip-" + GUEST_ADDRESS.replace(".", "-") + ".ec2.internal"
    card = f"network/interfaces/macs/{mac(seed)}"
    plain = {
        "ami-id": identity["imageId"],
        "hostname": name,
        "instance-id": identity["instanceId"],
        "instance-life-cycle": "on-demand",
        "instance-type": kind,
        "local-hostname": name,
        "local-ipv4": GUEST_ADDRESS,
        "mac": mac(seed),
        f"{card}/device-number": "0",
        f"{card}/local-ipv4s": GUEST_ADDRESS,
        f"{card}/mac": mac(seed),
        f"{card}/subnet-id": f"subnet-0{_hex('subnet', 'neuron')[:16]}",
        f"{card}/vpc-id": f"vpc-0{_hex('vpc', 'neuron')[:16]}",
        "placement/availability-zone": ZONE,
        "placement/availability-zone-id": ZONE_ID,
        "placement/region": REGION,
        "services/domain": "amazonaws.com",
        "services/partition": "aws",
        "tags/instance/Name": kind if seed == kind else seed,
    }
    return {f"meta-data/{path}": text for path, text in plain.items()} | {
        "dynamic/instance-identity/document": json.dumps(identity, indent=2)
    }


def qemu_args(work: Path, kind: str, seed: str) -> list[str]:
    """A network that has nothing but the service."""
    path = work / "metadata"
    path.touch(mode=0o600)
    path.write_text(json.dumps({"key": os.urandom(32).hex(), "documents": documents(kind, seed)}))
    program = shlex.join([sys.executable, "-B", "-I", str(Path(__file__).resolve()), str(path)]).replace(",", ",,")
    forward = f"guestfwd=tcp:{ADDRESS}:80-cmd:{program}"
    card = f"virtio-net-pci,netdev=metadata,mac={mac(seed)},addr={PCI_ADDRESS},romfile="
    return ["-netdev", f"user,id=metadata,{NETWORK},dhcpstart={GUEST_ADDRESS},{forward}", "-device", card]


class Service:
    def __init__(self, key: bytes, documents_: dict[str, str]):
        self._key = key
        self._documents = documents_

    def _sign(self, expiry: bytes) -> bytes:
        return expiry + hmac.new(self._key, expiry, hashlib.sha256).digest()

    def token(self, ttl: int) -> str:
        return base64.urlsafe_b64encode(self._sign(int(time.time() + ttl).to_bytes(8, "big"))).decode()

    def valid(self, token: str) -> bool:
        try:
            raw = base64.b64decode(token.encode("ascii"), altchars=b"-_", validate=True)
        except ValueError:
            return False
        return hmac.compare_digest(raw, self._sign(raw[:8])) and int.from_bytes(raw[:8], "big") >= time.time()

    def _listing(self, path: str) -> str | None:
        """A directory's entries, those that are directories with a slash."""
        prefix = f"{path}/" if path else ""
        below = [name[len(prefix) :] for name in self._documents if name.startswith(prefix)]
        names = sorted({name.split("/")[0] + ("/" if "/" in name else "") for name in below})
        return "\n".join(names) if names else None

    def _find(self, target: str) -> str | None:
        parts = [part for part in target.partition("?")[0].split("/") if part]
        if not parts:
            return "latest"
        if parts[0] != "latest":
            return None
        path = "/".join(parts[1:])
        return self._documents.get(path, self._listing(path))

    def answer(self, method: str, target: str, headers: dict[str, str]) -> tuple[int, str, dict[str, str]]:
        """A status, a body, and headers."""
        if "x-forwarded-for" in headers:  # through a proxy that somebody else may have asked
            return 403, "", {}
        if target.rstrip("/") == "/latest/api/token":
            if method != "PUT":
                return 405, "", {"Allow": "OPTIONS, PUT"}
            ttl = headers.get(f"{TOKEN}-ttl-seconds", "")
            if not (ttl.isascii() and ttl.isdecimal() and len(ttl) < 6 and 1 <= int(ttl) <= TTL_MAX):
                return 400, "", {}
            return 200, self.token(int(ttl)), {"X-Aws-Ec2-Metadata-Token-Ttl-Seconds": ttl}
        if method not in ("GET", "HEAD"):
            return 405, "", {"Allow": "GET, HEAD"}
        if TOKEN in headers and not self.valid(headers[TOKEN]):
            return 401, "", {}
        found = self._find(target)
        return (404, "", {}) if found is None else (200, found, {})


class Refused(Exception):
    """Raised for what is no request"""


def _head(stream: BinaryIO) -> Iterator[str]:
    """The lines of a request's head; none at the end of the connection."""
    left = HEAD_MAX
    while line := stream.readline(left):
        left -= len(line)
        if not line.endswith(b"\n"):
            raise Refused
        text = line.rstrip(b"\r\n").decode("latin-1")
        if not text:
            return
        yield text


def _headers(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or name != name.strip():
            raise Refused
        found[name.lower()] = value.strip()
    return found


def _body(stream: BinaryIO, headers: dict[str, str]) -> None:
    """Reads a request's body, which is ignored."""
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdecimal() and len(length) < 8 and int(length) <= BODY_MAX):
        raise Refused
    if "transfer-encoding" in headers:
        raise Refused
    stream.read(int(length))


def _write(out: BinaryIO, status: int, body: str, more: dict[str, str], head_only: bool, last: bool) -> None:
    data = body.encode()
    headers = {"Content-Type": "text/plain", "Content-Length": str(len(data)), "Connection": "close" if last else "keep-alive"}
    lines = [f"HTTP/1.1 {status} {STATUS[status]}", *(f"{name}: {value}" for name, value in (headers | more).items())]
    out.write("\r\n".join([*lines, "", ""]).encode() + (b"" if head_only else data))
    out.flush()


def serve(service: Service, stream: BinaryIO, out: BinaryIO) -> None:
    """One connection: requests until one asks to close it, or is none."""
    last = False
    while not last:
        signal.alarm(IDLE)
        try:
            lines = list(_head(stream))
            if not lines:
                return
            method, target, version = lines[0].split(" ")
            headers = _headers(lines[1:])
            _body(stream, headers)
        except (Refused, ValueError):
            _write(out, 400, "", {}, False, True)
            return
        wish = headers.get("connection", "").lower()
        last = wish == "close" or (version != "HTTP/1.1" and wish != "keep-alive")
        _write(out, *service.answer(method, target, headers), method == "HEAD", last)


def main() -> None:
    # QEMU makes all three the connection: nothing but answers may go there
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    known = json.loads(Path(sys.argv[1]).read_text())
    serve(Service(bytes.fromhex(known["key"]), known["documents"]), sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
