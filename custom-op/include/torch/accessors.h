/* SPDX-License-Identifier: MIT */
/*
 * How operators reach a tensor's elements: by index, in their order through 4 KiB of the TCM, or in
 * blocks that they place themselves. Included by torch/torch.h.
 */
#ifndef TORCH_ACCESSORS_H
#define TORCH_ACCESSORS_H

namespace torch
{
/* An element: reads and writes go to the tensor at once */
template <class T, bool read_only> class Element
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
		static_assert(!read_only, "the tensor is constant");
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
template <class T, size_t N, bool read_only> class TensorAccessor
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
	TensorAccessor<T, N - 1, read_only> operator[](int64_t i) const
	{
		return TensorAccessor<T, N - 1, read_only>(t, place(i), d + 1);
	}
};
template <class T, bool read_only> class TensorAccessor<T, 1, read_only>
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
	Element<T, read_only> operator[](int64_t i) const
	{
		if (i < 0 || i >= t.size(d))
			neuron_fail("index %d of a dimension of %d", (int)i, (int)t.size(d));
		return Element<T, read_only>(t, first + (uint32_t)i);
	}
};

/* Elements one after the other, through 4 KiB of the pool, until close() or the end of its scope */
#define NEURON_STREAM_BYTES 4096u
template <class T> class Stream
{
      protected:
	Tensor t;
	T *buf;
	uint32_t at = 0, n = 0, all; /* elements before the buffer, in it, of the tensor */

	bool free_buffer()
	{
		bool open = buf != nullptr;

		neuron_tcm_free(buf);
		buf = nullptr;
		return open;
	}
	void need_open() const
	{
		if (!buf)
			neuron_fail("a stream that is closed");
	}

      public:
	Stream(const Tensor &tensor, bool writes) : t(tensor), all((uint32_t)tensor.numel())
	{
		t.use().acquire(writes);
		buf = (T *)neuron_tcm_malloc(NEURON_STREAM_BYTES - 64);
		if (!buf)
			neuron_fail("no room in the TCM's pool for one more stream");
	}
	Stream(const Stream &) = delete;
	static constexpr uint32_t capacity = (NEURON_STREAM_BYTES - 64) / sizeof(T);
};
template <class T> class TensorReadStreamAccessor : Stream<T>
{
	uint32_t next = 0;

      public:
	explicit TensorReadStreamAccessor(const Tensor &tensor) : Stream<T>(tensor, false)
	{
		this->t.use().readers++;
	}
	~TensorReadStreamAccessor()
	{
		close();
	}
	int close()
	{
		if (this->free_buffer())
			this->t.use().readers--;
		return 0;
	}
	T read()
	{
		this->need_open();
		if (next == this->n) {
			uint32_t left = this->all - (this->at += this->n);

			if (!left)
				neuron_fail("read() behind the last of %u elements",
					    (unsigned)this->all);
			this->n = left < this->capacity ? left : this->capacity;
			this->t.get(this->at, this->n, this->buf);
			next = 0;
		}
		return this->buf[next++];
	}
};
template <class T> class TensorWriteStreamAccessor : Stream<T>
{
	void flush()
	{
		this->t.put(this->at, this->n, this->buf);
		this->at += this->n;
		this->n = 0;
	}

      public:
	explicit TensorWriteStreamAccessor(const Tensor &tensor) : Stream<T>(tensor, true)
	{
		this->t.use().writers++;
	}
	~TensorWriteStreamAccessor()
	{
		close();
	}
	int close()
	{
		if (!this->buf)
			return 0;
		flush();
		this->free_buffer();
		this->t.use().writers--;
		return 0;
	}
	void write(T v)
	{
		this->need_open();
		if (this->at + this->n == this->all)
			neuron_fail("write() behind the last of %u elements", (unsigned)this->all);
		this->buf[this->n++] = v;
		if (this->n == this->capacity)
			flush();
	}
};

/* Blocks of elements to and from memory of tcm_malloc(), or any other of the processor's */
template <bool read_only> class TensorTcmAccessor
{
	Tensor t;

      public:
	explicit TensorTcmAccessor(const Tensor &tensor) : t(tensor)
	{
	}
	template <class T> void tensor_to_tcm(T *tcm, size_t first, size_t n) const
	{
		t.need<T>();
		t.get((uint32_t)first, (uint32_t)n, tcm);
	}
	template <class T> void tcm_to_tensor(const T *tcm, size_t first, size_t n) const
	{
		static_assert(!read_only, "the tensor is constant");
		t.need<T>();
		t.put((uint32_t)first, (uint32_t)n, tcm);
	}
};

template <class T, size_t N, bool read_only>
TensorAccessor<T, N, read_only> make_accessor(const Tensor &t)
{
	t.need<T>();
	if (N != t.dim())
		neuron_fail("an accessor of %u dimensions to a tensor of %u", (unsigned)N,
			    (unsigned)t.dim());
	t.use().acquire(!read_only);
	return TensorAccessor<T, N, read_only>(t, 0, 0);
}
template <class T, size_t N> TensorAccessor<T, N, true> Tensor::accessor() const &
{
	return make_accessor<T, N, true>(*this);
}
template <class T, size_t N> TensorAccessor<T, N, false> Tensor::accessor() &
{
	return make_accessor<T, N, false>(*this);
}
template <class T> TensorReadStreamAccessor<T> Tensor::read_stream_accessor() const &
{
	need<T>();
	return TensorReadStreamAccessor<T>(*this);
}
template <class T> TensorWriteStreamAccessor<T> Tensor::write_stream_accessor() &
{
	need<T>();
	return TensorWriteStreamAccessor<T>(*this);
}
inline TensorTcmAccessor<true> Tensor::tcm_accessor() const &
{
	return TensorTcmAccessor<true>(*this);
}
inline TensorTcmAccessor<false> Tensor::tcm_accessor() &
{
	return TensorTcmAccessor<false>(*this);
}
} // namespace torch

#endif
