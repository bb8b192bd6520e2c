# SPDX-License-Identifier: MIT
"""neuron-vm's command line."""

import argparse
import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from . import (VmError, accel, background, debian, disk, faults, full, machine, manage, micro, net, paths, process, running, share,
               ssh)

FAILURE_STATUS = 125  # neuron-vm itself failed; the command's own statuses pass through
DEFAULT_INSTANCE = "inf1.xlarge"
BOOT_TIME = 60.0  # processor time of a guest's kernel; two seconds for one chip, ten for sixteen
UP_DEADLINE = 300.0  # for a guest to answer: an emulated processor on a busy host
# what the checkers of a debug kernel cost
DEBUG_MEMORY = 2
DEBUG_TIME = 6
# loglevel 5: warnings reach the console, which the tests read
# An emulated processor stands still while the host has none for it: it counts as stuck after two minutes
MICRO_CMDLINE = ("console=ttyS0 loglevel=5 panic=-1 mitigations=off random.trust_cpu=on no_timer_check tsc=reliable "
                 "watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=120")


def _guest(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kernel", metavar="VERSION",
                        help="the guest's kernel, such as 6.1.0-40-cloud-amd64")
    parser.add_argument("--build", type=Path, metavar="DIR",
                        help="meson build directory of the programs (default build/release)")


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--instance", default=DEFAULT_INSTANCE, metavar="TYPE",
                        help=f"instance type, see types (default {DEFAULT_INSTANCE})")
    parser.add_argument("--cpus", type=int, metavar="N", help="virtual CPUs")
    parser.add_argument("--memory", metavar="SIZE", help="guest memory, such as 2G")
    parser.add_argument("--share", type=Path, metavar="DIR",
                        help="host directory, at /mnt/share in the guest (virtiofs)")
    parser.add_argument("--name", metavar="NAME",
                        help="what `neuron-vm fault --vm` calls this VM (default vm and a number)")
    parser.add_argument("--fault", action="append", default=[], metavar="ndN:FAULT=VALUE",
                        help="start with this fault injected, may be repeated; see fault --help")
    _guest(parser)
    parser.add_argument("--machine", choices=["pc", "q35"], default="pc",
                        help="pc (default): chips on bus 0; q35: each behind a PCIe root port, two at most")
    parser.add_argument("--qmp", type=Path, metavar="SOCKET",
                        help="where QEMU listens for QMP, such as plugging a chip or migration")
    parser.add_argument("--ultraserver", type=Path, metavar="DIR",
                        help="a node of an UltraServer, whose four VMs meet in this directory (trn2u.48xlarge)")
    parser.add_argument("--node", type=int, default=0, metavar="N", help="which of them, 0 (default) to 3")
    parser.add_argument("--accel", choices=["auto", "kvm", "tcg"], default="auto",
                        help="auto (default) takes KVM if a tiny guest runs under it")
    parser.add_argument("--qemu-arg", action="append", default=[], metavar="ARG",
                        help="one more argument for QEMU, may be repeated")
    parser.add_argument("--dry-run", action="store_true", help="print QEMU's command line and stop")


def _keeping(run: argparse.ArgumentParser) -> None:
    run.add_argument("--disk", type=Path, metavar="FILE",
                     help="keep what the guest writes in this qcow2 image, made if it is not there")
    run.add_argument("--disk-size", default=disk.SIZE, metavar="SIZE",
                     help=f"of a disk that is made (default {disk.SIZE}); it grows as it fills")
    run.add_argument("--snapshot", action="store_true", help="throw away what is written to the disk")
    run.add_argument("--forward", action="append", default=[], metavar="[tcp:|udp:][ADDRESS:]PORT:GUEST-PORT",
                     help="a port of the host that leads to one of the guest, may be repeated")


def _managing(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The commands for VMs that run."""
    listed = commands.add_parser("list", help="VMs that run")
    listed.add_argument("--all", action="store_true", help="those of the background that have ended, too")
    stop = commands.add_parser("stop", help="power VMs off")
    stop.add_argument("--all", action="store_true", help="every one that runs")
    stop.add_argument("--force", action="store_true", help="at once, as if the power failed")
    stop.add_argument("--timeout", type=float, default=manage.POWERDOWN_DEADLINE, metavar="SECONDS",
                      help=f"end what has not powered off by then (default {manage.POWERDOWN_DEADLINE:g})")
    stop.add_argument("names", nargs="*", metavar="NAME", help="default the only one there is")
    login = commands.add_parser("ssh", help="log in to a VM, or run a command in it")
    login.add_argument("name", nargs="?", metavar="NAME", help="default the only one there is")
    login.add_argument("command", nargs="*", metavar="COMMAND", help="after --")
    copy = commands.add_parser("cp", help="copy files to a VM or from it",
                               description="NAME:PATH is a file in a VM, :PATH in the only one there is.")
    copy.add_argument("-r", "--recursive", action="store_true", help="directories, too")
    copy.add_argument("sources", nargs="+", metavar="SOURCE")
    copy.add_argument("target", metavar="TARGET")
    for command in [login, copy]:
        command.add_argument("--timeout", type=float, default=UP_DEADLINE, metavar="SECONDS",
                             help=f"how long to wait for a VM that boots (default {UP_DEADLINE:g})")
    logs = commands.add_parser("logs", help="what a VM wrote to its console")
    logs.add_argument("-f", "--follow", action="store_true", help="what it writes from now on, too")
    logs.add_argument("name", nargs="?", metavar="NAME", help="default the only one there is")


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="neuron-vm", allow_abbrev=False,
                                  description="Virtual machines with emulated Neuron devices.")
    commands = top.add_subparsers(dest="subcommand", required=True, metavar="COMMAND")
    commands.add_parser("types", help="instance types and their chips")
    run = commands.add_parser("run", help="boot a Debian guest, login on the terminal")
    _common(run)
    _keeping(run)
    run.add_argument("--copy", type=Path, action="append", default=[], metavar="FILE",
                     help="copy to the user's home directory, may be repeated")
    run.add_argument("--bare", action="store_true",
                     help="nothing of the project's in the guest: neither module nor programs, to install them there")
    run.add_argument("--once", action="store_true",
                     help="end the guest with COMMAND, with its status")
    run.add_argument("--detach", action="store_true",
                     help="in the background; returns when one can log in (neuron-vm ssh)")
    run.add_argument("command", nargs="*", metavar="COMMAND", help="what to run first, after --")
    prepare = commands.add_parser("prepare", help="make everything that run and exec need")
    _guest(prepare)
    prepare.add_argument("--json", action="store_true",
                         help="print where it is, for other programs that start a Debian guest")
    execute = commands.add_parser("exec", help="run one command in a fresh micro guest")
    _common(execute)
    execute.add_argument("--module", type=Path, metavar="FILE.ko", help="load this module in place of the project's")
    execute.add_argument("--no-module", action="store_true", help="load no module")
    execute.add_argument("--copy", type=Path, action="append", default=[], metavar="FILE",
                         help="copy to the guest's working directory, may be repeated")
    execute.add_argument("--fault-port", action="store_true",
                         help="let COMMAND inject faults, through the virtio port neuron.fault")
    execute.add_argument("--metadata", action="store_true",
                         help="give the guest the instance metadata service, which run always has")
    execute.add_argument("--timeout", type=float, default=300, metavar="SECONDS",
                         help="end the guest after this time with status 124 (default 300)")
    execute.add_argument("--boot-time", type=float, default=BOOT_TIME, metavar="SECONDS",
                         help="start the guest again, once, when its kernel has taken so much processor time and not "
                         f"started its first process (default {BOOT_TIME:g}; 0: never)")
    execute.add_argument("--console", type=Path, metavar="FILE", help="keep the guest's kernel log in FILE")
    execute.add_argument("command", nargs="+", metavar="COMMAND", help="program and arguments, after --")
    _managing(commands)
    fault = commands.add_parser("fault", help="make a chip of a running VM fail",
                                formatter_class=argparse.RawDescriptionHelpFormatter,
                                description="Injects faults into a chip; without any, lists what is injected and has struck.",
                                epilog=faults.epilog())
    fault.add_argument("--vm", metavar="NAME", help="the VM, when there are several")
    fault.add_argument("chip", nargs="?", metavar="CHIP", help="nd0, nd1 and so on")
    fault.add_argument("faults", nargs="*", metavar="FAULT[=VALUE]", help="from the list below, or clear")
    return top


def _types() -> int:
    print(f"{'TYPE':<15} {'CHIPS':>5}  {'TOPOLOGY':<8}  PCI ADDRESSES")
    for row in machine.instances().values():
        first, last = row.chips[0], row.chips[-1]
        buses = sorted({chip[:2] for chip in row.chips})
        where = f"0000:{first}" + (f" to 0000:{last}" if last != first else "")
        if len(buses) > 1:
            where = f"on buses {', '.join(buses)}"
        print(f"{row.name:<15} {len(row.chips):>5}  {row.topology:<8}  {where}")
    return 0


def _machine(args: argparse.Namespace, qemu: Path, share: Path | None, debug: bool = False) -> machine.Machine:
    row = machine.instance(args.instance)
    if args.cpus is not None and not 1 <= args.cpus <= machine.CPUS_MAX:
        raise VmError(f"--cpus {args.cpus}: a machine has 1 to {machine.CPUS_MAX}")
    cpus = args.cpus or min(os.cpu_count() or 1, row.vcpus)
    memory = args.memory or f"{(1024 + 192 * len(row.chips)) * (DEBUG_MEMORY if debug else 1)}M"
    if machine.size_bytes(memory) < machine.MEMORY_MIN:
        raise VmError(f"--memory {memory}: a guest needs {machine.MEMORY_MIN >> 20}M or more; a number alone counts MiB")
    acceleration = accel.accel_args(args.accel, qemu, row.address_bits)
    scaled = row.scaled(cpus, memory)
    # a command's standard error is its own, but a terminal shows both
    if scaled and (args.subcommand == "run" or args.dry_run or sys.stderr.isatty()):
        print(f"neuron-vm: {row.name} with {scaled}; --cpus and --memory change that", file=sys.stderr)
    made = machine.Machine(row, acceleration, cpus, memory, share, args.qemu_arg, args.machine, args.qmp)
    made.name = args.name
    if args.ultraserver:
        made.ultraserver = _ultraserver(args, row)
    elif args.node:
        raise VmError("--node is of an UltraServer: --ultraserver DIR")
    made.faults = faults.device_options(args.fault, len(row.chips))
    return made


def _ultraserver(args: argparse.Namespace, row: machine.Instance) -> tuple[Path, int]:
    if not row.ultraserver:
        nodes = [other.name for other in machine.instances().values() if other.ultraserver]
        raise VmError(f"--ultraserver: {row.name} is no node of one, {', '.join(nodes)} is")
    if not 0 <= args.node < row.ultraserver:
        raise VmError(f"--node {args.node}: an UltraServer has the nodes 0 to {row.ultraserver - 1}")
    args.ultraserver.mkdir(mode=0o700, parents=True, exist_ok=True)
    return args.ultraserver.resolve(), args.node


def _prepare(args: argparse.Namespace) -> int:
    kernel = paths.kernel(args.kernel)
    qemu = paths.qemu_dir() / "qemu-system-x86_64"
    guest = debian.Guest(kernel, paths.make_stage(paths.build_dir(args.build), kernel.version))
    guest.prepare()
    if args.json:
        files = {"qemu": qemu, "kernel": kernel.image, "initrd": guest.initrd, "base": guest.base, "layer": guest.layer}
        print(json.dumps({**{name: str(path) for name, path in files.items()}, "cmdline": debian.LOGIN_CMDLINE}, indent=4))
    return 0


def _print(argv: list[str]) -> int:
    print(shlex.join(argv))
    return 0


def _exec(args: argparse.Namespace, work: Path) -> int:
    if args.module and not args.module.is_file():
        raise VmError(f"--module {args.module}: no such file")
    kernel = paths.kernel(args.kernel)
    qemu_dir = paths.qemu_dir()
    qemu = qemu_dir / "qemu-system-x86_64"
    stage = paths.make_stage(paths.build_dir(args.build), kernel.version)
    module = None if args.no_module else args.module or micro.staged_module(stage, kernel)
    command = micro.command_archive(args.command, args.copy)
    console = args.console or work / "console"
    with share.serve(args.share, qemu_dir, work) as socket, running.Registered(args.name) as registered:
        vm = _machine(args, qemu, socket, kernel.debug)
        registered.describe("exec", args.instance, len(vm.instance.chips))
        argv = [str(qemu), *vm.args()]
        argv += ["-kernel", str(kernel.image), "-initrd", str(work / "initrd")]
        argv += ["-append", MICRO_CMDLINE + accel.clock(vm.accel, stage) + (" neuron-vm.share" if socket else "") +
                 (" neuron-vm.metadata" if args.metadata else "")]
        argv += ["-serial", f"file:{console}"]
        if args.metadata:
            argv += vm.metadata(work)
        argv += ["-device", "virtio-serial-pci,addr=4.0", "-device", "virtio-rng-pci,addr=3.0"]
        argv += registered.args()
        if args.fault_port:
            port = faults.Port(work, registered.path)
            argv += port.args()
            port.start()
        argv = vm.placed(argv)
        if args.dry_run:
            return _print(argv)
        micro.build(work / "initrd", kernel, module, stage, command)
        timeout = args.timeout * (DEBUG_TIME if kernel.debug else 1)
        # who has QEMU's own means may start the guest again
        done = None if args.qmp or args.name or args.qemu_arg else work / "initrd"
        return process.run_command(argv, timeout, console, work, done, (registered.lock,),
                                   _watched(args, registered.path, console, kernel.debug))


def _watched(args: argparse.Namespace, monitor: Path, console: Path, debug: bool) -> process.Boot | None:
    """A guest that comes from elsewhere, or that somebody else starts, has no boot to watch; nor has one without a log."""
    if args.boot_time <= 0 or {"-incoming", "-S"} & set(args.qemu_arg) or (console.exists() and not console.is_file()):
        return None
    return process.Boot(monitor, console, args.boot_time * (DEBUG_TIME if debug else 1))


def _run(args: argparse.Namespace, work: Path) -> int:
    if args.once and not args.command:
        raise VmError("--once needs a command")
    if args.once and args.detach:
        raise VmError("--once and --detach exclude each other")
    if args.snapshot and not args.disk:
        raise VmError("--snapshot needs --disk")
    forwards = [net.parse(text) for text in args.forward]
    if not args.dry_run:
        net.check_free(forwards)
    if args.name:
        running.check_free(args.name)
    if args.disk:
        args.disk = args.disk.resolve()
        disk.check(args.disk, args.disk_size, args.snapshot)
    kernel = paths.kernel(args.kernel)
    qemu_dir = paths.qemu_dir()
    guest = debian.Guest(kernel, paths.make_stage(paths.build_dir(args.build), kernel.version), args.bare)
    guest.prepare()
    if args.disk:
        _disk(args, guest, qemu_dir / "qemu-system-x86_64")
    if args.detach and not args.dry_run:
        # a name of the process that stays would come too late
        args.name = args.name or f"vm{os.getpid()}"
        return background.start(args.name, UP_DEADLINE, lambda: _boot_apart(args, guest, qemu_dir, forwards))
    return _boot(args, guest, qemu_dir, forwards, work)


def _boot_apart(args: argparse.Namespace, guest: debian.Guest, qemu_dir: Path, forwards: list[net.Forward]) -> int:
    with tempfile.TemporaryDirectory(prefix="neuron-vm.") as work:
        return _boot(args, guest, qemu_dir, forwards, Path(work))


def _disk(args: argparse.Namespace, guest: debian.Guest, qemu: Path) -> None:
    """Makes it if need be; the guest has the distribution that it lies over."""
    if args.disk.exists():
        guest.keep_base(disk.base_name(args.disk))
    elif not args.dry_run:
        disk.create(args.disk, args.disk_size, guest.base.name, qemu)


def _boot(args: argparse.Namespace, guest: debian.Guest, qemu_dir: Path, forwards: list[net.Forward], work: Path) -> int:
    guest.bring(work / "initrd", args.copy, args.command)
    with contextlib.ExitStack() as stack:
        held, disk_args = [], []
        if args.disk:
            if args.disk.exists():
                held.append(stack.enter_context(disk.locked(args.disk, not args.snapshot)))
            watch = full.Watch(work, args.disk)
            disk_args = disk.args(args.disk, args.snapshot) + watch.args()
        registered = running.Registered(args.name)
        registered.keep = args.detach
        stack.enter_context(registered)
        held.append(registered.lock)
        socket = stack.enter_context(share.serve(args.share, qemu_dir, work))
        qemu = qemu_dir / "qemu-system-x86_64"
        vm = _machine(args, qemu, socket)
        registered.describe("run", args.instance, len(vm.instance.chips))
        argv = [str(qemu), *vm.args(), *registered.args()]
        cmdline = debian.LOGIN_CMDLINE + accel.clock(vm.accel, guest.stage) + (" neuron-vm.share" if socket else "")
        cmdline += debian.terminal() + (f" systemd.hostname={debian.hostname(args.name)}" if args.name else "")
        argv += guest.args(cmdline) + net.args(forwards) + vm.metadata(work) + disk_args
        if args.detach:
            argv += ["-chardev", f"file,id=terminal,path={running.log(registered.name)},append=on"]
            argv += ["-serial", "chardev:terminal"]
        else:
            argv += ["-chardev", f"stdio,id=terminal,mux=on,signal=off,logfile={running.log(registered.name)}"]
            argv += ["-serial", "chardev:terminal", "-mon", "chardev=terminal"]
        argv = vm.placed(argv)
        if args.dry_run:
            return _print(argv)
        if args.disk:
            watch.start()
        status = _start(args, argv, vm, held)
        registered.ended(status)
        return status


def _start(args: argparse.Namespace, argv: list[str], vm: machine.Machine, held: list[int]) -> int:
    if args.once:
        return process.run_once(argv, vm.placed, tuple(held))
    if not args.detach:
        print("neuron-vm: starting; leave with `sudo poweroff` or Ctrl-A x", file=sys.stderr)
    qemu = subprocess.Popen(argv, pass_fds=held)
    try:
        return qemu.wait()
    finally:
        process.stop(qemu)


def _terminated(number: int, _frame: object) -> None:
    """Ends the way an exception does, so that QEMU and temporary files go too."""
    raise SystemExit(128 + number)


def main() -> int:
    args = parser().parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _terminated)
    os.environ["PATH"] = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"  # depmod, modprobe
    # QEMU's threads hand memory to each other; an arena for each would keep tens of MiB of free pieces
    os.environ.setdefault("MALLOC_ARENA_MAX", "1")
    try:
        if args.subcommand == "types":
            return _types()
        if args.subcommand == "list":
            return manage.list_vms(args.all)
        if args.subcommand == "stop":
            return manage.stop(args.names, args.all, args.force, args.timeout)
        if args.subcommand == "ssh":
            return ssh.command(args.name, args.command, args.timeout)
        if args.subcommand == "cp":
            return ssh.copy(args.sources, args.target, args.recursive, args.timeout)
        if args.subcommand == "logs":
            return manage.logs(args.name, args.follow)
        if args.subcommand == "fault":
            return faults.command(args.vm, args.chip, args.faults)
        # for the scripts, which would look for it in a HOME that there need not be
        os.environ["NEURON_CACHE"] = str(paths.cache())
        if args.subcommand == "prepare":
            return _prepare(args)
        with tempfile.TemporaryDirectory(prefix="neuron-vm.") as work:
            return (_exec if args.subcommand == "exec" else _run)(args, Path(work))
    except VmError as error:
        print(f"neuron-vm: {error}", file=sys.stderr)
        return FAILURE_STATUS
    except OSError as error:
        # a home that cannot be written to, a full disk
        where = f"{error.filename}: " if error.filename else ""
        print(f"neuron-vm: {where}{error.strerror or error}", file=sys.stderr)
        return FAILURE_STATUS
    except KeyboardInterrupt:
        return 130
