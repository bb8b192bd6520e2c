// SPDX-License-Identifier: MIT
/*
 * Convolutions of integers of eight bits as those of signed bytes, as integer.c multiplies
 * matrices. Part of the ONNX front end.
 */
#include "quantized.h"
#include "frontend/onnx/products/products.h"

/* Is the sum of each filter exact that takes so many channels at a time? */
static bool is_exact_kernel(const struct quant_eight *a, onnx_op kernel, int64_t channels)
{
	const int64_t filters = kernel->shape.dim[0], all = kernel->shape.dim[1];
	const int64_t size = ncc_elems(&kernel->shape) / filters;

	for (int64_t f = 0; f < filters; f++)
		if (!quant_exact_column(a, (const int8_t *)kernel->data + f * size, size, 1,
					size / all * channels))
			return false;
	return true;
}

/* The sum of each filter, in fp32 */
static onnx_op filter_sums(struct onnx_node *n, onnx_op kernel)
{
	const struct ncc_shape s = { .dtype = NEURON_DT_FP32,
				     .ndim = 1,
				     .dim = { kernel->shape.dim[0] } };
	const int64_t size = ncc_elems(&kernel->shape) / kernel->shape.dim[0];
	const int8_t *k = kernel->data;
	onnx_op sum = ox_data(n, &s);

	for (int64_t i = 0; sum && i < ncc_elems(&kernel->shape); i++)
		((float *)sum->data)[i / size] += k[i];
	return sum;
}

/* The padding is numbers less their zero point: bytes that with the number beside them are 0 */
static onnx_op part_convolved(struct onnx_node *n, const struct quant_eight *a, onnx_op kernel)
{
	onnx_op padding = NULL, sum, of;
	const uint8_t map = 1;

	if (a->plus)
		padding = quant_packed(n, ox_bin(n, NCC_SUB, ox_number(n, 0), a->plus),
				       NEURON_DT_INT8);
	sum = ox_conv(n, a->byte, kernel, padding, NEURON_DT_FP32);
	if (!a->plus || !sum)
		return sum;
	of = ox_bin(n, NCC_MUL, filter_sums(n, kernel), a->plus);
	return ox_bin(n, NCC_ADD, sum, ox_spread(n, of, &sum->shape, &map));
}

onnx_op quant_convolution(struct onnx_node *n, unsigned int i, onnx_op za, unsigned int k,
			  onnx_op zb)
{
	onnx_op x = onnx_in(n, i), kernel = onnx_in(n, k), sum = NULL, s;
	struct quant_eight a, part;
	int64_t channels, each;

	if (!x || !kernel || x->shape.ndim < 3 || kernel->shape.ndim != x->shape.ndim ||
	    onnx_int(n, "group") != 1 || x->shape.dim[1] != kernel->shape.dim[1] ||
	    (za && ncc_elems(&za->shape) != 1) || (zb && ncc_elems(&zb->shape) != 1))
		return NULL;
	kernel = quant_constant(n, kernel, zb);
	if (!kernel || !quant_take(n, i, za, false, &a))
		return NULL;
	channels = x->shape.dim[1];
	for (each = channels; each && !is_exact_kernel(&a, kernel, each);)
		each /= 2;
	part = a;
	for (int64_t at = 0; each && at < channels && !n->rc; at += each) {
		int64_t left = channels - at, here = left < each ? left : each;

		part.byte = ox_slice(n, a.byte, 1, at, here, 1);
		s = quant_word(n, part_convolved(n, &part, ox_slice(n, kernel, 1, at, here, 1)));
		sum = sum ? ox_bin(n, NCC_ADD, sum, s) : s;
	}
	return sum;
}
