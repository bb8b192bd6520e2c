/* SPDX-License-Identifier: MIT */
/*
 * The part of torch:: that custom operators for GpSimd's processors may use, for a compiler without
 * a C++ library (docs/gpsimd.md, Operators in C++). A Tensor is an argument of the operator, which
 * lies outside of the processor and is reached by accessors, or memory of its own from a factory or
 * an operation. NEURON_CUSTOM_OP(f) makes an operator of a function of tensors and scalars.
 */
#ifndef TORCH_TORCH_H
#define TORCH_TORCH_H

#include <assert.h>
#include <initializer_list>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern "C" {
#include "neuron/custom_op.h"
}
#include "neuron/neuron-utils.hpp"

namespace c10
{
struct BFloat16 {
	uint16_t x = 0;

	BFloat16() = default;
	BFloat16(float f)
	{
		uint32_t u;

		memcpy(&u, &f, 4);
		x = f != f ? 0x7fc0 : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
	}
	operator float() const
	{
		uint32_t u = (uint32_t)x << 16;
		float f;

		memcpy(&f, &u, 4);
		return f;
	}
};

struct Half {
	uint16_t x = 0;

	Half() = default;
	Half(float f)
	{
		uint32_t u, sign;

		memcpy(&u, &f, 4);
		sign = u >> 16 & 0x8000;
		u &= 0x7fffffff;
		if (u > 0x7f800000) {
			x = 0x7e00;
		} else if (u >= 0x47800000) { /* 2^16 */
			x = (uint16_t)(sign | 0x7c00);
		} else if (u < 0x38800000) { /* 2^-14: the sum's last bit is 2^-24 */
			f = fabsf(f) + 0.5f;
			memcpy(&u, &f, 4);
			x = (uint16_t)(sign | (u - 0x3f000000));
		} else {
			x = (uint16_t)(sign | (u - 0x38000000 + 0xfff + (u >> 13 & 1)) >> 13);
		}
	}
	operator float() const
	{
		uint32_t e = x >> 10 & 31, u = (x & 0x3ffu) << 13;
		float f;

		if (!e) {
			f = (float)(x & 0x3ff) * 0x1p-24f;
			return x & 0x8000 ? -f : f;
		}
		u |= (e == 31 ? 255 : e + 112) << 23;
		u = u > 0x7f800000 ? 0x7fc00000 : u | (x & 0x8000u) << 16;
		memcpy(&f, &u, 4);
		return f;
	}
};

enum class ScalarType : uint8_t {
	Byte = NEURON_DT_UINT8,
	Char = NEURON_DT_INT8,
	Short = NEURON_DT_INT16,
	Int = NEURON_DT_INT32,
	BFloat16 = NEURON_DT_BF16,
	Half = NEURON_DT_FP16,
	Float = NEURON_DT_FP32,
};

/* The sizes of a tensor */
class IntArrayRef
{
	const int64_t *first;
	size_t count;

      public:
	IntArrayRef(const int64_t *p, size_t n) : first(p), count(n)
	{
	}
	IntArrayRef(const std::initializer_list<int64_t> &list)
	    : first(list.begin()), count(list.size())
	{
	}
	size_t size() const
	{
		return count;
	}
	int64_t operator[](size_t i) const
	{
		return first[i];
	}
	bool operator==(const IntArrayRef &o) const
	{
		bool same = count == o.count;

		for (size_t i = 0; same && i < count; i++)
			same = first[i] == o.first[i];
		return same;
	}
	bool operator!=(const IntArrayRef &o) const
	{
		return !(*this == o);
	}
	const int64_t *begin() const
	{
		return first;
	}
	const int64_t *end() const
	{
		return first + count;
	}
};
} // namespace c10

namespace torch
{
using c10::BFloat16;
using c10::Half;
using c10::IntArrayRef;
using c10::ScalarType;
using Dtype = ScalarType;
using Scalar = double;

constexpr Dtype kUInt8 = Dtype::Byte, kByte = Dtype::Byte, kInt8 = Dtype::Char, kChar = Dtype::Char;
constexpr Dtype kInt16 = Dtype::Short, kShort = Dtype::Short, kInt32 = Dtype::Int,
		kInt = Dtype::Int;
constexpr Dtype kHalf = Dtype::Half, kFloat16 = Dtype::Half;
constexpr Dtype kBFloat16 = Dtype::BFloat16, kFloat32 = Dtype::Float, kFloat = Dtype::Float;

/* C++'s names of the elements of a type */
template <class T> struct TypeOf;
template <> struct TypeOf<uint8_t> {
	static constexpr Dtype value = kByte;
};
template <> struct TypeOf<int8_t> {
	static constexpr Dtype value = kChar;
};
template <> struct TypeOf<int16_t> {
	static constexpr Dtype value = kShort;
};
/* int32_t is one of them */
template <> struct TypeOf<long> {
	static constexpr Dtype value = kInt;
};
template <> struct TypeOf<int> {
	static constexpr Dtype value = kInt;
};
template <> struct TypeOf<BFloat16> {
	static constexpr Dtype value = kBFloat16;
};
template <> struct TypeOf<Half> {
	static constexpr Dtype value = kHalf;
};
template <> struct TypeOf<float> {
	static constexpr Dtype value = kFloat;
};

inline uint32_t element_size(Dtype t)
{
	return t == kByte || t == kChar ? 1 : t == kShort || t == kBFloat16 || t == kHalf ? 2 : 4;
}

struct TensorOptions {
	Dtype type = kFloat;

	TensorOptions() = default;
	TensorOptions(Dtype t) : type(t)
	{
	}
	TensorOptions dtype(Dtype t) const
	{
		return TensorOptions(t);
	}
};
inline TensorOptions dtype(Dtype t)
{
	return TensorOptions(t);
}

/* Ends an accessor that may not see what a stream wrote, or writes what a stream has read */
class CoherencyEnforcer
{
      public:
	enum Policy : uint8_t { COHERENT, INCOHERENT_VERBOSE, INCOHERENT_QUIET };

	Policy policy = COHERENT;
	uint8_t readers = 0, writers = 0; /* streams that are open */

	void acquire(bool writes) const
	{
		if (policy == INCOHERENT_QUIET || !(writers || (writes && readers)))
			return;
		if (policy == COHERENT)
			neuron_fail("an accessor to a tensor with an open stream, one of them for "
				    "writing");
		neuron_printf("an accessor to a tensor with an open stream, one of them for "
			      "writing\n");
	}
};

/* A tensor's memory when it is the processor's own: the last handle frees it */
struct Memory {
	uint32_t users;
	CoherencyEnforcer use;
};
inline CoherencyEnforcer argument_use[NEURON_GPS_ARGS];

template <class T, size_t N, bool read_only> class TensorAccessor;
template <class T> class TensorReadStreamAccessor;
template <class T> class TensorWriteStreamAccessor;
template <bool read_only> class TensorTcmAccessor;

class Tensor
{
	Memory *memory = nullptr; /* elements behind it; null: an argument */
	uint32_t number = 0; /* of the argument */
	Dtype type = kFloat;
	uint32_t dims = 0;
	int64_t shape[NEURON_GPS_DIMS] = {};

	void drop()
	{
		if (memory && !--memory->users)
			free(memory);
	}

      public:
	Tensor() = default;
	/* argument k */
	explicit Tensor(uint32_t k) : number(k)
	{
		neuron_gps_arg arg = neuron_arg(k);

		type = (Dtype)arg.dtype;
		dims = arg.ndim;
		for (uint32_t d = 0; d < dims; d++)
			shape[d] = arg.size[d];
	}
	/* memory of its own, zero */
	Tensor(IntArrayRef sizes, Dtype t) : type(t), dims((uint32_t)sizes.size())
	{
		if (dims > NEURON_GPS_DIMS)
			neuron_fail("a tensor of %u dimensions: at most 8", (unsigned)dims);
		for (uint32_t d = 0; d < dims; d++)
			shape[d] = sizes[d];
		uint32_t bytes = nbytes();
		memory = (Memory *)malloc(sizeof(Memory) + bytes);
		if (!memory)
			neuron_fail("no room in the TCM for a tensor of %u bytes", (unsigned)bytes);
		memory->users = 1;
		memory->use = CoherencyEnforcer();
		memset(memory + 1, 0, bytes);
	}
	Tensor(const Tensor &t)
	{
		*this = t;
	}
	~Tensor()
	{
		drop();
	}
	Tensor &operator=(const Tensor &t)
	{
		if (t.memory)
			t.memory->users++;
		drop();
		memory = t.memory;
		number = t.number;
		type = t.type;
		dims = t.dims;
		memcpy(shape, t.shape, sizeof(shape));
		return *this;
	}

	int64_t dim() const
	{
		return dims;
	}
	IntArrayRef sizes() const
	{
		return IntArrayRef(shape, dims);
	}
	int64_t size(int64_t d) const
	{
		d = d < 0 ? d + dims : d;
		if (d < 0 || d >= dims)
			neuron_fail("size(%d) of a tensor of %u dimensions", (int)d,
				    (unsigned)dims);
		return shape[d];
	}
	int64_t numel() const
	{
		int64_t n = 1;

		for (uint32_t d = 0; d < dims; d++)
			n *= shape[d];
		return n;
	}
	Dtype dtype() const
	{
		return type;
	}
	Dtype scalar_type() const
	{
		return type;
	}
	size_t element_size() const
	{
		return torch::element_size(type);
	}
	uint32_t nbytes() const
	{
		return (uint32_t)numel() * torch::element_size(type);
	}
	TensorOptions options() const
	{
		return TensorOptions(type);
	}
	bool is_argument() const
	{
		return !memory;
	}
	uint32_t argument() const
	{
		return number;
	}

	/* n elements from number first on, as they are */
	void get(uint32_t first, uint32_t n, void *to) const
	{
		if (!memory)
			neuron_read(number, first, n, to);
		else
			memcpy(to, own(first, n), n * torch::element_size(type));
	}
	void put(uint32_t first, uint32_t n, const void *from) const
	{
		if (!memory)
			neuron_write(number, first, n, from);
		else
			memcpy(own(first, n), from, n * torch::element_size(type));
	}
	/* what memory of its own has; outside of it is an error, as outside of an argument */
	char *own(uint32_t first, uint32_t n) const
	{
		uint32_t all = (uint32_t)numel();

		if (first > all || n > all - first)
			neuron_fail("elements %u to %u of a tensor of %u", (unsigned)first,
				    (unsigned)(first + n), (unsigned)all);
		return (char *)(memory + 1) + first * torch::element_size(type);
	}

	template <class T> void need() const
	{
		if (TypeOf<T>::value != type)
			neuron_fail("an accessor of type 0x%x to a tensor of type 0x%x",
				    (unsigned)TypeOf<T>::value, (unsigned)type);
	}
	/* of all handles of it */
	CoherencyEnforcer &use() const
	{
		return memory ? memory->use : argument_use[number];
	}
	CoherencyEnforcer::Policy get_accessor_coherence_policy() const
	{
		return use().policy;
	}
	void set_accessor_coherence_policy(CoherencyEnforcer::Policy policy) const
	{
		use().policy = policy;
	}
	const Tensor &fill_(const Scalar &value) const;

	/* of a constant one only to read */
	template <class T, size_t N> TensorAccessor<T, N, true> accessor() const &;
	template <class T, size_t N> TensorAccessor<T, N, false> accessor() &;
	template <class T> TensorReadStreamAccessor<T> read_stream_accessor() const &;
	template <class T> TensorWriteStreamAccessor<T> write_stream_accessor() &;
	TensorTcmAccessor<true> tcm_accessor() const &;
	TensorTcmAccessor<false> tcm_accessor() &;
};

} // namespace torch

#include "torch/accessors.h"

namespace torch
{
namespace neuron
{
inline void *tcm_malloc(size_t bytes)
{
	return neuron_tcm_malloc(bytes);
}
inline void tcm_free(void *p)
{
	neuron_tcm_free(p);
}
} // namespace neuron

} // namespace torch

/* The operator's result, the first one */
inline torch::Tensor get_dst_tensor()
{
	for (uint32_t k = 0; k < neuron_arg_count(); k++)
		if (neuron_arg(k).access & NEURON_GPS_WRITES)
			return torch::Tensor(k);
	neuron_fail("the operator has no result");
}

#include "torch/operations.h"

namespace torch
{
namespace neuron
{
/* The form in which a parameter of the function takes argument k */
template <class T> struct Argument {
	static T get(uint32_t k)
	{
		return (T)neuron_arg_scalar(k);
	}
};
template <> struct Argument<Tensor> {
	static Tensor get(uint32_t k)
	{
		return Tensor(k);
	}
};
template <class T> struct Plain {
	using type = T;
};
template <class T> struct Plain<const T> {
	using type = T;
};
template <class T> struct Plain<T &> {
	using type = typename Plain<T>::type;
};

template <uint32_t... I> struct Indices {
};
template <uint32_t N, uint32_t... I> struct Count : Count<N - 1, N - 1, I...> {
};
template <uint32_t... I> struct Count<0, I...> {
	using type = Indices<I...>;
};

inline void finish(const Tensor &t)
{
	Tensor dst = get_dst_tensor();

	if (t.is_argument() && t.argument() == dst.argument())
		return;
	copy(dst, t);
}

template <class... A, uint32_t... I> void call(Tensor (*f)(A...), Indices<I...>)
{
	finish(f(Argument<typename Plain<A>::type>::get(I)...));
}
template <class... A, uint32_t... I> void call(void (*f)(A...), Indices<I...>)
{
	f(Argument<typename Plain<A>::type>::get(I)...);
}
template <class R, class... A> void call(R (*f)(A...))
{
	call(f, typename Count<sizeof...(A)>::type());
}
} // namespace neuron
} // namespace torch

#undef NEURON_CUSTOM_OP
#define NEURON_CUSTOM_OP(f)              \
	extern "C" void neuron_op_##f()  \
	{                                \
		torch::neuron::call(&f); \
	}

#endif
