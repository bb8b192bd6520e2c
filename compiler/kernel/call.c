// SPDX-License-Identifier: MIT
/*
 * A call of a kernel as operations of the IR. A kernel of one output is an operation of its shape;
 * of several the operation's result has all of them, one behind the other, as integers of their
 * size, and each is a slice of it, of which only a view is made.
 */
#include "kernel.h"

#include <errno.h>

static uint64_t bytes_of(const struct ncc_shape *s)
{
	return (uint64_t)ncc_elems(s) * ncc_dtype_size(s->dtype);
}

unsigned int ncc_kernel_outputs(const struct ncc_kernel *k)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < k->ntensors; i++)
		n += k->tensor[i].output;
	return n;
}

uint64_t ncc_kernel_offset(const struct ncc_kernel *k, unsigned int tensor)
{
	uint64_t at = 0;

	for (unsigned int i = 0; i < tensor; i++)
		if (k->tensor[i].output)
			at += (bytes_of(&k->tensor[i].shape) + NCC_KERNEL_ALIGN - 1) /
			      NCC_KERNEL_ALIGN * NCC_KERNEL_ALIGN;
	return at;
}

/* The n-th input or output; NULL: there is none */
static const struct ncc_kernel_tensor *tensor_of(const struct ncc_kernel *k, bool output,
						 unsigned int n)
{
	for (unsigned int i = 0; i < k->ntensors; i++)
		if (k->tensor[i].output == output && !n--)
			return &k->tensor[i];
	return NULL;
}

const struct ncc_shape *ncc_kernel_result(const struct ncc_kernel *k, unsigned int output)
{
	return &tensor_of(k, true, output)->shape;
}

static struct ncc_shape result_shape(const struct ncc_kernel *k)
{
	const struct ncc_kernel_tensor *first = tensor_of(k, true, 0);
	const unsigned int size = ncc_dtype_size(first->shape.dtype);

	if (ncc_kernel_outputs(k) == 1)
		return first->shape;
	return (struct ncc_shape){ .dtype = size == 1	? NEURON_DT_INT8
					    : size == 2 ? NEURON_DT_INT16
							: NEURON_DT_INT32,
				   .ndim = 1,
				   .dim = { (int64_t)ncc_kernel_offset(k, k->ntensors) / size } };
}

static bool same(const struct ncc_shape *a, const struct ncc_shape *b)
{
	return a->dtype == b->dtype && ncc_same_dims(a, b);
}

/* The passes leave no unsigned types: the bits of one are those of the signed type of its size. */
static bool same_bits(const struct ncc_shape *a, const struct ncc_shape *b)
{
	return same(a, b) ||
	       (!ncc_is_float(a->dtype) && !ncc_is_float(b->dtype) &&
		ncc_dtype_size(a->dtype) == ncc_dtype_size(b->dtype) && ncc_same_dims(a, b));
}

/* bf16[2,3] */
static const char *write_shape(const struct ncc_shape *s, char *text, size_t size)
{
	size_t n = (size_t)snprintf(text, size, "%s[", ncc_dtype_name(s));

	for (unsigned int d = 0; d < s->ndim && n < size; d++)
		n += (size_t)snprintf(text + n, size - n, "%s%lld", d ? "," : "",
				      (long long)s->dim[d]);
	if (n < size)
		snprintf(text + n, size - n, "]");
	return text;
}

/* Are the shapes those of its inputs, or outputs? What they are is said by the caller of all. */
static int check_shape(const struct ncc_kernel *k, bool output, unsigned int i,
		       const struct ncc_shape *s, struct ncc_error *err)
{
	const struct ncc_kernel_tensor *t = tensor_of(k, output, i);
	char is[128], expected[128];

	if (same(s, &t->shape) && !(output && s->pred))
		return 0;
	return ncc_kernel_fail(k, k->line, err, -EINVAL, "%s %u, '%s', is %s, expected %s",
			       output ? "result" : "operand", i, t->name,
			       write_shape(s, is, sizeof(is)),
			       write_shape(&t->shape, expected, sizeof(expected)));
}

static int check_operands(const struct ncc_kernel *k, struct ncc_op *const *in, unsigned int nin,
			  struct ncc_error *err)
{
	const unsigned int ninputs = k->ntensors - ncc_kernel_outputs(k);
	int rc = 0;

	if (nin != ninputs)
		return ncc_kernel_fail(k, k->line, err, -EINVAL, "%u operands, expected %u", nin,
				       ninputs);
	for (unsigned int i = 0; !rc && i < nin; i++)
		rc = check_shape(k, false, i, &in[i]->shape, err);
	return rc;
}

int ncc_kernel_fits(const struct ncc_kernel *k, const struct ncc_op *op, struct ncc_error *err)
{
	const struct ncc_shape s = result_shape(k);
	bool fits = op->nin == k->ntensors - ncc_kernel_outputs(k) && same_bits(&s, &op->shape);

	for (unsigned int i = 0; fits && i < op->nin; i++)
		fits = same_bits(&tensor_of(k, false, i)->shape, &op->in[i]->shape);
	return fits ? 0
		    : ncc_kernel_fail(k, k->line, err, -EINVAL,
				      "other operands, or another result, than '%.80s' has",
				      op->name ? op->name : "");
}

static struct ncc_op *part(struct ncc_build *bl, const struct ncc_kernel *k, struct ncc_op *all,
			   const struct ncc_kernel_tensor *t)
{
	const uint64_t at = ncc_kernel_offset(k, (unsigned int)(t - k->tensor));
	const unsigned int size = ncc_dtype_size(t->shape.dtype);
	struct ncc_op *x = build_slice(bl, all, 0, (int64_t)at / size, ncc_elems(&t->shape));

	return build_bitcast(bl, build_reshape(bl, x, &t->shape), t->shape.dtype);
}

int ncc_kernel_call(struct ncc_build *bl, const struct ncc_kernels *kernels,
		    const struct ncc_kernel *k, struct ncc_op *const *in, unsigned int nin,
		    const struct ncc_shape *shape, unsigned int nshapes, struct ncc_op **result)
{
	const unsigned int n = ncc_kernel_outputs(k);
	struct ncc_op *op;
	int rc = check_operands(k, in, nin, bl->err);

	if (!rc && nshapes != n)
		rc = ncc_kernel_fail(k, k->line, bl->err, -EINVAL, "%u results, it has %u", nshapes,
				     n);
	for (unsigned int i = 0; !rc && i < n; i++)
		rc = check_shape(k, true, i, &shape[i], bl->err);
	if (rc)
		return rc;
	op = ncc_op_new(bl->m, NCC_KERNEL, bl->name, nin);
	if (!op)
		return ncc_no_memory(bl->err);
	op->where = bl->where;
	op->shape = result_shape(k);
	op->exact = true;
	while (kernels->kernel[op->index] != k)
		op->index++;
	for (unsigned int i = 0; i < nin; i++)
		op->in[i] = in[i];
	ncc_op_append(bl->m, op);
	result[0] = op;
	for (unsigned int i = 0; n > 1 && i < n; i++)
		result[i] = part(bl, k, op, tensor_of(k, true, i));
	return (int)n;
}
