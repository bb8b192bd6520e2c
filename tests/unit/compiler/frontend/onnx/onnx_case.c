// SPDX-License-Identifier: MIT
#include "onnx_case.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "nrt/nrt.h"
#include "nrt/nrt_experimental.h"
#include "frontend/onnx/import.h"

const struct neuron_target *onnx_case_target;

static bool fail(struct onnx_case *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool fail(struct onnx_case *c, const char *fmt, ...)
{
	va_list ap;

	if (c->why[0])
		return false;
	va_start(ap, fmt);
	vsnprintf(c->why, sizeof(c->why), fmt, ap);
	va_end(ap);
	return false;
}

static void *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	void *p = NULL;
	long n;

	if (f && !fseek(f, 0, SEEK_END) && (n = ftell(f)) >= 0) {
		rewind(f);
		p = malloc((size_t)n + 1);
		*size = p ? fread(p, 1, (size_t)n, f) : 0;
	}
	if (f)
		fclose(f);
	return p;
}

/* One element of raw bytes; types that the compiler does not know do not occur. */
static double raw_element(int32_t type, const uint8_t *p)
{
	union {
		uint8_t b[8];
		float f;
		double d;
		int64_t i64;
		int32_t i32;
		uint32_t u32;
		int16_t i16;
		uint16_t u16;
	} u = { { 0 } };

	switch (type) {
	case ONNX_FLOAT:
		memcpy(u.b, p, 4);
		return (double)u.f;
	case ONNX_DOUBLE:
		memcpy(u.b, p, 8);
		return u.d;
	case ONNX_INT64:
	case ONNX_UINT64:
		memcpy(u.b, p, 8);
		return (double)u.i64;
	case ONNX_INT32:
		memcpy(u.b, p, 4);
		return u.i32;
	case ONNX_UINT32:
		memcpy(u.b, p, 4);
		return u.u32;
	case ONNX_INT16:
		memcpy(u.b, p, 2);
		return u.i16;
	case ONNX_UINT16:
		memcpy(u.b, p, 2);
		return u.u16;
	case ONNX_FLOAT16:
		return ncc_get(NEURON_DT_FP16, p, 0);
	case ONNX_BFLOAT16:
		return ncc_get(NEURON_DT_BF16, p, 0);
	case ONNX_INT8:
		return (int8_t)*p;
	default: /* of 8-bit floats their codes: what counts is their bytes */
		return *p;
	}
}

static size_t raw_size(int32_t type)
{
	switch (type) {
	case ONNX_DOUBLE:
	case ONNX_INT64:
	case ONNX_UINT64:
		return 8;
	case ONNX_FLOAT:
	case ONNX_INT32:
	case ONNX_UINT32:
		return 4;
	case ONNX_UINT8:
	case ONNX_INT8:
	case ONNX_BOOL:
	case ONNX_FLOAT8E4M3FN:
	case ONNX_FLOAT8E4M3FNUZ:
	case ONNX_FLOAT8E5M2:
	case ONNX_FLOAT8E5M2FNUZ:
		return 1;
	default:
		return 2;
	}
}

static bool list_element(const Ncc__Onnx__Tensor *t, size_t i, double *v)
{
	uint16_t bits;

	if (i < t->n_float_data)
		*v = (double)t->float_data[i];
	else if (i < t->n_int64_data)
		*v = (double)t->int64_data[i];
	else if (i < t->n_double_data)
		*v = t->double_data[i];
	else if (i < t->n_uint64_data)
		*v = (double)t->uint64_data[i];
	else if (i < t->n_int32_data)
		*v = t->int32_data[i];
	else
		return false;
	if (t->data_type == ONNX_FLOAT16 || t->data_type == ONNX_BFLOAT16) {
		bits = (uint16_t)*v;
		*v = raw_element(t->data_type, (uint8_t *)&bits);
	}
	return true;
}

static bool take_tensor(struct onnx_case *c, const Ncc__Onnx__Tensor *t, struct onnx_data *d)
{
	const size_t size = raw_size(t->data_type);

	d->type = t->data_type;
	d->n = 1;
	d->ndim = (unsigned int)t->n_dims;
	if (t->n_dims > NCC_MAX_DIMS)
		return fail(c, "a file's tensor has rank %zu", t->n_dims);
	for (unsigned int i = 0; i < d->ndim; i++)
		d->n *= d->dim[i] = t->dims[i];
	d->v = calloc((size_t)d->n + 1, sizeof(*d->v));
	for (int64_t i = 0; d->v && i < d->n; i++) {
		if (t->raw_data.len >= (size_t)(i + 1) * size)
			d->v[i] = raw_element(d->type, t->raw_data.data + (size_t)i * size);
		else if (!list_element(t, (size_t)i, &d->v[i]))
			return fail(c, "a file's tensor is too short");
	}
	return d->v;
}

/* bfloat16 is uint16 in the files, which NumPy wrote; the model says which type it is. */
static bool read_tensor(struct onnx_case *c, const char *dir, const char *stem, size_t number,
			size_t i, struct onnx_data *d)
{
	Ncc__Onnx__ValueInfo *const *all =
		*stem == 'i' ? c->model->graph->input : c->model->graph->output;
	Ncc__Onnx__Tensor *t = NULL;
	char path[600];
	size_t size = 0;
	void *p;
	bool ok;

	snprintf(path, sizeof(path), "%.500s/test_data_set_0/%s_%zu.pb", dir, stem, number);
	p = read_file(path, &size);
	if (p)
		t = ncc__onnx__tensor__unpack(NULL, size, p);
	free(p);
	if (t && t->data_type == ONNX_UINT16 && all[i]->type && all[i]->type->tensor_type)
		t->data_type = all[i]->type->tensor_type->elem_type;
	ok = t ? take_tensor(c, t, d) : fail(c, "%s %zu cannot be read", stem, i);
	if (t)
		ncc__onnx__tensor__free_unpacked(t, NULL);
	return ok;
}

static bool in_list(const char *list, const char *name)
{
	const size_t len = strlen(name);

	for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (!strncmp(p, name, len) && (p[len] == ',' || !p[len]))
			return true;
	return false;
}

const char *onnx_case_constant(const struct onnx_case *c, const char *options, const char *wanted)
{
	const Ncc__Onnx__Graph *g = c->model ? c->model->graph : NULL;

	for (size_t i = 0; g && i < g->n_input; i++)
		if (!strcmp(g->input[i]->name, wanted))
			return g->input[i]->name;
	for (size_t i = 0; g && i < g->n_input; i++) {
		const Ncc__Onnx__Type *t = g->input[i]->type;
		const Ncc__Onnx__TensorType *tt = t ? t->tensor_type : NULL;

		if (tt && tt->shape && !in_list(options, g->input[i]->name) &&
		    (!tt->shape->n_dim || (tt->shape->n_dim == 1 && (tt->elem_type == ONNX_INT64 ||
								     tt->elem_type == ONNX_INT32))))
			return g->input[i]->name;
	}
	return NULL;
}

/* Constants may be listed as inputs too: they have no file */
static bool is_constant(const struct onnx_case *c, size_t i)
{
	const Ncc__Onnx__Graph *g = c->model->graph;

	for (size_t k = 0; k < g->n_initializer; k++)
		if (!strcmp(g->initializer[k]->name, g->input[i]->name))
			return true;
	return false;
}

static bool read_input(struct onnx_case *c, const char *dir, size_t i)
{
	size_t number = i;

	for (size_t k = 0; k < i; k++)
		number -= is_constant(c, k);
	return c->in[i].v || is_constant(c, i) ||
	       read_tensor(c, dir, "input", number, i, &c->in[i]);
}

#define ROOM 3 /* that bounds leave beyond the data */

/* The dimensions that the model leaves open become larger, and dynamic. */
static bool bound_open(struct onnx_case *c, const Ncc__Onnx__ValueInfo *p, struct ncc_input *f)
{
	const Ncc__Onnx__TensorShape *s = p->type->tensor_type->shape;

	if (!s || s->n_dim != f->ndim)
		return fail(c, "input '%s' has another rank than its data", p->name);
	for (unsigned int d = 0; d < f->ndim; d++) {
		f->bounded[d] = s->dim[d]->value_case != NCC__ONNX__DIMENSION__VALUE_DIM_VALUE;
		f->dim[d] += f->bounded[d] ? ROOM : 0;
	}
	return true;
}

/*
 * Inputs that the options name become constants with the test's value, or get the shape of its
 * data.
 */
static bool freeze(struct onnx_case *c, const char *dir, const char *options)
{
	const Ncc__Onnx__Graph *g = c->model->graph;

	c->opt.narrow_64bit = in_list(options, "narrow-64bit");
	c->drawn = in_list(options, "drawn");
	c->opt.input = c->frozen;
	for (size_t i = 0; i < g->n_input && i < ONNX_CASE_MAX; i++) {
		struct ncc_input *f = &c->frozen[c->opt.ninputs];
		const struct onnx_data *d = &c->in[i];
		char shape[128], open[128];

		snprintf(shape, sizeof(shape), "%.100s:shape", g->input[i]->name);
		snprintf(open, sizeof(open), "%.100s:open", g->input[i]->name);
		if (!in_list(options, g->input[i]->name) && !in_list(options, shape) &&
		    !in_list(options, open))
			continue;
		if (!read_input(c, dir, i))
			return false;
		f->name = g->input[i]->name;
		f->has_shape = true;
		f->ndim = d->ndim;
		memcpy(f->dim, d->dim, sizeof(d->dim));
		f->value = in_list(options, shape) || in_list(options, open) ? NULL : d->v;
		f->nvalues = (size_t)d->n;
		if (in_list(options, open) && !bound_open(c, g->input[i], f))
			return false;
		c->opt.ninputs++;
	}
	return true;
}

/* The number of terms that a result sums up, over the whole module */
static double terms_of(const struct ncc_module *m, bool *products)
{
	double terms = 0;

	for (const struct ncc_op *op = m->first; op; op = op->next) {
		double k = op->nin ? (double)ncc_elems(&op->in[0]->shape) : 0;

		if (op->kind == NCC_DOT || op->kind == NCC_CONV) {
			*products = true;
			terms += op->kind == NCC_CONV
					 ? (double)ncc_elems(&op->in[1]->shape) /
						   (double)op->in[1]->shape.dim[op->conv->k_out]
					 : 0;
			for (unsigned int i = 0; i < op->dot->ncontract && op->kind == NCC_DOT; i++)
				terms += (double)op->in[0]->shape.dim[op->dot->lhs_contract[i]];
		} else if (op->kind == NCC_REDUCE) {
			terms += k / (double)ncc_elems(&op->shape);
		} else if (op->kind == NCC_REDUCE_WINDOW) {
			for (unsigned int i = 0; i < op->shape.ndim; i++)
				terms += (double)op->window[i].size;
		} else if (op->nin) {
			terms += 1;
		}
	}
	return terms;
}

static double largest(const struct onnx_data *d, double least)
{
	for (int64_t i = 0; i < d->n; i++)
		if (isfinite(d->v[i]) && fabs(d->v[i]) > least)
			least = fabs(d->v[i]);
	return least;
}

/*
 * Each operation rounds once, so a result is off by at most its number of terms and operations
 * times 2^-24 (of fp32; more for a narrower type) of the largest number on the way: a product of
 * two inputs, or the result.
 */
static void take_tolerance(struct onnx_case *c, const struct ncc_module *m)
{
	bool products = false;
	double unit = 0x1p-24, scale = 1, most = 1, terms = terms_of(m, &products);
	const Ncc__Onnx__Graph *g = c->model->graph;

	for (size_t i = 0; i < g->n_input; i++)
		most = c->in[i].type == ONNX_BOOL ? most : largest(&c->in[i], most);
	for (size_t i = 0; i < g->n_output; i++) {
		scale = largest(&c->out[i], scale);
		if (c->out[i].type == ONNX_FLOAT16)
			unit = 0x1p-11;
		if (c->out[i].type == ONNX_BFLOAT16)
			unit = 0x1p-8;
	}
	scale = fmax(scale, products ? most * most : most);
	c->tolerance = unit * (2 + terms) * scale;
	/*
	 * ONNX made these with 3.1415 for pi and compares with 1e-3; the compiler's function has
	 * all digits
	 */
	if (g->n_node && strstr(g->name, "window"))
		c->tolerance = 1e-3 * scale;
}

/* Reads the compiler's line about an output whose size depends on the data */
static void take_size(void *opaque, const char *line)
{
	struct onnx_case *c = opaque;
	const char *found = strstr(line, "how many of the ");
	struct onnx_size s = { 0 };
	unsigned int i, d;

	if (found && sscanf(line, "output%u (", &i) == 1 && i < ONNX_CASE_MAX &&
	    sscanf(found, "how many of the %lld of dimension %u there are; output%u", &s.bound, &d,
		   &s.output) == 3 &&
	    d < NCC_MAX_DIMS)
		c->size_of[i][d] = s;
}

static bool compile(struct onnx_case *c, const char *dir, void **neff, size_t *neff_size)
{
	const Ncc__Onnx__Graph *g = c->model->graph;
	struct ncc_module *m;
	struct ncc_error err = { { 0 } };
	int rc;

	rc = ncc_import_onnx(c->file, c->size, &c->opt, &m, &err);
	if (!rc) {
		for (size_t i = 0; i < g->n_input; i++)
			if (!read_input(c, dir, i))
				rc = -EIO;
		for (size_t i = 0; i < g->n_output && !rc; i++)
			if (!read_tensor(c, dir, "output", i, i, &c->out[i]))
				rc = -EIO;
		if (!rc)
			take_tolerance(c, m);
		ncc_module_free(m);
		if (rc)
			return false;
		rc = ncc_compile(c->file, c->size, &c->opt, neff, neff_size, &err);
	}
	c->refused = rc;
	return rc ? fail(c, "%s", err.text) : true;
}

static nrt_tensor_t *add_tensor(nrt_tensor_set_t *set, const char *stem, size_t i, size_t size)
{
	nrt_tensor_t *t = NULL;
	char name[32];

	snprintf(name, sizeof(name), "%s%zu", stem, i);
	if (nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, size, name, &t) ||
	    nrt_add_tensor_to_tensor_set(set, name, t))
		return NULL;
	return t;
}

/* The type in which the user of a model has the elements of an ONNX type */
static int io_type(int32_t type, struct ncc_shape *s)
{
	int rc = onnx_dtype(type, s);

	if (onnx_float8(type))
		s->dtype = NEURON_DT_UINT8;
	return rc;
}

/*
 * The elements as the model has them: an operand of which CastLike uses only the type has one
 * element in the files.
 */
static int64_t elements(const struct onnx_case *c, size_t i)
{
	const Ncc__Onnx__Type *t = c->model->graph->input[i]->type;
	const Ncc__Onnx__TensorShape *s = t && t->tensor_type ? t->tensor_type->shape : NULL;
	int64_t n = 1;

	for (size_t d = 0; s && d < s->n_dim; d++)
		n *= s->dim[d]->value_case == NCC__ONNX__DIMENSION__VALUE_DIM_VALUE
			     ? s->dim[d]->dim_value
			     : 0;
	return s && n > 0 ? n : c->in[i].n; /* open dimensions count 0 */
}

/* The compiler's options for input i, or NULL if there are none */
static const struct ncc_input *asked(const struct onnx_case *c, size_t i)
{
	for (unsigned int k = 0; k < c->opt.ninputs; k++)
		if (!strcmp(c->frozen[k].name, c->model->graph->input[i]->name))
			return &c->frozen[k];
	return NULL;
}

/* The index in the data of element k of a tensor of such dimensions; -1: beyond it */
static int64_t place(const struct onnx_data *d, const int64_t *dim, int64_t k)
{
	int64_t at = 0, step = 1;

	for (unsigned int i = d->ndim; i-- > 0; k /= dim[i], step *= d->dim[i]) {
		if (k % dim[i] >= d->dim[i])
			return -1;
		at += k % dim[i] * step;
	}
	return at;
}

#define BEYOND 1000 /* a float where no data are: it must not be seen */

static bool write_input(struct onnx_case *c, nrt_tensor_set_t *set, size_t index, size_t i,
			nrt_tensor_t **t)
{
	const struct ncc_input *given = asked(c, i);
	const struct onnx_data *d = &c->in[i];
	int64_t n = elements(c, i), at;
	struct ncc_shape s;
	size_t size;
	void *p;
	bool ok;

	if (io_type(d->type, &s))
		return fail(c, "input %zu has type %d", i, d->type);
	for (unsigned int k = 0; given && k < given->ndim; k++)
		n = (k ? n : 1) * given->dim[k];
	size = (size_t)n * ncc_dtype_size(s.dtype);
	p = malloc(size + 1);
	for (int64_t k = 0; p && d->n && k < n; k++) {
		at = given ? place(d, given->dim, k) : k % d->n;
		ncc_set(s.dtype, p, k, at >= 0 ? d->v[at] : ncc_is_float(s.dtype) ? BEYOND : 1);
	}
	*t = add_tensor(set, "input", index, size);
	ok = p && *t && !nrt_tensor_write(*t, p, 0, size);
	free(p);
	return ok ? true : fail(c, "input %zu cannot be written", i);
}

/* The sizes of inputs' dynamic dimensions, inputs behind the others */
static bool write_sizes(struct onnx_case *c, nrt_tensor_set_t *set, size_t *index, nrt_tensor_t **t)
{
	for (size_t k = 0; k < c->model->graph->n_input * NCC_MAX_DIMS; k++) {
		const struct ncc_input *given = asked(c, k / NCC_MAX_DIMS);
		const unsigned int d = k % NCC_MAX_DIMS;
		int32_t size;

		if (!given || given->value || d >= given->ndim || !given->bounded[d])
			continue;
		size = (int32_t)c->in[k / NCC_MAX_DIMS].dim[d];
		if (*index >= ONNX_CASE_MAX)
			return fail(c, "too many sizes");
		t[*index] = add_tensor(set, "input", *index, sizeof(size));
		if (!t[*index] || nrt_tensor_write(t[*index], &size, 0, sizeof(size)))
			return fail(c, "a size cannot be written");
		++*index;
	}
	return true;
}

/* fp8 is compared by its code: which of them is no number? */
static bool is_nan_code(int32_t type, double code)
{
	const unsigned int low = (unsigned int)code & 0x7f;

	return (type == ONNX_FLOAT8E5M2 && low > 0x7c) ||
	       (type == ONNX_FLOAT8E4M3FN && low == 0x7f) ||
	       ((type == ONNX_FLOAT8E4M3FNUZ || type == ONNX_FLOAT8E5M2FNUZ) && code == 0x80);
}

/* Integers, predicates and fp8 have the same bits; any NaN is the same, and infinities are */
static bool same(const struct onnx_case *c, int32_t type, double want, double got)
{
	bool is_float = type == ONNX_FLOAT || type == ONNX_DOUBLE || type == ONNX_FLOAT16 ||
			type == ONNX_BFLOAT16;

	/* results are fp32: a value that it cannot represent is infinite */
	if (type == ONNX_DOUBLE)
		want = (double)(float)want;
	if (isnan(want) || isnan(got))
		return isnan(want) && isnan(got);
	if (is_nan_code(type, want))
		return is_nan_code(type, got);
	if (!is_float || isinf(want) || isinf(got))
		return want == got;
	return fabs(want - got) <= c->tolerance;
}

/* The dimensions that the program's output has: bounds for those that depend on the data */
static int64_t bounded(const struct onnx_case *c, size_t i, int64_t *dim)
{
	int64_t n = 1;

	for (unsigned int d = 0; d < c->out[i].ndim; d++) {
		dim[d] = c->size_of[i][d].output ? c->size_of[i][d].bound : c->out[i].dim[d];
		n *= dim[d];
	}
	return n;
}

/*
 * The elements of an output that are there, one behind the other, where the sizes are the expected
 * ones; what follows them has to be 0.
 */
static bool cut(struct onnx_case *c, size_t i, nrt_tensor_t *const *all, uint8_t dtype,
		uint8_t *got)
{
	const struct onnx_data *d = &c->out[i];
	const unsigned int bytes = ncc_dtype_size(dtype);
	int64_t dim[NCC_MAX_DIMS], n = bounded(c, i, dim);
	uint8_t *part = calloc((size_t)d->n + 1, bytes);
	bool ok = part;

	for (unsigned int k = 0; k < d->ndim && ok; k++) {
		const unsigned int at = c->size_of[i][k].output;
		int32_t have;

		if (at && (at >= ONNX_CASE_MAX || nrt_tensor_read(all[at], &have, 0, sizeof(have))))
			ok = fail(c, "the size of output %zu cannot be read", i);
		else if (at && have != d->dim[k])
			ok = fail(c, "output %zu has %d in dimension %u, expected %lld", i, have, k,
				  (long long)d->dim[k]);
	}
	for (int64_t k = 0; k < n && ok; k++) {
		const int64_t at = place(d, dim, k);

		if (at >= 0)
			memcpy(part + at * bytes, got + k * bytes, bytes);
		for (unsigned int b = 0; at < 0 && b < bytes; b++)
			if (got[k * bytes + b])
				ok = fail(c, "output %zu is not 0 beyond its size", i);
	}
	if (ok)
		memcpy(got, part, (size_t)d->n * bytes);
	free(part);
	return ok;
}

static bool compare(struct onnx_case *c, size_t i, nrt_tensor_t *const *all, uint8_t dtype)
{
	const struct onnx_data *d = &c->out[i];
	int64_t dim[NCC_MAX_DIMS];
	size_t size = (size_t)bounded(c, i, dim) * ncc_dtype_size(dtype);
	void *got = malloc(size + 1);
	bool ok = got && !nrt_tensor_read(all[i], got, 0, size);

	if (!ok)
		fail(c, "output %zu cannot be read", i);
	if (ok)
		ok = cut(c, i, all, dtype, got);
	for (int64_t k = 0; k < d->n && ok; k++) {
		double v = ncc_get(dtype, got, k);

		ok = c->drawn || same(c, d->type, d->v[k], v);
		if (!ok)
			fail(c, "output %zu: element %lld is %.9g, expected %.9g within %g", i,
			     (long long)k, v, d->v[k], c->tolerance);
	}
	free(got);
	return ok;
}

static bool execute(struct onnx_case *c, nrt_model_t *model)
{
	const Ncc__Onnx__Graph *g = c->model->graph;
	nrt_tensor_t *tin[ONNX_CASE_MAX] = { 0 }, *tout[ONNX_CASE_MAX] = { 0 };
	nrt_tensor_set_t *in = NULL, *out = NULL;
	struct ncc_shape s[ONNX_CASE_MAX];
	int64_t dim[NCC_MAX_DIMS];
	size_t nin = 0, size;
	bool ok = !nrt_allocate_tensor_set(&in) && !nrt_allocate_tensor_set(&out);

	for (size_t i = 0; i < g->n_input && ok; i++) {
		bool constant = is_constant(c, i);

		for (unsigned int k = 0; k < c->opt.ninputs; k++)
			constant = constant ||
				   (c->frozen[k].value && c->frozen[k].value == c->in[i].v);
		if (constant)
			continue;
		ok = write_input(c, in, nin, i, &tin[nin]);
		nin++;
	}
	ok = ok && write_sizes(c, in, &nin, tin);

	for (size_t i = 0; i < g->n_output && ok; i++) {
		ok = !io_type(c->out[i].type, &s[i]);
		tout[i] = ok ? add_tensor(out, "output", i,
					  (size_t)bounded(c, i, dim) * ncc_dtype_size(s[i].dtype))
			     : NULL;
		ok = tout[i] ? true : fail(c, "output %zu cannot be made", i);
		for (unsigned int d = 0; d < NCC_MAX_DIMS && ok; d++) {
			size = c->size_of[i][d].output;
			if (size && size < ONNX_CASE_MAX)
				tout[size] = add_tensor(out, "output", size, sizeof(int32_t));
		}
	}

	if (ok && nrt_execute(model, in, out))
		ok = fail(c, "nrt_execute fails");
	for (size_t i = 0; i < g->n_output && ok; i++)
		ok = compare(c, i, tout, s[i].dtype);

	nrt_destroy_tensor_set(&in);
	nrt_destroy_tensor_set(&out);
	for (unsigned int i = 0; i < ONNX_CASE_MAX; i++) {
		if (tin[i])
			nrt_tensor_free(&tin[i]);
		if (tout[i])
			nrt_tensor_free(&tout[i]);
	}
	return ok;
}

static bool load_case(struct onnx_case *c, const char *dir)
{
	const Ncc__Onnx__Graph *g;
	char path[600];

	memset(c, 0, sizeof(*c));
	snprintf(path, sizeof(path), "%.500s/model.onnx", dir);
	c->file = read_file(path, &c->size);
	if (c->file)
		c->model = ncc__onnx__model__unpack(NULL, c->size, c->file);
	if (!c->model)
		return fail(c, "the model cannot be read");
	g = c->model->graph;
	if (!g || g->n_input > ONNX_CASE_MAX || g->n_output > ONNX_CASE_MAX)
		return fail(c, "too many inputs or outputs");
	return true;
}

bool onnx_case_compile(struct onnx_case *c, const char *dir, const char *options, void **neff,
		       size_t *size)
{
	if (!load_case(c, dir))
		return false;
	c->opt.framework = NCC_ONNX;
	c->opt.target = onnx_case_target;
	c->opt.auto_cast = NCC_CAST_NONE;
	c->opt.warn = take_size;
	c->opt.opaque = c;
	return freeze(c, dir, options) && compile(c, dir, neff, size);
}

bool onnx_case_run(struct onnx_case *c, const char *dir, const char *options)
{
	nrt_model_t *model;
	void *neff = NULL;
	size_t size;
	NRT_STATUS rc;
	bool ok;

	if (!onnx_case_compile(c, dir, options, &neff, &size))
		return false;
	rc = nrt_load(neff, size, 0, -1, &model);
	free(neff);
	if (rc)
		return fail(c, "nrt_load: %s", nrt_get_status_as_str(rc));
	ok = execute(c, model);
	nrt_unload(model);
	return ok;
}

void onnx_case_free(struct onnx_case *c)
{
	if (c->model)
		ncc__onnx__model__free_unpacked(c->model, NULL);
	free(c->file);
	for (unsigned int i = 0; i < ONNX_CASE_MAX; i++) {
		free(c->in[i].v);
		free(c->out[i].v);
	}
}
