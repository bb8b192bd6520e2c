/* SPDX-License-Identifier: MIT */
/*
 * torch::'s factories and element-wise operations, each with an _out form that writes a tensor it
 * is given, which may be an operand. Operands have one shape and one type: there is no
 * broadcasting. Floats are computed in fp32, integers modulo 2^32. Included by torch/torch.h.
 */
#ifndef TORCH_OPERATIONS_H
#define TORCH_OPERATIONS_H

namespace torch
{
/* Elements of any type as fp32 or int32, and back */
#define NEURON_CHUNK 128u
template <class C> inline void widen(Dtype type, const void *from, C *to, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		switch (type) {
		case kByte:
			to[i] = (C)((const uint8_t *)from)[i];
			break;
		case kChar:
			to[i] = (C)((const int8_t *)from)[i];
			break;
		case kShort:
			to[i] = (C)((const int16_t *)from)[i];
			break;
		case kInt:
			to[i] = (C)((const int32_t *)from)[i];
			break;
		case kBFloat16:
			to[i] = (C)(float)((const BFloat16 *)from)[i];
			break;
		case kHalf:
			to[i] = (C)(float)((const Half *)from)[i];
			break;
		default:
			to[i] = (C)((const float *)from)[i];
		}
}
template <class C> inline void narrow(Dtype type, const C *from, void *to, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		switch (type) {
		case kByte:
			((uint8_t *)to)[i] = (uint8_t)(int32_t)from[i];
			break;
		case kChar:
			((int8_t *)to)[i] = (int8_t)(int32_t)from[i];
			break;
		case kShort:
			((int16_t *)to)[i] = (int16_t)(int32_t)from[i];
			break;
		case kInt:
			((int32_t *)to)[i] = (int32_t)from[i];
			break;
		case kBFloat16:
			((BFloat16 *)to)[i] = BFloat16((float)from[i]);
			break;
		case kHalf:
			((Half *)to)[i] = Half((float)from[i]);
			break;
		default:
			((float *)to)[i] = (float)from[i];
		}
}

inline bool is_float(Dtype t)
{
	return t == kFloat || t == kBFloat16 || t == kHalf;
}
inline void same_shape(const Tensor &a, const Tensor &b)
{
	if (a.sizes() != b.sizes())
		neuron_fail("element-wise operations take operands of one shape");
}

/* out = f(a, b), element by element; b may be a */
template <class C, class F> void each(const Tensor &out, const Tensor &a, const Tensor &b, F f)
{
	char raw[NEURON_CHUNK * 4];
	C x[NEURON_CHUNK], y[NEURON_CHUNK];
	uint32_t all = (uint32_t)out.numel();

	for (uint32_t at = 0; at < all; at += NEURON_CHUNK) {
		uint32_t n = all - at < NEURON_CHUNK ? all - at : NEURON_CHUNK;

		a.get(at, n, raw);
		widen(a.dtype(), raw, x, n);
		b.get(at, n, raw);
		widen(b.dtype(), raw, y, n);
		for (uint32_t i = 0; i < n; i++)
			x[i] = f(x[i], y[i]);
		narrow(out.dtype(), x, raw, n);
		out.put(at, n, raw);
	}
}
template <class F, class G>
const Tensor &choose(const Tensor &out, const Tensor &a, const Tensor &b, F f, G g)
{
	same_shape(out, a);
	same_shape(a, b);
	if (is_float(a.dtype()) || is_float(b.dtype()))
		each<float>(out, a, b, f);
	else
		each<int32_t>(out, a, b, g);
	return out;
}
inline int32_t no_such_int(const char *name)
{
	neuron_fail("%s() takes floats", name);
}
inline float no_such_float(const char *name)
{
	neuron_fail("%s() takes integers", name);
}

/* Factories: memory of the processor's own */
inline Tensor empty(IntArrayRef sizes, TensorOptions o = TensorOptions())
{
	return Tensor(sizes, o.type);
}
inline Tensor zeros(IntArrayRef sizes, TensorOptions o = TensorOptions())
{
	return Tensor(sizes, o.type);
}
inline const Tensor &fill(const Tensor &t, double value)
{
	return choose(
		t, t, t, [=](float, float) { return (float)value; },
		[=](int32_t, int32_t) { return (int32_t)value; });
}
inline const Tensor &Tensor::fill_(const Scalar &value) const
{
	return fill(*this, value);
}
inline Tensor full(IntArrayRef sizes, double value, TensorOptions o = TensorOptions())
{
	Tensor t(sizes, o.type);

	fill(t, value);
	return t;
}
inline Tensor ones(IntArrayRef sizes, TensorOptions o = TensorOptions())
{
	return full(sizes, 1, o);
}
inline Tensor eye(int64_t n, int64_t m, TensorOptions o = TensorOptions())
{
	Tensor t({ n, m }, o.type);
	const float one = 1;
	char element[4];

	narrow<float>(o.type, &one, element, 1);
	for (int64_t i = 0; i < n && i < m; i++)
		t.put((uint32_t)(i * m + i), 1, element);
	return t;
}
inline Tensor like(const Tensor &t)
{
	return Tensor(t.sizes(), t.dtype());
}
inline const Tensor &copy(const Tensor &out, const Tensor &a)
{
	return choose(
		out, a, a, [](float x, float) { return x; }, [](int32_t x, int32_t) { return x; });
}

#define NEURON_UNARY(name, of_float, of_int)                                         \
	inline const Tensor &name##_out(const Tensor &out, const Tensor &a)          \
	{                                                                            \
		return choose(                                                       \
			out, a, a, [](float x, float) { return (float)(of_float); }, \
			[](int32_t x, int32_t) { return (int32_t)(of_int); });       \
	}                                                                            \
	inline Tensor name(const Tensor &a)                                          \
	{                                                                            \
		Tensor out = like(a);                                                \
                                                                                     \
		name##_out(out, a);                                                  \
		return out;                                                          \
	}
#define NEURON_BINARY(name, of_float, of_int)                                                \
	inline const Tensor &name##_out(const Tensor &out, const Tensor &a, const Tensor &b) \
	{                                                                                    \
		return choose(                                                               \
			out, a, b, [](float x, float y) { return (float)(of_float); },       \
			[](int32_t x, int32_t y) { return (int32_t)(of_int); });             \
	}                                                                                    \
	inline const Tensor &name##_out(const Tensor &out, const Tensor &a, double s)        \
	{                                                                                    \
		return choose(                                                               \
			out, a, a,                                                           \
			[=](float x, float) {                                                \
				float y = (float)s;                                          \
				return (float)(of_float);                                    \
			},                                                                   \
			[=](int32_t x, int32_t) {                                            \
				int32_t y = (int32_t)s;                                      \
				return (int32_t)(of_int);                                    \
			});                                                                  \
	}                                                                                    \
	template <class B> inline Tensor name(const Tensor &a, const B &b)                   \
	{                                                                                    \
		Tensor out = like(a);                                                        \
                                                                                             \
		name##_out(out, a, b);                                                       \
		return out;                                                                  \
	}

/* a op alpha b */
#define NEURON_SCALED(name, op)                                                                  \
	inline const Tensor &name##_out(const Tensor &out, const Tensor &a, const Tensor &b,     \
					const Scalar &alpha = 1)                                 \
	{                                                                                        \
		return choose(                                                                   \
			out, a, b, [=](float x, float y) { return x op(float) alpha * y; },      \
			[=](int32_t x, int32_t y) {                                              \
				return (int32_t)((uint32_t)x op(uint32_t)(int32_t) alpha *       \
						 (uint32_t)y);                                   \
			});                                                                      \
	}                                                                                        \
	inline const Tensor &name##_out(const Tensor &out, const Tensor &a, const Scalar &s,     \
					const Scalar &alpha = 1)                                 \
	{                                                                                        \
		return choose(                                                                   \
			out, a, a, [=](float x, float) { return x op(float) alpha * (float)s; }, \
			[=](int32_t x, int32_t) {                                                \
				return (int32_t)((uint32_t)x op(uint32_t)(int32_t) alpha *       \
						 (uint32_t)(int32_t)s);                          \
			});                                                                      \
	}                                                                                        \
	template <class B>                                                                       \
	inline Tensor name(const Tensor &a, const B &b, const Scalar &alpha = 1)                 \
	{                                                                                        \
		Tensor out = like(a);                                                            \
                                                                                                 \
		name##_out(out, a, b, alpha);                                                    \
		return out;                                                                      \
	}
/* the number first */
#define NEURON_OF_NUMBER(name, of_float, of_int)                                             \
	inline const Tensor &name##_out(const Tensor &out, const Scalar &s, const Tensor &b) \
	{                                                                                    \
		return choose(                                                               \
			out, b, b,                                                           \
			[=](float y, float) {                                                \
				float x = (float)s;                                          \
				return (float)(of_float);                                    \
			},                                                                   \
			[=](int32_t y, int32_t) {                                            \
				int32_t x = (int32_t)s;                                      \
				return (int32_t)(of_int);                                    \
			});                                                                  \
	}                                                                                    \
	inline Tensor name(const Scalar &s, const Tensor &b)                                 \
	{                                                                                    \
		Tensor out = like(b);                                                        \
                                                                                             \
		name##_out(out, s, b);                                                       \
		return out;                                                                  \
	}

NEURON_UNARY(abs, fabsf(x), x < 0 ? 0u - (uint32_t)x : (uint32_t)x)
NEURON_UNARY(neg, -x, 0u - (uint32_t)x)
NEURON_UNARY(ceil, ceilf(x), x)
NEURON_UNARY(floor, floorf(x), x)
NEURON_UNARY(sin, sinf(x), no_such_int("sin"))
NEURON_UNARY(cos, cosf(x), no_such_int("cos"))
NEURON_UNARY(tan, tanf(x), no_such_int("tan"))
NEURON_UNARY(log, logf(x), no_such_int("log"))
NEURON_UNARY(log2, log2f(x), no_such_int("log2"))
NEURON_UNARY(log10, log10f(x), no_such_int("log10"))
NEURON_UNARY(exp, expf(x), no_such_int("exp"))
NEURON_UNARY(sqrt, sqrtf(x), no_such_int("sqrt"))
NEURON_UNARY(bitwise_not, no_such_float("bitwise_not"), ~x)
NEURON_SCALED(add, +)
NEURON_SCALED(sub, -)
NEURON_BINARY(mul, x *y, (uint32_t)x *(uint32_t)y)
NEURON_BINARY(div, x / y, no_such_int("div"))
NEURON_BINARY(pow, powf(x, y), no_such_int("pow"))
NEURON_BINARY(maximum, x != x || x > y ? x : y, x > y ? x : y)
NEURON_BINARY(minimum, x != x || x < y ? x : y, x < y ? x : y)
NEURON_BINARY(bitwise_and, no_such_float("bitwise_and"), x &y)
NEURON_BINARY(bitwise_or, no_such_float("bitwise_or"), x | y)
NEURON_BINARY(bitwise_xor, no_such_float("bitwise_xor"), x ^ y)
NEURON_OF_NUMBER(pow, powf(x, y), no_such_int("pow"))
NEURON_OF_NUMBER(bitwise_and, no_such_float("bitwise_and"), x &y)
NEURON_OF_NUMBER(bitwise_or, no_such_float("bitwise_or"), x | y)

inline const Tensor &clamp_out(const Tensor &out, const Tensor &a, double low, double high)
{
	return choose(
		out, a, a,
		[=](float x, float) {
			return x < (float)low ? (float)low : x > (float)high ? (float)high : x;
		},
		[=](int32_t x, int32_t) {
			return x < low ? (int32_t)low : x > high ? (int32_t)high : x;
		});
}
inline Tensor clamp(const Tensor &a, double low, double high)
{
	Tensor out = like(a);

	clamp_out(out, a, low, high);
	return out;
}

template <class B> inline Tensor operator+(const Tensor &a, const B &b)
{
	return add(a, b);
}
template <class B> inline Tensor operator-(const Tensor &a, const B &b)
{
	return sub(a, b);
}
template <class B> inline Tensor operator*(const Tensor &a, const B &b)
{
	return mul(a, b);
}
template <class B> inline Tensor operator/(const Tensor &a, const B &b)
{
	return div(a, b);
}
} // namespace torch

#endif
