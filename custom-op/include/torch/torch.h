/* SPDX-License-Identifier: MIT */
/*
 * The part of torch:: that custom operators for GpSimd's processors may use, for a compiler without
 * a C++ library (docs/gpsimd.md, Operators in C++). A Tensor is an argument of the operator, which
 * lies outside of the processor and is reached by accessors, or memory of its own from a factory or
 * an operation. NEURON_CUSTOM_OP(f) makes an operator of a function of tensors and scalars.
 */
#ifndef TORCH_TORCH_H
#define TORCH_TORCH_H

#include <initializer_list>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern "C" {
#include "neuron/custom_op.h"
}

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

enum class ScalarType : uint8_t {
	Byte = NEURON_DT_UINT8,
	Char = NEURON_DT_INT8,
	Short = NEURON_DT_INT16,
	Int = NEURON_DT_INT32,
	BFloat16 = NEURON_DT_BF16,
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
using c10::IntArrayRef;
using c10::ScalarType;
using Dtype = ScalarType;

constexpr Dtype kUInt8 = Dtype::Byte, kByte = Dtype::Byte, kInt8 = Dtype::Char, kChar = Dtype::Char;
constexpr Dtype kInt16 = Dtype::Short, kShort = Dtype::Short, kInt32 = Dtype::Int,
		kInt = Dtype::Int;
constexpr Dtype kBFloat16 = Dtype::BFloat16, kFloat32 = Dtype::Float, kFloat = Dtype::Float;

/* What C++ calls the elements of a type */
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
template <> struct TypeOf<float> {
	static constexpr Dtype value = kFloat;
};

inline uint32_t element_size(Dtype t)
{
	return t == kByte || t == kChar ? 1 : t == kShort || t == kBFloat16 ? 2 : 4;
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

/* Of a tensor's memory when it is the processor's own: the last handle frees it */
struct Memory {
	uint32_t users;
	uint32_t zero;
};

enum class TensorAccessorCoherencePolicy { COHERENT, STREAM };

template <class T, size_t N> class TensorAccessor;
template <class T> class ReadStreamAccessor;
template <class T> class WriteStreamAccessor;
class TCMAccessor;

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
	template <class T, size_t N> TensorAccessor<T, N> accessor() const;
	template <class T, TensorAccessorCoherencePolicy = TensorAccessorCoherencePolicy::STREAM>
	ReadStreamAccessor<T> read_stream_accessor() const;
	template <class T, TensorAccessorCoherencePolicy = TensorAccessorCoherencePolicy::STREAM>
	WriteStreamAccessor<T> write_stream_accessor() const;
	TCMAccessor tcm_accessor() const;
};

/* An element: reads and writes go to the tensor at once */
template <class T> class Element
{
	const Tensor &t;
	uint32_t at;

      public:
	Element(const Tensor &tensor, uint32_t i) : t(tensor), at(i)
	{
	}
	operator T() const
	{
		T v;

		t.get(at, 1, &v);
		return v;
	}
	const Element &operator=(T v) const
	{
		t.put(at, 1, &v);
		return *this;
	}
	const Element &operator=(const Element &e) const
	{
		return *this = (T)e;
	}
	const Element &operator+=(T v) const
	{
		return *this = (T)(*this) + v;
	}
	const Element &operator-=(T v) const
	{
		return *this = (T)(*this) - v;
	}
	const Element &operator*=(T v) const
	{
		return *this = (T)(*this) * v;
	}
	const Element &operator/=(T v) const
	{
		return *this = (T)(*this) / v;
	}
};

/* tensor[i][j]...; indices outside of a dimension are an error */
template <class T, size_t N> class TensorAccessor
{
	Tensor t;
	uint32_t first, d;

      public:
	TensorAccessor(const Tensor &tensor, uint32_t at, uint32_t dim)
	    : t(tensor), first(at), d(dim)
	{
	}
	int64_t size(int64_t i) const
	{
		return t.size(d + i);
	}
	uint32_t place(int64_t i) const
	{
		if (i < 0 || i >= t.size(d))
			neuron_fail("index %d of a dimension of %d", (int)i, (int)t.size(d));
		for (uint32_t k = d + 1; k < t.dim(); k++)
			i *= t.size(k);
		return first + (uint32_t)i;
	}
	TensorAccessor<T, N - 1> operator[](int64_t i) const
	{
		return TensorAccessor<T, N - 1>(t, place(i), d + 1);
	}
};
template <class T> class TensorAccessor<T, 1>
{
	Tensor t;
	uint32_t first, d;

      public:
	TensorAccessor(const Tensor &tensor, uint32_t at, uint32_t dim)
	    : t(tensor), first(at), d(dim)
	{
	}
	int64_t size(int64_t i) const
	{
		return t.size(d + i);
	}
	Element<T> operator[](int64_t i) const
	{
		if (i < 0 || i >= t.size(d))
			neuron_fail("index %d of a dimension of %d", (int)i, (int)t.size(d));
		return Element<T>(t, first + (uint32_t)i);
	}
};

/* Elements one after the other, through 4 KiB of the pool */
#define NEURON_STREAM_BYTES 4096u
template <class T> class Stream
{
      protected:
	Tensor t;
	T *buf;
	uint32_t at = 0, n = 0, all; /* elements before the buffer, in it, of the tensor */

      public:
	explicit Stream(const Tensor &tensor) : t(tensor), all((uint32_t)tensor.numel())
	{
		buf = (T *)neuron_tcm_malloc(NEURON_STREAM_BYTES - 64);
		if (!buf)
			neuron_fail("no room in the TCM's pool for one more stream");
	}
	Stream(const Stream &) = delete;
	~Stream()
	{
		neuron_tcm_free(buf);
	}
	static constexpr uint32_t room = (NEURON_STREAM_BYTES - 64) / sizeof(T);
};
template <class T> class ReadStreamAccessor : Stream<T>
{
	uint32_t next = 0;

      public:
	explicit ReadStreamAccessor(const Tensor &tensor) : Stream<T>(tensor)
	{
	}
	T read()
	{
		if (next == this->n) {
			uint32_t left = this->all - (this->at += this->n);

			if (!left)
				neuron_fail("read() behind the last of %u elements",
					    (unsigned)this->all);
			this->n = left < this->room ? left : this->room;
			this->t.get(this->at, this->n, this->buf);
			next = 0;
		}
		return this->buf[next++];
	}
};
template <class T> class WriteStreamAccessor : Stream<T>
{
      public:
	explicit WriteStreamAccessor(const Tensor &tensor) : Stream<T>(tensor)
	{
	}
	~WriteStreamAccessor()
	{
		flush();
	}
	void flush()
	{
		this->t.put(this->at, this->n, this->buf);
		this->at += this->n;
		this->n = 0;
	}
	void write(T v)
	{
		if (this->at + this->n == this->all)
			neuron_fail("write() behind the last of %u elements", (unsigned)this->all);
		this->buf[this->n++] = v;
		if (this->n == this->room)
			flush();
	}
};

/* Blocks of elements to and from memory of tcm_malloc(), or any other of the processor's */
class TCMAccessor
{
	Tensor t;

      public:
	explicit TCMAccessor(const Tensor &tensor) : t(tensor)
	{
	}
	template <class T> void tensor_to_tcm(T *tcm, size_t first, size_t n) const
	{
		t.need<T>();
		t.get((uint32_t)first, (uint32_t)n, tcm);
	}
	template <class T> void tcm_to_tensor(const T *tcm, size_t first, size_t n) const
	{
		t.need<T>();
		t.put((uint32_t)first, (uint32_t)n, tcm);
	}
};

template <class T, size_t N> TensorAccessor<T, N> Tensor::accessor() const
{
	need<T>();
	if (N != dims)
		neuron_fail("an accessor of %u dimensions to a tensor of %u", (unsigned)N,
			    (unsigned)dims);
	return TensorAccessor<T, N>(*this, 0, 0);
}
template <class T, TensorAccessorCoherencePolicy>
ReadStreamAccessor<T> Tensor::read_stream_accessor() const
{
	need<T>();
	return ReadStreamAccessor<T>(*this);
}
template <class T, TensorAccessorCoherencePolicy>
WriteStreamAccessor<T> Tensor::write_stream_accessor() const
{
	need<T>();
	return WriteStreamAccessor<T>(*this);
}
inline TCMAccessor Tensor::tcm_accessor() const
{
	return TCMAccessor(*this);
}

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

inline uint32_t get_cpu_id()
{
	return neuron_cpu_id();
}
inline uint32_t get_cpu_count()
{
	return neuron_cpu_count();
}
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
/* What a parameter of the function takes from argument k */
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
