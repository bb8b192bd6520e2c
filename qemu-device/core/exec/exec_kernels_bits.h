/* SPDX-License-Identifier: MIT */
/*
 * A whole instruction on raw bits, all its partitions: the bitvec class of the ALU and predicated
 * copies (docs/isa.md, Arithmetic and Vector engine). Part of exec_kernels.h. Elements of any size
 * are taken as 32 bits; rows are short in sorts, so that what surrounds them counts as much.
 */

/* One run of raw elements, zeros above them; writes and reads whole vectors */
KINLINE void bits_load_run(unsigned int size, uint32_t *out, const uint8_t *in, int64_t step,
			   size_t n)
{
	vu v;
	vh h;
	vub b;

	if (size == 4) { /* the bits of fp32 pass as they are */
		load_run(NEURON_DT_FP32, 4, (float *)out, in, step, n);
		return;
	}
	if (step != (int64_t)size) {
		for (size_t i = 0; i < n; i++, in += step)
			out[i] = size == 2 ? in[0] | (uint32_t)in[1] << 8 : in[0];
		return;
	}
	for (size_t i = 0; i < n; i += LANES) {
		if (size == 2) {
			memcpy(&h, in + 2 * i, sizeof(h));
			v = KWIDEN(h);
		} else {
			memcpy(&b, in + i, sizeof(b));
			v = __builtin_convertvector(b, vu);
		}
		memcpy(out + i, &v, sizeof(v));
	}
}

/* A vector's elements to where they are contiguous */
KINLINE void bits_store_vector(unsigned int size, uint8_t *out, vu v)
{
	vh h;
	vub b;

	if (size == 4) {
		memcpy(out, &v, sizeof(v));
	} else if (size == 2) {
		h = KNARROW(v);
		memcpy(out, &h, sizeof(h));
	} else {
		b = __builtin_convertvector(v, vub);
		memcpy(out, &b, sizeof(b));
	}
}

KINLINE vu ldu(const uint32_t *p)
{
	vu v;

	memcpy(&v, p, sizeof(v));
	return v;
}

KINLINE void bits_store_run(unsigned int size, uint8_t *out, const uint32_t *in, int64_t step,
			    size_t n)
{
	uint8_t tail[LANES * 4];
	size_t i;

	if (step != (int64_t)size) {
		for (i = 0; i < n; i++, out += step)
			memcpy(out, &in[i], size); /* little-endian, as the chip is */
		return;
	}
	for (i = 0; i + LANES <= n; i += LANES)
		bits_store_vector(size, out + i * size, ldu(in + i));
	if (i == n)
		return;
	bits_store_vector(size, tail, ldu(in + i));
	exec_copy_few(out + i * size, tail, (n - i) * size);
}

/* The next n elements between a stream and buf, run by run */
#define BITS_WALK(size, each)                                                       \
	while (n) {                                                                 \
		unsigned int d = s->ndim - 1;                                       \
		uint8_t *at = s->base + s->pos;                                     \
		uint32_t rows = exec_stream_rows(s, n), len = s->num[d];            \
                                                                                    \
		if (rows) {                                                         \
			for (uint32_t i = 0; i < rows; i++, at += s->step[d - 1]) { \
				each(size, at, len);                                \
				buf += len;                                         \
			}                                                           \
			exec_stream_skip(s, rows);                                  \
			n -= (size_t)rows * len;                                    \
			continue;                                                   \
		}                                                                   \
		len = exec_stream_run(s, n);                                        \
		each(size, at, len);                                                \
		exec_stream_advance(s, len);                                        \
		buf += len;                                                         \
		n -= len;                                                           \
	}
#define BITS_LOAD(size, at, len) bits_load_run(size, buf, at, s->step[d], len)
#define BITS_STORE(size, at, len) bits_store_run(size, at, buf, s->step[d], len)

KINLINE void bits_load_all(unsigned int size, uint32_t *buf, struct exec_stream *s,
			   size_t n){ BITS_WALK(size, BITS_LOAD) }

KINLINE void bits_store_all(unsigned int size, const uint32_t *buf, struct exec_stream *s,
			    size_t n){ BITS_WALK(size, BITS_STORE) }

/* The next n elements, in buf or where they lie */
KTARGET static const uint32_t *KNAME(bits_fetch)(struct exec_stream *s, uint32_t *buf, size_t n)
{
	if (s->size == 4) {
		const void *at = exec_stream_at(s, n);

		if (at)
			return at;
		bits_load_all(4, buf, s, n);
	} else if (s->size == 2) {
		bits_load_all(2, buf, s, n);
	} else {
		bits_load_all(1, buf, s, n);
	}
	return buf;
}

KTARGET static void KNAME(bits_put)(struct exec_stream *s, const uint32_t *buf, size_t n)
{
	if (s->size == 4)
		bits_store_all(4, buf, s, n);
	else if (s->size == 2)
		bits_store_all(2, buf, s, n);
	else
		bits_store_all(1, buf, s, n);
}

/* a op b on elements of so many bits */
KINLINE vu bits_apply(uint8_t op, vu a, vu b, unsigned int bits)
{
	const vu mask = (vu){} + (bits == 32 ? ~0u : (1u << bits) - 1);

	switch (op) {
	case NEURON_ALU_AND:
		return a & b & mask;
	case NEURON_ALU_OR:
		return (a | b) & mask;
	case NEURON_ALU_XOR:
		return (a ^ b) & mask;
	case NEURON_ALU_NOT:
		return ~a & mask;
	case NEURON_ALU_SHL:
		return a << (b & 31) & mask & (vu)((b & mask) < bits);
	case NEURON_ALU_SHR:
		return (a & mask) >> (b & 31) & (vu)((b & mask) < bits);
	default: /* bypass */
		return a & mask;
	}
}

/* r = a op b; an operand with step 0 is one vector of equal ones */
#define BITS_CASE(code)                                                                    \
	case code:                                                                         \
		for (size_t i = 0; i < n; i += LANES) {                                    \
			vu v = bits_apply(code, ldu(pa + i * sa), ldu(pb + i * sb), bits); \
                                                                                           \
			memcpy(r + i, &v, sizeof(v));                                      \
		}                                                                          \
		break;
KTARGET static void KNAME(bits_op)(uint8_t op, uint32_t *r, const uint32_t *pa, size_t sa,
				   const uint32_t *pb, size_t sb, size_t n, unsigned int bits)
{
	switch (op) {
		BITS_CASE(NEURON_ALU_AND)
		BITS_CASE(NEURON_ALU_OR)
		BITS_CASE(NEURON_ALU_XOR)
		BITS_CASE(NEURON_ALU_NOT)
		BITS_CASE(NEURON_ALU_SHL)
		BITS_CASE(NEURON_ALU_SHR)
		BITS_CASE(NEURON_ALU_BYPASS)
	}
}

/* a where the predicate p holds (where not, if it is reversed), else what is there */
KINLINE vu bits_chosen(vu a, vu p, vu old, bool reverse)
{
	vu take = (vu)(p != 0) ^ ((vu){} + (reverse ? ~0u : 0));

	return (a & take) | (old & ~take);
}

KINLINE void bits_choose(uint32_t *r, const uint32_t *pa, const uint32_t *pp, const uint32_t *old,
			 size_t n, bool reverse)
{
	for (size_t i = 0; i < n; i += LANES) {
		vu v = bits_chosen(ldu(pa + i), ldu(pp + i), ldu(old + i), reverse);

		memcpy(r + i, &v, sizeof(v));
	}
}

/* r = a op c, or c op a: only shifts and bypass care */
KINLINE const uint32_t *bits_scalar(uint8_t op, bool reverse, uint32_t *r, const uint32_t *a,
				    const uint32_t *c, size_t n, unsigned int bits)
{
	if (op == NEURON_ALU_BYPASS && !reverse)
		return a;
	if (reverse && op != NEURON_ALU_NOT)
		KNAME(bits_op)(op, r, c, 0, a, 1, n, bits);
	else
		KNAME(bits_op)(op, r, a, 1, c, 0, n, bits);
	return r;
}

KINLINE uint32_t bits_value(const struct exec_arith_scalar *s, unsigned int p)
{
	const uint8_t *at;
	uint32_t v;

	if (!s->at) {
		memcpy(&v, &s->value, sizeof(v));
		return v;
	}
	at = s->at + p * s->stride;
	switch (neuron_isa_dtypes[s->dtype].size) {
	case 4:
		memcpy(&v, at, 4);
		return v;
	case 2:
		return at[0] | (uint32_t)at[1] << 8;
	default:
		return at[0];
	}
}

/* One chunk: the result's place */
KINLINE const uint32_t *bits_chunk(struct exec_arith *x, struct exec_stream *before, uint32_t *r,
				   uint32_t c[2][LANES], size_t n)
{
	const unsigned int bits = 8 * x->dst.r.size;
	struct exec_scratch *s = x->scratch;
	const uint32_t *a = KNAME(bits_fetch)(&x->src0.s, (uint32_t *)s->a, n), *b;

	if (!x->has_src1) {
		a = bits_scalar(x->op0, x->reverse0, r, a, c[0], n, bits);
		return bits_scalar(x->op1, x->reverse1, r, a, c[1], n, bits);
	}
	b = KNAME(bits_fetch)(&x->src1.s, (uint32_t *)s->b, n);
	if (x->choose)
		bits_choose(r, a, b, KNAME(bits_fetch)(before, (uint32_t *)s->c, n), n,
			    x->reverse0);
	else
		KNAME(bits_op)(x->op1, r, a, 1, b, 1, n, bits);
	return r;
}

KINLINE void bits_row(struct exec_arith *x, struct exec_stream *before, unsigned int p)
{
	const uint32_t count = x->dst.r.count;
	struct exec_scratch *s = x->scratch;
	uint32_t c[2][LANES];

	for (unsigned int i = 0; i < 2; i++) {
		vu v = (vu){} + bits_value(&x->scalar[i], p);

		memcpy(c[i], &v, sizeof(v));
	}
	for (uint32_t done = 0, n; done < count; done += n) {
		uint32_t *row = x->direct ? s->row : s->row + done;
		const uint32_t *r;

		n = (uint32_t)arith_take(x, count - done);
		r = bits_chunk(x, before, row, c, n);
		if (x->direct)
			KNAME(bits_put)(&x->dst.s, r, n);
		else if (r != row)
			memcpy(row, r, n * sizeof(*row));
	}
	if (!x->direct)
		KNAME(bits_put)(&x->dst.s, s->row, count);
}

KINLINE vu bits_at(const uint8_t *in, unsigned int size, uint32_t i)
{
	uint32_t v[LANES];

	if (size == 4)
		return ldu((const uint32_t *)in + i);
	if (size == 2)
		bits_load_run(2, v, in + 2ull * i, 2, LANES);
	else
		bits_load_run(1, v, in + i, 1, LANES);
	return ldu(v);
}

KINLINE vu bits_one(uint8_t op, bool reverse, vu a, vu c)
{
	return reverse && op != NEURON_ALU_NOT ? bits_apply(op, c, a, 32)
					       : bits_apply(op, a, c, 32);
}

/* Words that lie side by side, by predicates or words that do so too: nothing is gathered */
KINLINE void bits_flat_row(const struct exec_arith *x, unsigned int p, unsigned int size)
{
	const uint8_t *in = x->src0.part0 + p * x->src0.stride + x->src0.s.first;
	const uint8_t *by = x->src1.part0 + p * x->src1.stride + x->src1.s.first;
	uint8_t *out = x->dst.part0 + p * x->dst.stride + x->dst.s.first;
	const vu c0 = (vu){} + bits_value(&x->scalar[0], p);
	const vu c1 = (vu){} + bits_value(&x->scalar[1], p);

	for (uint32_t i = 0, count = x->dst.r.count; i < count; i += LANES) {
		const uint32_t left = count - i;
		vu v = ldu((const uint32_t *)in + i);

		if (x->choose)
			v = bits_chosen(v, bits_at(by, size, i), ldu((uint32_t *)out + i),
					x->reverse0);
		else if (x->has_src1)
			v = bits_apply(x->op1, v, bits_at(by, size, i), 32);
		else
			v = bits_one(x->op1, x->reverse1, bits_one(x->op0, x->reverse0, v, c0), c1);
		if (p + 1 < x->partitions) {
			__builtin_prefetch(in + 4ull * i + x->src0.stride);
			__builtin_prefetch(out + 4ull * i + x->dst.stride);
		}
		KSTORE((float *)out + i, (uint16_t)((1u << (left < LANES ? left : LANES)) - 1),
		       (vf)v);
	}
}

/* false: they do not lie so */
KINLINE bool bits_flat_all(const struct exec_arith *x)
{
	if (!x->direct || x->dst.s.size != 4 || !exec_flat(&x->dst) || !exec_flat(&x->src0) ||
	    (x->has_src1 && !exec_flat(&x->src1)))
		return false;
	for (unsigned int p = 0; p < x->partitions; p++) {
		if (x->src1.s.size == 1)
			bits_flat_row(x, p, 1);
		else if (x->src1.s.size == 2)
			bits_flat_row(x, p, 2);
		else
			bits_flat_row(x, p, 4);
	}
	return true;
}
KTARGET static void KNAME(bits)(struct exec_arith *x)
{
	struct exec_operand before = x->dst;

	if (bits_flat_all(x))
		return;
	for (unsigned int p = 0; p < x->partitions; p++) {
		arith_start_row(x, p);
		exec_operand_row(&before, p);
		bits_row(x, &before.s, p);
	}
}
