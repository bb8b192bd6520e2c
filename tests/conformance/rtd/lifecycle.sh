#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The daemon as init systems, container entry points and operators meet it, as TAP: readiness, stale
# sockets, signals, configuration, logs, failed devices. usage: lifecycle.sh NEURON_RTD NEURON_CLI
set -u
rtd=$(realpath "$1")
cli=$(realpath "$2")
count=0
work=$(mktemp -d "${TMPDIR:-/tmp}/rtd-lifecycle.XXXXXX")
pids=()
trap 'kill -9 "${pids[@]}" 2>/dev/null; rm -rf "$work"' EXIT
export NEURON_EMU=inf1.xlarge
unset NEURON_RTD_ADDRESS NOTIFY_SOCKET

# ok CONDITION-STATUS NAME
ok() {
    count=$((count + 1))
    if [ "$1" = 0 ]; then
        echo "ok $count - $2"
    else
        echo "not ok $count - $2"
        tail -n 20 "$work/log" | sed 's/^/#   /'
    fi
}

# start SOCKET OPTION... : the daemon in the background; waits for the socket as entry points do
start() {
    local socket=$1
    shift
    "$rtd" -g "unix:$socket" --log-console "$@" >>"$work/log" 2>&1 &
    pid=$!
    pids+=("$pid")
    for _ in $(seq 600); do
        if [ -S "$socket" ] || ! kill -0 "$pid" 2>/dev/null; then break; fi
        sleep 0.1
    done
    [ -S "$socket" ]
}

ncg() { "$cli" -a "unix:$1" list-ncg 2>&1; }

# a container entry point
start "$work/a.sock"
ok $? "the socket appears"
out=$(ncg "$work/a.sock")
ok $? "and the first call succeeds at once"
[ "$(head -n 1 <<<"$out")" = "Device count 1 NC count 4" ]
ok $? "list-ncg's first line"
kill -0 "$pid"
ok $? "the started process is the daemon: it did not fork away"
# the entry points' own check is a ps and a grep
# shellcheck disable=SC2009
ps aux | grep -v grep | grep -q neuron-rtd
ok $? "ps finds neuron-rtd"
[ "$(stat -c %a "$work/a.sock")" = 666 ]
ok $? "the socket's mode is 0666"
grep -Eq "^nrtd\[$pid\]: \[NRTD:[a-z_]+\] Server listening on unix:$work/a.sock$" "$work/log"
ok $? "--log-console: nrtd[PID]: [MODULE:function] text"
! grep -Evq '^nrtd\[[0-9]+\]: \[[A-Za-z]+:[A-Za-z_]+\] ' "$work/log"
ok $? "every line has that form"

# a second daemon
"$rtd" -g "unix:$work/a.sock" --log-console >>"$work/log" 2>&1
[ $? = 1 ] && [ -S "$work/a.sock" ] && ncg "$work/a.sock" >/dev/null
ok $? "a second daemon on the same socket exits with 1 and leaves the first one alone"

cat >"$work/ports.py" <<'PY'
import socket, subprocess, sys
taken, free = socket.create_server(("127.0.0.1", 0)), socket.create_server(("127.0.0.1", 0))
ports = [s.getsockname()[1] for s in (free, taken)]
free.close()
print(subprocess.run([sys.argv[1], "-x", *(f"-g127.0.0.1:{p}" for p in ports)], stderr=subprocess.DEVNULL).returncode)
PY
[ "$(/usr/bin/python3 "$work/ports.py" "$rtd")" = 1 ]
ok $? "a second TCP endpoint that is in use: status 1"

# signals
kill -TERM "$pid"
wait "$pid"
ok $? "SIGTERM: status 0"
[ ! -e "$work/a.sock" ]
ok $? "and the socket is gone"
start "$work/a.sock" && kill -KILL "$pid"
wait "$pid" 2>/dev/null
[ -S "$work/a.sock" ]
ok $? "SIGKILL leaves the socket"
! ncg "$work/a.sock" | grep -qv UNAVAILABLE
ok $? "where clients get UNAVAILABLE"
inode=$(stat -c %i "$work/a.sock")
"$rtd" -g "unix:$work/a.sock" --log-console >>"$work/log" 2>&1 &
pid=$!
pids+=("$pid")
for _ in $(seq 600); do
    if [ "$(stat -c %i "$work/a.sock")" != "$inode" ] || ! kill -0 "$pid"; then break; fi
    sleep 0.1
done
ncg "$work/a.sock" >/dev/null
ok $? "a restarted daemon takes its place"
kill -INT "$pid"
wait "$pid"
ok $? "SIGINT: status 0"
touch "$work/file"
"$rtd" -g "unix:$work/file" --log-console >>"$work/log" 2>&1
[ $? = 1 ] && [ -f "$work/file" ]
ok $? "a file that is no socket is not touched"

# readiness for systemd
cat >"$work/notify.py" <<'PY'
import os, socket, subprocess, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
p = subprocess.Popen(sys.argv[2:], env={**os.environ, "NOTIFY_SOCKET": sys.argv[1]}, stderr=subprocess.DEVNULL)
s.settimeout(600)
ready = s.recv(100).decode()
there = os.path.exists(sys.argv[sys.argv.index("-g") + 1].removeprefix("unix:"))
p.terminate()
print(ready, there, s.recv(100).decode(), p.wait())
PY
out=$(/usr/bin/python3 "$work/notify.py" "$work/notify" "$rtd" -g "unix:$work/b.sock" 2>&1)
[ "$out" = "READY=1 True STOPPING=1 0" ]
ok $? "READY=1 when the socket is there, STOPPING=1 at the end: $out"

# configuration
echo '{ "shmem_enabled": false, "init_config": { "num_hugepages_per_device": 128 } }' >"$work/rtd.config"
echo "{ \"name\": \"nrtd0\", \"server_port\": \"unix:$work/nrtd0.sock\", \"devices\": [1] }" >"$work/nrtd0.json"
NEURON_EMU=inf1.6xlarge "$rtd" -i nrtd0 -c "$work/rtd.config" -x >>"$work/log" 2>&1 &
pid=$!
pids+=("$pid")
for _ in $(seq 600); do
    if [ -S "$work/nrtd0.sock" ] || ! kill -0 "$pid"; then break; fi
    sleep 0.1
done
[ "$(ncg "$work/nrtd0.sock" | head -n 1)" = "Device count 1 NC count 4" ]
ok $? "an instance listens on its server_port and has its one device"
"$cli" -a "unix:$work/nrtd0.sock" create-ncg --nc-count 1 >/dev/null
ncg "$work/nrtd0.sock" | grep -Eq '^\| +1 \| +1 \| +1 \| +0 \|$'
ok $? "the device keeps its number"
kill "$pid"
wait "$pid"
NEURON_EMU=inf1.6xlarge start "$work/c.sock" -t 0000:00:1d.0 -t 00:1c.0
[ "$(ncg "$work/c.sock" | head -n 1)" = "Device count 2 NC count 8" ]
ok $? "-t chooses devices by their addresses"
kill "$pid"
wait "$pid"
for text in '{' '[]' '{ "shmem_enabled": 1 }' '{ "default_ninfer": 0 }' '{ "sharing": "everyone" }' '{ "a": 1, "a": 2 }'; do
    echo "$text" >"$work/bad.config"
    "$rtd" -g "unix:$work/d.sock" -c "$work/bad.config" -x >>"$work/log" 2>&1
    [ $? = 1 ] && tail -n 3 "$work/log" | grep -q "bad.config"
    ok $? "refused with the file's name: $text"
done
"$rtd" -i no-such -x >>"$work/log" 2>&1
[ $? = 1 ]
ok $? "an instance without a file: status 1"
"$rtd" --nonsense >>"$work/log" 2>&1
[ $? = 2 ]
ok $? "a wrong option: status 2"
"$rtd" --version | grep -q '^neuron-rtd 1\.'
ok $? "--version"

# sockets of an init system
cat >"$work/activate.py" <<'PY'
"""activate.py WHAT NEURON_RTD NEURON_CLI DIRECTORY: listens, connects, and only then starts the daemon with the socket"""
import os, socket, stat, subprocess, sys, time
what, rtd, cli, work = sys.argv[1:5]
path = f"{work}/given.sock"
family = socket.AF_INET if what == "tcp" else socket.AF_UNIX
kind = socket.SOCK_DGRAM if what == "datagram" else socket.SOCK_STREAM
s = socket.socket(family, kind)
s.bind({"tcp": ("127.0.0.1", 0), "abstract": "\0rtd"}.get(what, path))
if what not in ("datagram", "idle"):
    s.listen(64)
if family == socket.AF_UNIX and what != "abstract":
    os.chmod(path, 0o660)

def start(*options):
    code = "import os,sys; os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid())); os.execv(sys.argv[1], sys.argv[1:])"
    return subprocess.Popen([sys.executable, "-c", code, rtd, "-x", *options], preexec_fn=lambda: os.dup2(s.fileno(), 3),
                            pass_fds=(3,), stderr=open(f"{work}/log", "a"))

if what != "stream":
    print(start().wait())
    sys.exit()
early = subprocess.Popen([cli, "-a", f"unix:{path}", "list-ncg"], stdout=subprocess.PIPE, text=True)
time.sleep(0.3)
for options in ((), ("-g", f"unix:{path}"), ("-g", f"unix:{work}/other.sock")):
    daemon = start(*options)
    first = early.communicate()[0].splitlines()[:1]
    inode = os.stat(path)
    daemon.terminate()
    print(first, daemon.wait(), oct(stat.S_IMODE(inode.st_mode)), os.path.exists(path), os.path.exists(f"{work}/other.sock"))
    early = subprocess.Popen([cli, "-a", f"unix:{path}", "list-ncg"], stdout=subprocess.PIPE, text=True)
early.kill()
PY
/usr/bin/python3 "$work/activate.py" stream "$rtd" "$cli" "$work" >"$work/given" 2>>"$work/log"
[ "$(sort -u "$work/given")" = "['Device count 1 NC count 4'] 0 0o660 True False" ] && [ "$(wc -l <"$work/given")" = 3 ]
ok $? "a socket that is passed: who connected before is answered, mode and path stay: $(sort -u "$work/given")"
for what in tcp datagram abstract idle; do
    rm -f "$work/given.sock"
    [ "$(/usr/bin/python3 "$work/activate.py" "$what" "$rtd" "$cli" "$work" 2>>"$work/log")" = 1 ] &&
        tail -n 3 "$work/log" | grep -q 'passed socket 3'
    ok $? "one of another kind is refused: $what"
done

# what has no meaning is named
echo '{ "shmem_enabled": true, "colour": 1, "init_config": { "deep": [] } }' >"$work/odd.config"
echo "{ \"name\": \"odd\", \"server_port\": \"unix:$work/odd.sock\", \"device\": [1] }" >"$work/odd.json"
start "$work/odd.sock" -i odd -c "$work/odd.config"
ok $? "a configuration with unknown keys does not keep it from starting"
for key in 'odd.config: "colour"' 'odd.config: "deep"' 'odd.json: "device"'; do
    grep -qF "$key has no meaning and is ignored" "$work/log"
    ok $? "a warning names $key"
done
kill "$pid"
wait "$pid"

# the journal
cat >"$work/journal.py" <<'PY'
import os, subprocess, sys, time
r, w = os.pipe()
st = os.fstat(w)
for stream in (f"{st.st_dev}:{st.st_ino}", "1:1"):
    p = subprocess.Popen([sys.argv[1], "-x", "-g", f"unix:{sys.argv[2]}"], stderr=w, env={**os.environ, "JOURNAL_STREAM": stream})
    while not os.path.exists(sys.argv[2]) and p.poll() is None:
        time.sleep(0.02)
    p.terminate()
    p.wait()
    print(*{line[:4] for line in os.read(r, 65536).decode().splitlines()})
PY
[ "$(/usr/bin/python3 "$work/journal.py" "$rtd" "$work/j.sock")" = "<6>[
nrtd" ]
ok $? "lines to the journal have their priority, others the daemon's name"

# devices that do not come up
NEURON_EMU='' start "$work/e.sock" -l 3
ok $? "without devices the daemon stays up"
ncg "$work/e.sock" | grep -q 'code 6'
ok $? "and answers NERR_HW_ERROR"
kill "$pid"
wait "$pid"
ok $? "until it is told to go"
start "$work/f.sock" -l 3 -t 0000:ff:1f.0
ncg "$work/f.sock" | grep -q 'no device at 0000:ff:1f.0'
ok $? "so it does with a device that does not exist, which the answer names"
kill "$pid"
wait "$pid"

echo "1..$count"
