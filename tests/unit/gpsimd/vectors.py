# SPDX-License-Identifier: MIT
"""Write random vector instructions, each with a type, a length, operands and a mask, as assembly that vectors.c is linked with.

usage: vectors.py NUMBER SEED. Instructions and what they may be given are those of the RISC-V specification of vectors 1.0, Zve32f;
the assembler makes their words.
"""

import random
import re
import sys

LMULS = (-2, -1, 0, 1, 2, 3)  # logarithms
VLEN = 64

VX, VXI, V_X = "vv vx", "vv vx vi", "vx"
SAME = {
    "vadd vand vor vxor vsaddu vsadd vsll vsrl vsra vssrl vssra": VXI,
    "vsub vminu vmin vmaxu vmax vssubu vssub vsmul vaaddu vaadd vasubu vasub": VX,
    "vdivu vdiv vremu vrem vmulhu vmul vmulhsu vmulh": VX,
    "vrsub": "vx vi",
}
MULADD = "vmadd vnmsub vmacc vnmsac"
WIDE = "vwaddu vwadd vwsubu vwsub vwmulu vwmulsu vwmul"
WIDE_ADD = "vwmaccu vwmacc vwmaccsu vwmaccus"
NARROW = "vnsrl vnsra vnclipu vnclip"
COMPARE = {"vmseq vmsne vmsleu vmsle": VXI, "vmsltu vmslt": VX, "vmsgtu vmsgt": "vx vi"}
REDUCE = "vredsum vredand vredor vredxor vredminu vredmin vredmaxu vredmax"
FLOAT = {"vfadd vfsub vfmin vfmax vfsgnj vfsgnjn vfsgnjx vfdiv vfmul": "vv vf", "vfrsub vfrdiv": "vf"}
FLOAT_ADD = "vfmadd vfnmadd vfmsub vfnmsub vfmacc vfnmacc vfmsac vfnmsac"
FLOAT_COMPARE = {"vmfeq vmfle vmflt vmfne": "vv vf", "vmfgt vmfge": "vf"}
FLOAT_REDUCE = "vfredusum vfredosum vfredmin vfredmax"
FLOAT_ONE = ("vfcvt.xu.f.v vfcvt.x.f.v vfcvt.f.xu.v vfcvt.f.x.v "
             "vfsqrt.v vfrsqrt7.v vfrec7.v vfclass.v")  # fmt: skip
FLOAT_WIDE = "vfwcvt.f.xu.v vfwcvt.f.x.v"
FLOAT_NARROW = "vfncvt.xu.f.w vfncvt.x.f.w"
MASKS = "vmandn vmand vmor vmxor vmorn vmnand vmnor vmxnor"


def regs(lmul: int) -> int:
    return 1 << max(lmul, 0)


class Test:
    """One instruction: the type it is executed with, and its text."""

    def __init__(self, rng: random.Random, sews: tuple[int, ...] = (0, 1, 2), most: int = 3, least: int = -2) -> None:
        self.rng = rng
        while True:
            self.sew, self.lmul = rng.choice(sews), rng.choice(LMULS)
            if least <= self.lmul <= most and self.lmul >= self.sew - 2:
                break
        self.most = VLEN * 8 >> 3 >> self.sew
        self.most = self.most << self.lmul if self.lmul >= 0 else self.most >> -self.lmul
        self.masked = rng.random() < 0.4
        self.taken: list[range] = [range(0, 1)] if self.masked else []
        self.before: list[str] = []
        self.text = ""

    def group(self, lmul: int) -> str:
        """A group that meets none of the others."""
        n = regs(lmul)
        at = self.rng.choice([at for at in range(0, 32, n) if not any(at < r.stop and r.start < at + n for r in self.taken)])
        self.taken.append(range(at, at + n))
        return f"v{at}"

    def fill(self, text: str) -> str:
        """G stands for a group, R for a register."""
        return re.sub("[GR]", lambda m: self.group(self.lmul if m[0] == "G" else 0), text)

    def mask(self) -> str:
        return ", v0.t" if self.masked else ""

    def operand(self, form: str, lmul: int) -> str:
        if form[1] == "v":
            return self.group(lmul)
        if form[1] == "x":
            return "a2"
        if form[1] == "f":
            return "fa2"
        return ""

    def three(self, name: str, form: str, d: int, a: int, b: int, unsigned: bool = False, add: bool = False) -> "Test":
        last = self.operand(form, b) or str(self.rng.randrange(32) if unsigned else self.rng.randrange(-16, 16))
        # operands may be the result's group where all are as wide
        vs2 = self.group(a)
        vd = vs2 if d == a == b and not add and name != "vrgather" and self.rng.random() < 0.2 else self.group(d)
        operands = (vd, last, vs2) if add else (vd, vs2, last)
        self.text = f"{name}.{form} {', '.join(operands)}{self.mask()}"
        return self


def pick(rng: random.Random, table: dict[str, str]) -> tuple[str, str]:
    names, forms = rng.choice([(n, f) for ns, f in table.items() for n in ns.split()])
    return names, rng.choice(forms.split())


def same(rng: random.Random) -> Test:
    name, form = pick(rng, SAME)
    t = Test(rng)
    return t.three(name, form, t.lmul, t.lmul, t.lmul, unsigned=name in ("vsll", "vsrl", "vsra", "vssrl", "vssra"))


def muladd(rng: random.Random) -> Test:
    t = Test(rng)
    return t.three(rng.choice(MULADD.split()), rng.choice(("vv", "vx")), t.lmul, t.lmul, t.lmul, add=True)


def wide(rng: random.Random) -> Test:
    t = Test(rng, (0, 1), 2)
    if rng.random() < 0.3:
        name = rng.choice(("vwaddu", "vwadd", "vwsubu", "vwsub"))
        return t.three(name, rng.choice(("wv", "wx")), t.lmul + 1, t.lmul + 1, t.lmul)
    name = rng.choice((WIDE + " " + WIDE_ADD).split())
    form = "vx" if name == "vwmaccus" else rng.choice(("vv", "vx"))
    return t.three(name, form, t.lmul + 1, t.lmul, t.lmul, add="macc" in name)


def narrow(rng: random.Random) -> Test:
    t = Test(rng, (0, 1), 2)
    return t.three(rng.choice(NARROW.split()), rng.choice(("wv", "wx", "wi")), t.lmul, t.lmul + 1, t.lmul, unsigned=True)


def compare(rng: random.Random) -> Test:
    name, form = pick(rng, COMPARE)
    t = Test(rng)
    return t.three(name, form, 0, t.lmul, t.lmul)


def carry(rng: random.Random) -> Test:
    name, form = pick(rng, {"vadc vmadc vmerge": "vvm vxm vim", "vsbc vmsbc": "vvm vxm"})
    t = Test(rng)
    t.masked, t.taken = True, [range(0, 1)]
    if name.startswith("vm") and name != "vmerge":
        t.three(name, form, 0, t.lmul, t.lmul)
        if rng.random() < 0.5:
            t.text = t.text.replace("m ", " ", 1).replace(", v0.t", "")
    else:
        t.three(name, form, t.lmul, t.lmul, t.lmul)
    t.text = t.text.replace(", v0.t", ", v0")
    return t


def move(rng: random.Random) -> Test:
    t = Test(rng)
    t.masked, t.taken = False, []
    form = rng.choice("vxi")
    d, s = t.group(t.lmul), t.group(t.lmul)
    t.text = f"vmv.v.{form} {d}, {dict(v=s, x='a2', i=str(rng.randrange(-16, 16)))[form]}"
    return t


def reduce(rng: random.Random) -> Test:
    if rng.random() < 0.2:
        t, name = Test(rng, (0, 1)), rng.choice(("vwredsumu", "vwredsum"))
    else:
        t, name = Test(rng), rng.choice(REDUCE.split())
    t.text = f"{name}.vs {t.group(0)}, {t.group(t.lmul)}, {t.group(0)}{t.mask()}"
    return t


def floating(rng: random.Random) -> Test:
    name, form = pick(rng, FLOAT)
    t = Test(rng, (2,))
    return t.three(name, form, t.lmul, t.lmul, t.lmul)


def float_add(rng: random.Random) -> Test:
    t = Test(rng, (2,))
    return t.three(rng.choice(FLOAT_ADD.split()), rng.choice(("vv", "vf")), t.lmul, t.lmul, t.lmul, add=True)


def float_other(rng: random.Random) -> Test:
    t = Test(rng, (2,))
    kind = rng.randrange(4)
    if kind == 0:
        name, form = pick(rng, FLOAT_COMPARE)
        return t.three(name, form, 0, t.lmul, t.lmul)
    if kind == 1:
        t.text = f"{rng.choice(FLOAT_REDUCE.split())}.vs {t.group(0)}, {t.group(t.lmul)}, {t.group(0)}{t.mask()}"
    elif kind == 2:
        t.masked, t.taken = True, [range(0, 1)]
        t.text = f"vfmerge.vfm {t.group(t.lmul)}, {t.group(t.lmul)}, fa2, v0"
    else:
        t.masked = False
        t.text = t.fill(rng.choice(("vfmv.v.f G, fa2", "vfmv.f.s fa3, R", "vfmv.s.f R, fa2", "vfslide1up.vf G, G, fa2", "vfslide1down.vf G, G, fa2")))
    return t


def float_one(rng: random.Random) -> Test:
    kind = rng.randrange(4)
    if kind == 0:
        t = Test(rng, (1,), 2)
        t.text = f"{rng.choice(FLOAT_WIDE.split())} {t.group(t.lmul + 1)}, {t.group(t.lmul)}{t.mask()}"
    elif kind == 1:
        t = Test(rng, (1,), 2)
        t.text = f"{rng.choice(FLOAT_NARROW.split())} {t.group(t.lmul)}, {t.group(t.lmul + 1)}{t.mask()}"
    else:
        t = Test(rng, (2,))
        t.text = f"{rng.choice(FLOAT_ONE.split())} {t.group(t.lmul)}, {t.group(t.lmul)}{t.mask()}"
    return t


def extend(rng: random.Random) -> Test:
    by = rng.choice((2, 4))
    t = Test(rng, (1, 2) if by == 2 else (2,))
    if t.lmul - by // 2 < -2:
        return extend(rng)
    t.text = f"v{rng.choice('zs')}ext.vf{by} {t.group(t.lmul)}, {t.group(t.lmul - by // 2)}{t.mask()}"
    return t


def permute(rng: random.Random) -> Test:
    t = Test(rng)
    kind = rng.randrange(6)
    if kind == 0 and -2 <= t.lmul + 1 - t.sew <= 3:
        t.text = f"vrgatherei16.vv {t.group(t.lmul)}, {t.group(t.lmul)}, {t.group(t.lmul + 1 - t.sew)}{t.mask()}"
    elif kind == 1:
        form = rng.choice(("vv", "vx", "vi"))
        return t.three("vrgather", form, t.lmul, t.lmul, t.lmul) if form == "vv" else slide(t, "vrgather", form)
    elif kind == 2:
        t.masked, t.taken = False, []
        t.text = f"vcompress.vm {t.group(t.lmul)}, {t.group(t.lmul)}, {t.group(0)}"
    elif kind == 3:
        return slide(t, rng.choice(("vslide1up", "vslide1down")), "vx")
    else:
        return slide(t, rng.choice(("vslideup", "vslidedown")), rng.choice(("vx", "vi")))
    return t


def slide(t: Test, name: str, form: str) -> Test:
    last = "a2" if form == "vx" else str(t.rng.randrange(32))
    if name not in ("vslide1up", "vslide1down") and t.rng.random() < 0.8:
        t.before.append(f"li a2, {t.rng.randrange(t.most + 2)}")
    t.text = f"{name}.{form} {t.group(t.lmul)}, {t.group(t.lmul)}, {last}{t.mask()}"
    return t


def masks(rng: random.Random) -> Test:
    t = Test(rng)
    kind = rng.randrange(5)
    if kind == 0:
        t.masked = False
        t.text = f"{rng.choice(MASKS.split())}.mm v{rng.randrange(32)}, v{rng.randrange(32)}, v{rng.randrange(32)}"
    elif kind == 1:
        t.text = f"{rng.choice(('vcpop.m', 'vfirst.m'))} a3, v{rng.randrange(32)}{t.mask()}"
    elif kind == 2:
        t.text = f"{rng.choice(('vmsbf.m', 'vmsif.m', 'vmsof.m'))} {t.group(0)}, {t.group(0)}{t.mask()}"
    elif kind == 3:
        t.text = f"viota.m {t.group(t.lmul)}, {t.group(0)}{t.mask()}"
    else:
        t.text = f"vid.v {t.group(t.lmul)}{t.mask()}"
    return t


def single(rng: random.Random) -> Test:
    t = Test(rng)
    t.masked = False
    n = rng.choice((1, 2, 4, 8))
    t.text = t.fill(rng.choice(("vmv.x.s a3, R", "vmv.s.x R, a2", f"vmv{n}r.v v{rng.randrange(0, 32, n)}, v{rng.randrange(0, 32, n)}")))
    return t


def memory(rng: random.Random) -> Test:
    t = Test(rng)
    kind, fields = rng.randrange(6), rng.choice((1, 1, 1, 2, 3, 4, 5, 6, 7, 8))
    eew = rng.randrange(3)
    if kind == 0:
        n, load = rng.choice((1, 2, 4, 8)), rng.random() < 0.5
        reg = f"v{rng.randrange(0, 32, n)}"
        t.masked = False
        t.text = f"vl{n}re{8 << eew}.v {reg}, (a4)" if load else f"vs{n}r.v {reg}, (a4)"
        return t
    if kind == 1:
        t.masked = False
        t.text = f"v{rng.choice('ls')}m.v v{rng.randrange(32)}, (a4)"
        return t
    indexed = kind >= 4
    lmul = t.lmul if indexed else t.lmul + eew - t.sew
    index = t.lmul + eew - t.sew
    if not -2 <= index <= 3 or not -2 <= lmul <= 3 or regs(lmul) * fields > 8:
        return memory(rng)
    first = rng.randrange(0, 33 - regs(lmul) * fields, regs(lmul))
    if t.masked and not first:
        return memory(rng)
    t.taken.append(range(first, first + regs(lmul) * fields))
    seg = f"seg{fields}" if fields > 1 else ""
    load = rng.random() < 0.5
    if indexed:
        at = t.group(index)
        offsets = 0xF8 if eew == 0 else 0x3F8
        t.before += [f"vsetvli t0, x0, e{8 << eew}, m{1 << max(index, 0)}, ta, ma", f"li t0, {offsets}", f"vand.vx {at}, {at}, t0"]
        t.text = f"v{'l' if load else 's'}{rng.choice('uo')}x{seg}ei{8 << eew}.v v{first}, (a4), {at}{t.mask()}"
    elif kind == 2:
        span = 1024 // max(t.most, 1) >> eew
        stride = rng.randrange(-span, span + 1) << eew
        t.before.append(f"li t2, {stride}")
        t.text = f"v{'l' if load else 's'}s{seg}e{8 << eew}.v v{first}, (a4), t2{t.mask()}"
    else:
        ff = "ff" if load and rng.random() < 0.3 else ""
        t.text = f"v{'l' if load else 's'}{'' if not seg else 'seg' + str(fields)}e{8 << eew}{ff}.v v{first}, (a4){t.mask()}"
    return t


KINDS = ((same, 8), (muladd, 2), (wide, 4), (narrow, 2), (compare, 3), (carry, 2), (move, 1), (reduce, 3), (floating, 4), (float_add, 3),
         (float_other, 4), (float_one, 4), (extend, 1), (permute, 5), (masks, 4), (single, 1), (memory, 8))  # fmt: skip


def main() -> int:
    number, rng = int(sys.argv[1]), random.Random(int(sys.argv[2]))
    kinds = [k for k, weight in KINDS for _ in range(weight)]
    out = ["\t.text", "\t.globl vector_tests", "vector_tests:", "\taddi sp, sp, -16", "\tsw ra, 12(sp)"]
    for _ in range(number):
        t = rng.choice(kinds)(rng)
        want = rng.choice((t.most, t.most, t.most, rng.randrange(t.most + 1), rng.randrange(t.most + 1), 0 if rng.random() < 0.2 else 1))
        vtype = t.lmul & 7 | t.sew << 3 | rng.randrange(4) << 6
        if rng.random() < 0.3:
            out.append("\tcall vector_seed")
        out.append("\tcall vector_scalars")
        out += ["\t" + b for b in t.before]
        out += [f"\tli t0, {want}", f"\tli t1, {vtype}", "\tvsetvl x0, t0, t1", f"\tcsrwi vxrm, {rng.randrange(4)}"]
        if rng.random() < 0.1 and not t.text.startswith(("vred", "vwred", "vfred", "vcomp", "viota", "vms", "vcpop", "vfirst", "vl", "vs", "vmv", "vfmv")):
            out.append(f"\tcsrwi vstart, {rng.randrange(16)}")
        out += ["\t" + t.text, "\tcall vector_dump"]
    out += ["\tlw ra, 12(sp)", "\taddi sp, sp, 16", "\tret"]
    print("\n".join(out))
    return 0


sys.exit(main())
