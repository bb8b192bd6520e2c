# SPDX-License-Identifier: MIT
"""Functions of single numbers that torch-mlir (20261001) does not lower, in 32 bits, by polynomials that were fitted to mpmath's values

Each polynomial has the highest power first; its comment says of what, and where. Errors are a few units in the last place, as those of PyTorch's CPU.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

aten = torch.ops.aten

# exp(x x) erfc(x) (1 + 2 x) of (x - 4) / (x + 4), which goes from -1 to 0.45 as (t + 0.275) / 0.725
_ERFC = (3.24543769e-05, 0.000253044069, -0.00230337585, 0.00929845965, -0.0263787033, 0.0570519999, -0.0938700234, 0.109287128, -0.0595411332, -0.0875725512, 1.27037884)
# ln Gamma(1 + z) / (z (z - 1)) of z - 1, z from 0 to 2
_LGAMMA = (1.93087505e-05, -3.87342096e-05, 2.02493769e-05, -5.24194421e-05, 0.000195799474, -0.00042557137, 0.000910506309, -0.00210206158, 0.00499948051,
           -0.0123849751, 0.0329649469, -0.100317273, 0.422784336)
# exp(-x) I0(x) of x / 4 - 1, and with sqrt(x) of 16 / x - 1, on both sides of 8
_I0 = ((0.000348628423, -0.000851984388, 0.000412651423, -0.000754895001, 0.00416927374, -0.00801823676, 0.0115540655, -0.0188573549, 0.0303606372, -0.043317893,
        0.0567272883, -0.0694632888, 0.0792829728, -0.084973244, 0.0873428052, -0.0890428754, 0.0945156472, -0.113004336, 0.207001921),
       (3.16198558e-08, 1.08679425e-07, 3.0733229e-07, 1.47611573e-06, 1.11398156e-05, 0.000136217164, 0.00336055224, 0.402176509))
# exp(-x) I1(x) / x, and with sqrt(x), of the same
_I1 = ((4.75213426e-05, -0.000123682796, 9.35681713e-05, -0.000202626601, 0.000812403533, -0.00169859429, 0.00295600389, -0.00542742133, 0.00960630648,
        -0.0156143009, 0.0236799437, -0.0336612828, 0.0446755172, -0.0552813127, 0.0637673292, -0.0684825331, 0.0680576021, -0.0611243392, 0.0446877099),
       (-3.57743583e-08, -1.22732173e-07, -3.58429889e-07, -1.82569073e-06, -1.5035268e-05, -0.000219237125, -0.00974957746, 0.389398459))
# erfinv(x) / x of -ln(1 - x x): below 5 less 2.5, from there on its root less 3 (M. Giles, Approximating the erfinv function, 2010, single precision)
_ERFINV = ((2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941),
           (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682))
STEPS = 6  # of a recurrence, to where the asymptotic series holds


def _polynomial(coefficients: Sequence[float], x: Tensor) -> Tensor:
    result = x * coefficients[0] + coefficients[1]
    for value in coefficients[2:]:
        result = result * x + value
    return result


def real(function: Callable[[Tensor], Tensor]) -> Callable:
    """A function of 32 bits, of tensors of other types too: of integers the result is of PyTorch's default type"""
    def of(x: Tensor, *more: object) -> Tensor:
        if x.dtype in (torch.float64, torch.complex64, torch.complex128):
            return NotImplemented
        to = x.dtype if x.dtype.is_floating_point else torch.get_default_dtype()
        result = function(x.to(torch.float32), *more)
        return result if result is NotImplemented else result.to(to)

    return of


def _square_parts(x: Tensor) -> tuple[Tensor, Tensor]:
    """Two numbers whose sum is x x to more than 32 bits"""
    wide = x * 4097.0
    high = wide - (wide - x)
    return high * high, (x - high) * (x + high)


def erfc(x: Tensor) -> Tensor:
    y = x.abs().clamp(max=10.5)
    first, rest = _square_parts(y)
    scaled = _polynomial(_ERFC, ((y - 4) / (y + 4) + 0.275) / 0.725) / (1 + 2 * y)
    tail = torch.exp(-first) * torch.exp(-rest) * scaled
    return torch.where(x != x, x, torch.where(y < 0.5, 1 - torch.erf(x), torch.where(x < 0, 2 - tail, tail)))


def erfinv(x: Tensor) -> Tensor:
    w = -torch.where(x.abs() < 0.5, torch.log1p(-x * x), torch.log((1 - x) * (1 + x)))
    near, far = _polynomial(_ERFINV[0], w - 2.5), _polynomial(_ERFINV[1], torch.sqrt(w.clamp(min=0.0)) - 3)
    return torch.where(x.abs() == 1, x * math.inf, torch.where(w < 5, near, far) * x)


def _sine_of_pi(x: Tensor) -> Tensor:
    """|sin(pi x)|, of x from 0 on"""
    part = x - torch.floor(x)
    return torch.sin(torch.minimum(part, 1 - part) * math.pi)


def _lgamma_positive(x: Tensor) -> Tensor:
    z = torch.where(x < 1, x, x - 1)
    small = z * (z - 1) * _polynomial(_LGAMMA, z - 1)
    small = torch.where(x < 1, small - torch.log(x), small)
    inverse = 1 / x
    series = inverse * _polynomial((1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12), inverse * inverse)
    return torch.where(x < 3, small, (x - 0.5) * (torch.log(x) - 1) + (0.5 * math.log(2 * math.pi) - 0.5 + series))


def lgamma(x: Tensor) -> Tensor:
    y = x.abs()
    positive = _lgamma_positive(y)
    negative = math.log(math.pi) - torch.log(y) - torch.log(_sine_of_pi(y)) - positive
    return torch.where(y == math.inf, y, torch.where(x < 0, torch.where(y == torch.floor(y), math.inf, negative), positive))


def digamma(x: Tensor) -> Tensor:
    y = torch.where(x < 0.5, 1 - x, x)
    less = torch.zeros_like(y)
    for _ in range(STEPS):
        below = y < STEPS
        less = torch.where(below, less + 1 / y, less)
        y = torch.where(below, y + 1, y)
    inverse = 1 / (y * y)
    series = inverse * _polynomial((1 / 240, -1 / 252, 1 / 120, -1 / 12), inverse)
    positive = torch.log(y) - 0.5 / y + series - less
    result = torch.where(x < 0.5, positive - math.pi / torch.tan((x - torch.round(x)) * math.pi), positive)
    result = torch.where((x < 0) & (x == torch.floor(x)), math.nan, result)
    return torch.where(x == 0, -math.inf / x.sign().add(torch.where(1 / x < 0, -1.0, 1.0)), result)


def _trigamma(x: Tensor) -> Tensor:
    y = torch.where(x < 0.5, 1 - x, x)
    more = torch.zeros_like(y)
    for _ in range(STEPS):
        below = y < STEPS
        more = torch.where(below, more + 1 / (y * y), more)
        y = torch.where(below, y + 1, y)
    inverse = 1 / (y * y)
    series = _polynomial((-1 / 30, 1 / 42, -1 / 30, 1 / 6), inverse) * inverse
    positive = (1 + 0.5 / y + series) / y + more
    return torch.where(x < 0.5, (math.pi / _sine_of_pi(x.abs())).square() - positive, positive)


def _polygamma(n: int, x: Tensor) -> Tensor:
    """Of the first two orders"""
    return NotImplemented if n > 1 else real(_trigamma if n else digamma)(x)


def _bessel(parts: tuple[Sequence[float], Sequence[float]], odd: bool, scaled: bool) -> Callable[[Tensor], Tensor]:
    def bessel(x: Tensor) -> Tensor:
        y = x.abs()
        small = _polynomial(parts[0], y.clamp(max=8.0) / 4 - 1)
        far = y.clamp(min=8.0)
        large = _polynomial(parts[1], 16 / far - 1) / torch.sqrt(far)
        value = torch.where(y < 8, small * y if odd else small, large)
        if not scaled:
            half = torch.exp(y * 0.5)  # the whole may be beyond what the result is
            value = value * half * half
        value = torch.where(x != x, x, value)
        return torch.where(x < 0, -value, value) if odd else value

    return bessel


def _hypot(x: Tensor, y: Tensor) -> Tensor:
    x, y = x.abs(), y.abs()
    large, small = torch.maximum(x, y), torch.minimum(x, y)
    part = small / large
    result = torch.where(large == 0, large, large * torch.sqrt(1 + part * part))
    return torch.where((x == math.inf) | (y == math.inf), math.inf, result)


def _angle(x: Tensor) -> Tensor:
    x = x if x.dtype.is_floating_point else x.to(torch.get_default_dtype())
    return torch.where(x != x, x, torch.where(x < 0, math.pi, 0.0).to(x.dtype))


def _reciprocal(x: Tensor) -> Tensor:
    return NotImplemented if x.dtype.is_floating_point else torch.reciprocal(x.to(torch.get_default_dtype()))


def _shrink_backward(gradient: Tensor, x: Tensor, lambd: float) -> Tensor:
    return torch.where((x >= -lambd) & (x <= lambd), torch.zeros_like(gradient), gradient)


def _extreme(op: Callable[[Tensor, Tensor], Tensor], a_number: bool = False) -> Callable:
    """Of two tensors that are broadcast; a_number: a NaN counts only if both are"""
    def extreme(x: Tensor, y: Tensor) -> Tensor:
        kind = torch.result_type(x, y)
        x, y = torch.broadcast_tensors(x.to(kind), y.to(kind))
        result = op(x, y)
        return torch.where(x != x, y, torch.where(y != y, x, result)) if a_number and kind.is_floating_point else result

    return extreme


def _clamp(x: Tensor, min: object = None, max: object = None) -> Tensor:
    """Of integers by fractions the result is no integer."""
    kind = x.dtype
    for bound in (min, max):
        kind = torch.promote_types(kind, torch.result_type(x, bound)) if bound is not None else kind
    if kind == x.dtype and not any(isinstance(bound, Tensor) and bound.dim() for bound in (min, max)):
        return NotImplemented
    bounds = [bound if bound is None or isinstance(bound, Tensor) else torch.full((), bound, dtype=kind, device=x.device) for bound in (min, max)]
    x = x.to(kind)
    for bound, op in zip(bounds, (torch.maximum, torch.minimum), strict=True):
        x = x if bound is None else op(*torch.broadcast_tensors(x, bound.to(kind)))
    return x


def _gcd(x: Tensor, y: Tensor) -> Tensor:
    """Euclid's algorithm, of as many steps as the type's largest numbers take"""
    x, y = torch.broadcast_tensors(x.abs(), y.abs())
    for _ in range({1: 12, 2: 23}.get(x.dtype.itemsize, 45)):
        rest = torch.fmod(x, torch.where(y == 0, torch.ones_like(y), y))
        x, y = torch.where(y == 0, x, y), torch.where(y == 0, y, rest)
    return x


def _lcm(x: Tensor, y: Tensor) -> Tensor:
    x, y = torch.broadcast_tensors(x, y)
    common = aten.gcd.default(x, y)
    return ((x // torch.where(common == 0, torch.ones_like(common), common)) * y).abs()


TABLE = {aten.erfc.default: real(erfc), aten.special_erfc.default: real(erfc), aten.erfinv.default: real(erfinv), aten.lgamma.default: real(lgamma),
         aten.digamma.default: real(digamma), aten.polygamma.default: _polygamma,
         aten.i0.default: real(_bessel(_I0, False, False)), aten.special_i0e.default: real(_bessel(_I0, False, True)),
         aten.special_i1.default: real(_bessel(_I1, True, False)), aten.special_i1e.default: real(_bessel(_I1, True, True)), aten.hypot.default: _hypot,
         aten.angle.default: _angle, aten.reciprocal.default: _reciprocal, aten.hardshrink_backward.default: _shrink_backward,
         aten.softshrink_backward.default: _shrink_backward, aten.fmax.default: _extreme(torch.maximum, True), aten.fmin.default: _extreme(torch.minimum, True),
         aten.clamp_max.Tensor: _extreme(torch.minimum), aten.clamp_min.Tensor: _extreme(torch.maximum), aten.clamp.default: _clamp, aten.clamp.Tensor: _clamp, aten.gcd.default: _gcd, aten.lcm.default: _lcm}
