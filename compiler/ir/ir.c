// SPDX-License-Identifier: MIT
/*
 * The tensor IR itself: memory, making operations, replacing and sweeping them. Everything that
 * builds or rewrites a module calls it.
 */
#include "traits.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <errno.h>
#include <string.h>

#include "neuron/hw/ext.h"

#define FIRST (4u << 10) /* bytes of a module's first block */
#define BLOCK (64u << 10)
#define ALIGN 16u

struct ncc_mem {
	struct ncc_mem *next;
	size_t size, used;
	_Alignas(ALIGN) unsigned char data[];
};

int ncc_fail(struct ncc_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	/* Names come from the file, and the message is one line. */
	for (char *p = err->text; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	return code;
}

int ncc_no_memory(struct ncc_error *err)
{
	return ncc_fail(err, -ENOMEM, "out of memory");
}

int ncc_fail_op(struct ncc_error *err, int code, const struct ncc_op *op, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return ncc_fail(err, code, "%s '%.80s'%s%.90s%s: %s", ncc_kind_name(op->kind),
			op->name ? op->name : "", op->where ? " (" : "", op->where ? op->where : "",
			op->where ? ")" : "", text);
}

struct ncc_module *ncc_module_new(const char *name)
{
	struct ncc_module *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->tail = &m->first;
	m->name = ncc_strdup(m, name);
	if (!m->name) {
		ncc_module_free(m);
		return NULL;
	}
	return m;
}

static void free_blocks(struct ncc_mem *b)
{
	for (struct ncc_mem *next; b; b = next) {
		next = b->next;
		free(b);
	}
}

void ncc_module_free(struct ncc_module *m)
{
	if (!m)
		return;
	free_blocks(m->mem);
	free_blocks(m->data);
	free(m);
}

static void *alloc_block(struct ncc_mem **list, size_t size)
{
	struct ncc_mem *b;

	if (size > SIZE_MAX - sizeof(*b))
		return NULL;
	b = calloc(1, sizeof(*b) + size);
	if (!b)
		return NULL;
	b->size = b->used = size;
	b->next = *list;
	*list = b;
	return b->data;
}

/*
 * A program has tens of thousands of them, which are walked again and again in their order: small
 * ones lie in the first block, a large one has its own.
 */
void *ncc_alloc(struct ncc_module *m, size_t size)
{
	struct ncc_mem *b = m->mem;
	void *p;

	if (size > FIRST / 4)
		return alloc_block(b ? &b->next : &m->mem, size);
	size = (size + ALIGN - 1) / ALIGN * ALIGN;
	if (!b || size > b->size - b->used) {
		if (!alloc_block(&m->mem, b ? BLOCK : FIRST))
			return NULL;
		b = m->mem;
		b->used = 0;
	}
	p = b->data + b->used;
	b->used += size;
	return p;
}

void *ncc_alloc_data(struct ncc_module *m, size_t size)
{
	m->garbage += size;
	return alloc_block(&m->data, size);
}

char *ncc_strdup(struct ncc_module *m, const char *s)
{
	size_t n = strlen(s) + 1;
	char *p = ncc_alloc(m, n);

	if (p)
		memcpy(p, s, n);
	return p;
}

char *ncc_size_name(struct ncc_module *m, const char *of, int64_t number, unsigned int d)
{
	char text[64];

	snprintf(text, sizeof(text), "size of %s%lld, dimension %u", of, (long long)number, d);
	return ncc_strdup(m, text);
}

#define LIST (NCC_MAX_DIMS * sizeof(int64_t))
#define WINDOWS (NCC_MAX_DIMS * sizeof(struct ncc_window))

/* The size of the attributes that an operation points to */
static const size_t attrs_size[] = {
	[NCC_ATTRS_SLICE] = 2 * LIST,
	[NCC_ATTRS_PAD] = 3 * LIST,
	[NCC_ATTRS_WINDOW] = WINDOWS,
	[NCC_ATTRS_DOT] = sizeof(struct ncc_dot),
	[NCC_ATTRS_CONV] = WINDOWS + sizeof(struct ncc_conv),
};

static void *attrs_of(const struct ncc_op *op)
{
	switch (ncc_traits_of(op->kind)->attrs) {
	case NCC_ATTRS_SLICE:
		return op->start;
	case NCC_ATTRS_PAD:
		return op->low;
	case NCC_ATTRS_DOT:
		return op->dot;
	default:
		return op->window;
	}
}

static void point_to_attrs(struct ncc_op *op, void *attrs)
{
	switch (ncc_traits_of(op->kind)->attrs) {
	case NCC_ATTRS_SLICE:
		op->start = attrs;
		op->stride = op->start + NCC_MAX_DIMS;
		break;
	case NCC_ATTRS_PAD:
		op->low = attrs;
		op->high = op->low + NCC_MAX_DIMS;
		op->interior = op->high + NCC_MAX_DIMS;
		break;
	case NCC_ATTRS_DOT:
		op->dot = attrs;
		break;
	case NCC_ATTRS_CONV:
		op->window = attrs;
		op->conv = (void *)(op->window + NCC_MAX_DIMS);
		break;
	case NCC_ATTRS_WINDOW:
		op->window = attrs;
		break;
	default:
		break;
	}
}

void ncc_copy_attrs(struct ncc_op *op, const struct ncc_op *from)
{
	size_t size = attrs_size[ncc_traits_of(op->kind)->attrs];

	memcpy(op->map, from->map, sizeof(op->map));
	if (size)
		memcpy(attrs_of(op), attrs_of(from), size);
}

struct ncc_op *ncc_op_new(struct ncc_module *m, enum ncc_kind kind, const char *name,
			  unsigned int nin)
{
	const size_t size = attrs_size[ncc_traits_of(kind)->attrs];
	struct ncc_op *op = m->made < NCC_MAX_MADE ? ncc_alloc(m, sizeof(*op) + size) : NULL;

	if (!op)
		return NULL;
	op->id = m->made++;
	op->kind = kind;
	op->pdim = -1;
	op->nin = nin;
	point_to_attrs(op, op + 1);
	op->name = ncc_strdup(m, name ? name : ncc_kind_name(kind));
	op->in = ncc_alloc(m, (nin ? nin : 1) * sizeof(struct ncc_op *));
	return op->name && op->in ? op : NULL;
}

struct ncc_op *ncc_op_clone(struct ncc_module *m, const struct ncc_op *op, unsigned int nin)
{
	struct ncc_op *c = ncc_op_new(m, op->kind, op->name, nin), own;

	if (!c)
		return NULL;
	own = *c;
	*c = *op;
	c->name = own.name;
	c->nin = own.nin;
	c->in = own.in;
	c->next = c->replaced = NULL;
	c->plan = NULL;
	c->gen = NULL;
	point_to_attrs(c, c + 1);
	ncc_copy_attrs(c, op);
	return c;
}

void ncc_op_append(struct ncc_module *m, struct ncc_op *op)
{
	op->next = NULL;
	op->id = m->nops++;
	*m->tail = op;
	m->tail = &op->next;
}

int64_t ncc_elems(const struct ncc_shape *s)
{
	int64_t n = 1;

	for (unsigned int i = 0; i < s->ndim; i++)
		n *= s->dim[i];
	return n;
}

int64_t ncc_even_rows(int64_t n)
{
	const int64_t fewest = 16, shortest = 512;

	for (int64_t rows = NEURON_PARTITIONS; n >= shortest && rows >= fewest; rows--)
		if (n % rows == 0)
			return rows;
	return 0;
}

unsigned int ncc_dot_slots(const struct ncc_op *dot)
{
	return dot->dot->neighbours
		       ? (unsigned int)(dot->in[0]->shape.dim[dot->dot->lhs_contract[0]] /
					dot->in[1]->shape.dim[dot->dot->rhs_contract[0]])
		       : 1;
}

bool ncc_same_dims(const struct ncc_shape *a, const struct ncc_shape *b)
{
	return a->ndim == b->ndim && !memcmp(a->dim, b->dim, a->ndim * sizeof(a->dim[0]));
}

void ncc_number(struct ncc_module *m)
{
	m->nops = 0;
	for (struct ncc_op *op = m->first; op; op = op->next)
		op->id = m->nops++;
}

void ncc_count_users(struct ncc_module *m)
{
	for (struct ncc_op *op = m->first; op; op = op->next)
		op->users = 0;
	for (struct ncc_op *op = m->first; op; op = op->next)
		for (unsigned int i = 0; i < op->nin; i++)
			op->in[i]->users++;
	for (unsigned int i = 0; i < m->nouts; i++)
		m->outs[i]->users++;
	if (m->effect)
		m->effect->users++;
}

static struct ncc_op *resolve(struct ncc_op *op)
{
	while (op->replaced)
		op = op->replaced;
	return op;
}

/*
 * Goes depth first without recursion, since programs are long chains; mark counts the operands
 * already visited.
 */
static void visit(struct ncc_module *m, struct ncc_op *root, struct ncc_op **stack)
{
	size_t n = 0;

	if (root->mark)
		return;
	root->mark = 1;
	stack[n++] = root;
	while (n) {
		struct ncc_op *op = stack[n - 1];
		struct ncc_op *in;

		if (op->mark > op->nin) {
			ncc_op_append(m, op);
			n--;
			continue;
		}
		in = op->in[op->mark - 1] = resolve(op->in[op->mark - 1]);
		op->mark++;
		if (!in->mark) {
			in->mark = 1;
			in->next = NULL;
			stack[n++] = in;
		}
	}
}

static int by_address(const void *a, const void *b)
{
	uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;

	return x < y ? -1 : x > y;
}

/* Is one of the n sorted addresses inside the block? */
static bool is_used(const struct ncc_mem *b, const uintptr_t *at, size_t n)
{
	size_t lo = 0;

	while (n) { /* binary search for the first one in or after the block */
		size_t half = n / 2;

		if (at[lo + half] < (uintptr_t)b->data) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return at[lo] && at[lo] - (uintptr_t)b->data < b->size;
}

/* Frees the data that no operation of the module uses; without memory to find out, they stay. */
static void sweep_data(struct ncc_module *m)
{
	uintptr_t *at = calloc(m->nops + 1, sizeof(*at));
	size_t n = 0;

	for (struct ncc_op *op = m->first; at && op; op = op->next)
		if (op->data)
			at[n++] = (uintptr_t)op->data;
	if (n)
		qsort(at, n, sizeof(*at), by_address);
	for (struct ncc_mem **link = &m->data, *b; at && (b = *link);) {
		if (is_used(b, at, n)) {
			link = &b->next;
			continue;
		}
		*link = b->next;
		free(b);
	}
	free(at);
}

void ncc_sweep(struct ncc_module *m)
{
	struct ncc_op **stack = malloc((m->made + 1) * sizeof(struct ncc_op *));

	m->garbage = 0;
	if (!stack)
		return;
	m->first = NULL;
	m->tail = &m->first;
	m->nops = 0;
	for (unsigned int i = 0; i < m->nparams; i++)
		visit(m, m->params[i], stack);

	for (unsigned int i = 0; i < m->nouts; i++) {
		m->outs[i] = resolve(m->outs[i]);
		visit(m, m->outs[i], stack);
	}

	if (m->effect) {
		m->effect = resolve(m->effect);
		visit(m, m->effect, stack);
	}

	for (struct ncc_op *op = m->first; op; op = op->next)
		op->mark = 0;
	free(stack);
	ncc_count_users(m);
	sweep_data(m);
}
