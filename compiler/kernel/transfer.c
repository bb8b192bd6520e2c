// SPDX-License-Identifier: MIT
/*
 * DMAs of a kernel: p=N to=PLACE from=PLACE transpose=ROWS:COLUMNS. A place is that of an
 * instruction in an area of SBUF, of p partitions, or tensor[element]:type[step:num,...], in
 * elements. Of two types the DMA engine converts.
 */
#include "kernel.h"

#include <errno.h>
#include <string.h>

#include "asm/parse.h"
#include "neuron/hw/ext.h"
#include "neuron/isa/check.h"
#include "neuron/isa/compress.h"

#define PAIRS 4
#define MAX_STEP (1ll << 40)

struct side {
	bool seen, tensor;
	unsigned int number; /* of the tensor */
	uint8_t dtype;
	int64_t offset; /* bytes; in SBUF as an instruction's */
	unsigned int npairs;
	int64_t step[PAIRS], num[PAIRS]; /* slowest first */
};

static int take_pairs(struct parser *ps, struct side *s)
{
	int rc = asm_expect(ps, "[");

	if (rc)
		return rc;
	do {
		if (s->npairs == PAIRS)
			return asm_refuse(ps, "at most %d pairs", PAIRS);
		rc = asm_number(ps, -MAX_STEP, MAX_STEP, &s->step[s->npairs]);
		rc = rc ? rc : asm_expect(ps, ":");
		rc = rc ? rc : asm_number(ps, 1, MAX_STEP, &s->num[s->npairs]);
		if (rc)
			return rc;
		s->npairs++;
	} while (asm_skip(ps, ","));
	return asm_expect(ps, "]");
}

/* tensor[element]:type, behind the name */
static int take_tensor(struct parser *ps, const struct ncc_kernel *k, struct side *s)
{
	const struct ncc_shape *shape = &k->tensor[s->number].shape;
	int64_t element = 0;
	int rc = asm_expect(ps, "[");

	s->tensor = true;
	rc = rc ? rc : asm_number(ps, 0, MAX_STEP, &element);
	rc = rc ? rc : asm_expect(ps, "]:");
	rc = rc ? rc : asm_type(ps, &s->dtype);
	if (!rc && s->dtype != shape->dtype)
		rc = asm_refuse(ps, "'%s' is of type %s", k->tensor[s->number].name,
				neuron_isa_dtypes[shape->dtype].name);
	s->offset = element * ncc_dtype_size(shape->dtype);
	return rc;
}

static int take_side(struct parser *ps, const struct ncc_kernel *k, struct side *s)
{
	uint32_t offset = 0;
	size_t n = strcspn(ps->p, "[");
	int rc;

	if (s->seen)
		return asm_refuse(ps, "a side twice");
	s->seen = true;
	for (s->number = 0; s->number < k->ntensors; s->number++)
		if (strlen(k->tensor[s->number].name) == n &&
		    !strncmp(k->tensor[s->number].name, ps->p, n))
			break;
	if (s->number < k->ntensors) {
		ps->p += n;
		rc = take_tensor(ps, k, s);
	} else {
		rc = asm_place(ps, &offset, &s->dtype);
		s->offset = offset;
	}
	if (!rc && offset >= NEURON_PSUM_OFFSET)
		rc = asm_refuse(ps, "an area in PSUM, expected one in SBUF or a tensor");
	if (!rc && !ncc_dtype_size(s->dtype))
		rc = asm_refuse(ps, "no type of tensors");
	return rc ? rc : take_pairs(ps, s);
}

/* Appends a dimension, or has the last one go on. */
static bool grow(struct neff_pattern *p, int64_t step, int64_t num)
{
	const unsigned int last = p->ndim - 1;

	if (num == 1)
		return true;
	if (step == p->step[last] * (int64_t)p->size[last]) {
		p->size[last] *= (uint64_t)num;
		return true;
	}
	if (p->ndim == 4)
		return false;
	p->step[p->ndim] = step;
	p->size[p->ndim++] = (uint64_t)num;
	return true;
}

/* A side as dimensions, fastest first */
static int pattern_of(struct parser *ps, const struct side *s, unsigned int partitions,
		      struct neff_pattern *p)
{
	const int64_t esz = ncc_dtype_size(s->dtype);
	bool fits = true;

	*p = (struct neff_pattern){ .var = s->tensor ? s->number + 1 : 0,
				    .offset = (uint64_t)s->offset,
				    .ndim = 1,
				    .size = { (uint64_t)esz },
				    .step = { 1 } };
	for (unsigned int i = s->npairs; i-- > 0;)
		fits = fits && grow(p, s->step[i] * esz, s->num[i]);
	if (!s->tensor)
		fits = fits && grow(p, NEURON_SBUF_PART_STRIDE, partitions);
	return fits ? 0 : asm_refuse(ps, "more than 3 dimensions that are not contiguous");
}

/* The bytes [lo, hi) around a side, in a partition or a tensor */
static void extent(const struct side *s, int64_t *lo, int64_t *hi)
{
	const int64_t esz = ncc_dtype_size(s->dtype);

	*lo = s->tensor ? s->offset : s->offset % NEURON_SBUF_PART_STRIDE;
	*hi = *lo + esz;
	for (unsigned int i = 0; i < s->npairs; i++) {
		int64_t span = (s->num[i] - 1) * s->step[i] * esz;

		*(span < 0 ? lo : hi) += span;
	}
}

static int check_tensor(struct parser *ps, const struct ncc_kernel_tensor *t, int64_t lo,
			int64_t hi)
{
	const int64_t esz = ncc_dtype_size(t->shape.dtype), n = ncc_elems(&t->shape);

	return lo < 0 || hi > n * esz
		       ? asm_refuse(ps, "elements %lld to %lld of '%s', which has 0 to %lld",
				    (long long)(lo / esz), (long long)(hi / esz - 1), t->name,
				    (long long)(n - 1))
		       : 0;
}

static int check_area(struct parser *ps, const struct ncc_kernel *k, const struct side *s,
		      unsigned int partitions, int64_t lo, int64_t hi)
{
	const int64_t first = s->offset / NEURON_SBUF_PART_STRIDE,
		      byte = s->offset % NEURON_SBUF_PART_STRIDE;
	const struct ncc_asm_area *a = k->area;

	while (a->psum || byte < a->base || byte >= a->base + a->bytes)
		a++;
	if (lo >= a->base && hi <= a->base + a->bytes && first + partitions <= a->partitions)
		return 0;
	return asm_refuse(ps,
			  "bytes %lld to %lld of partitions %lld to %lld of the area '%s', which "
			  "has %u partitions of %u bytes",
			  (long long)(lo - a->base), (long long)(hi - a->base - 1),
			  (long long)first, (long long)(first + partitions - 1), a->name,
			  a->partitions, a->bytes);
}

/* The number of elements of a side */
static int64_t elements(const struct side *s, unsigned int partitions)
{
	int64_t n = s->tensor ? 1 : partitions;

	for (unsigned int i = 0; i < s->npairs; i++)
		if (__builtin_mul_overflow(n, s->num[i], &n) || n > MAX_STEP)
			return -1;
	return n;
}

static int check_side(struct parser *ps, const struct ncc_kernel *k, const struct side *s,
		      unsigned int partitions)
{
	int64_t lo, hi, esz = ncc_dtype_size(s->dtype);

	/* so that no product of an extent leaves 64 bits */
	for (unsigned int i = 0; i < s->npairs; i++) {
		int64_t span;

		if (__builtin_mul_overflow(s->num[i] - 1, s->step[i] * esz, &span) ||
		    span > MAX_STEP * 8 || span < -MAX_STEP * 8)
			return asm_refuse(ps, "too large a step");
	}
	extent(s, &lo, &hi);
	if (s->tensor)
		return check_tensor(ps, &k->tensor[s->number], lo, hi);
	return check_area(ps, k, s, partitions, lo, hi);
}

static int check_sides(struct parser *ps, const struct ncc_kernel *k, const struct side *from,
		       const struct side *to, unsigned int partitions)
{
	const int64_t n = elements(from, partitions), m = elements(to, partitions);
	int rc;

	if (!from->seen || !to->seen)
		return asm_refuse(ps, "from= and to= are expected");
	if (to->tensor && !k->tensor[to->number].output)
		return asm_refuse(ps, "to the input '%s', expected an output or an area",
				  k->tensor[to->number].name);
	if (n < 0 || n != m)
		return asm_refuse(ps, "%lld elements from, %lld to", (long long)n, (long long)m);
	rc = check_side(ps, k, from, partitions);
	return rc ? rc : check_side(ps, k, to, partitions);
}

/* Transfers that are more than a copy: a conversion, or a matrix that is turned */
static int take_operation(struct parser *ps, const struct side *from, const struct side *to,
			  unsigned int partitions, const uint32_t *turned, struct neff_desc *d)
{
	const unsigned int size = ncc_dtype_size(from->dtype);
	const uint64_t n = (uint64_t)turned[0] * turned[1];

	if (!n && from->dtype == to->dtype)
		return 0;
	d->from_dtype = from->dtype;
	d->to_dtype = to->dtype;
	d->op = n ? NEFF_TRANSPOSE : NEFF_CAST;
	if (!n)
		return 0;
	if (from->dtype != to->dtype || (size != 2 && size != 4))
		return asm_refuse(ps, "a transpose is of one type of 2 or 4 bytes");
	if (n * size != (uint64_t)elements(from, partitions) * size)
		return asm_refuse(ps, "transpose=%u:%u is of another number of elements", turned[0],
				  turned[1]);
	if (n * size > NEURON_STREAM_RAW_MAX)
		return asm_refuse(ps, "a transpose is of at most %u bytes", NEURON_STREAM_RAW_MAX);
	if (turned[0] > NEURON_DMA_TRANSPOSE_FIRST_MAX || turned[1] > NEFF_MAX_TURNED)
		return asm_refuse(ps, "a transpose is of at most %d rows and %d columns",
				  NEURON_DMA_TRANSPOSE_FIRST_MAX, NEFF_MAX_TURNED);
	memcpy(d->shape, (uint32_t[]){ turned[0], 1, 1, turned[1] }, sizeof(d->shape));
	return 0;
}

static int take_turned(struct parser *ps, uint32_t *turned)
{
	int rc = asm_u32(ps, &turned[0]);

	rc = rc ? rc : asm_expect(ps, ":");
	rc = rc ? rc : asm_u32(ps, &turned[1]);
	return rc || (turned[0] && turned[1]) ? rc : asm_refuse(ps, "a transpose of nothing");
}

int kernel_transfer(struct ncc_kernel *k, char *words, struct ncc_kernel_step *step,
		    struct ncc_asm_error *why)
{
	struct parser ps = { .err = why, .area = k->area, .nareas = k->nareas };
	struct side from = { .seen = false }, to = { .seen = false };
	uint32_t turned[2] = { 0 };
	int64_t partitions = 1;
	char *save = NULL;
	int rc = 0;

	for (char *w = strtok_r(words, " \t\r", &save); !rc && w;
	     w = strtok_r(NULL, " \t\r", &save)) {
		ps.p = w;
		if (asm_skip(&ps, "p="))
			rc = asm_number(&ps, 1, NEURON_PARTITIONS, &partitions);
		else if (asm_skip(&ps, "from="))
			rc = take_side(&ps, k, &from);
		else if (asm_skip(&ps, "to="))
			rc = take_side(&ps, k, &to);
		else if (asm_skip(&ps, "transpose="))
			rc = take_turned(&ps, turned);
		else
			rc = asm_refuse(&ps, "'%.40s', expected p=, from=, to= or transpose=", w);
		if (!rc && *ps.p)
			rc = asm_refuse(&ps, "'%.40s' is left over in '%.40s'", ps.p, w);
	}
	rc = rc ? rc : check_sides(&ps, k, &from, &to, (unsigned int)partitions);
	rc = rc ? rc : pattern_of(&ps, &from, (unsigned int)partitions, &step->desc.from);
	rc = rc ? rc : pattern_of(&ps, &to, (unsigned int)partitions, &step->desc.to);
	rc = rc ? rc
		: take_operation(&ps, &from, &to, (unsigned int)partitions, turned, &step->desc);
	if (!rc && to.tensor)
		k->tensor[to.number].written = true;
	return rc;
}
