// SPDX-License-Identifier: MIT
/* The compiler: any bytes as an ONNX model (model.h). */
#include "model.h"
#include "frontend/onnx/onnx.pb-c.h"
#include "proto.h"
#include "proto/scan.h"

#define MAX_INPUTS 8

#ifdef FUZZ_LIBFUZZER
#define WORDS 192

/* Strings of a model: its names, those of an attribute, operators */
static const char *const *words(void)
{
	static const char *const names[] = {
		"a",	     "b",
		"c",	     "x",
		"y",	     "axis",
		"axes",	     "to",
		"pads",	     "strides",
		"dilations", "group",
		"auto_pad",  "kernel_shape",
		"perm",	     "keepdims",
		"direction", "equation",
		"layout",    "value",
		"body",	     "mode",
		"alpha",     "ceil_mode",
		"k",	     "epsilon",
		"size",	     "location",
		"offset",    "length",
	};
	static const char *all[WORDS];
	unsigned int n = 0;

	for (; n < sizeof(names) / sizeof(names[0]); n++)
		all[n] = names[n];
	for (unsigned int i = 0; n < WORDS - 1 && ncc_onnx_operator(i); i++)
		all[n++] = ncc_onnx_operator(i);
	return all;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	if (!size || seed % 8 == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	return 1 + fuzz_proto_mutate(&ncc__onnx__model__descriptor, words(), data + 1, size - 1,
				     max_size - 1, seed);
}
#endif

/* Every location is a file, of 64 bytes that are not aligned */
static int external_data(void *opaque, const char *location, const void **data, size_t *size)
{
	static const uint8_t file[65];

	(void)opaque;
	fuzz_assert(*location && *location != '/');
	fuzz_assert(strncmp(location, "../", 3) && !strstr(location, "/../"));
	*data = file + 1;
	*size = 64;
	return 0;
}

/* Bounds the dimensions that the model leaves open; false: it has no inputs to bound. */
static bool bound_inputs(const Ncc__Onnx__Graph *g, struct ncc_input *in, unsigned int *n)
{
	for (size_t i = 0; g && i < g->n_input && *n < MAX_INPUTS; i++) {
		const Ncc__Onnx__Type *t = g->input[i]->type;
		const Ncc__Onnx__TensorShape *s =
			t && t->tensor_type ? t->tensor_type->shape : NULL;
		struct ncc_input *p = &in[*n];

		if (!s || s->n_dim > NCC_MAX_DIMS)
			continue;
		*p = (struct ncc_input){ .name = g->input[i]->name,
					 .has_shape = true,
					 .ndim = (unsigned int)s->n_dim };
		for (unsigned int d = 0; d < p->ndim; d++) {
			const Ncc__Onnx__Dimension *dim = s->dim[d];

			p->bounded[d] = dim->value_case != NCC__ONNX__DIMENSION__VALUE_DIM_VALUE ||
					dim->dim_value < 0;
			p->dim[d] = p->bounded[d] ? 3 + d : dim->dim_value;
		}
		++*n;
	}
	return *n;
}

/* fuzz_model() for a model with dynamic dimensions */
static void fuzz_bounded(const uint8_t *data, size_t size, struct ncc_options *opt)
{
	static struct ncc_input in[MAX_INPUTS];
	struct ncc_error err;
	Ncc__Onnx__Model *m = NULL;

	if (!ncc_proto_scan(&ncc__onnx__model__descriptor, "a model", data, size, &err))
		m = ncc__onnx__model__unpack(NULL, size, data);
	if (m && bound_inputs(m->graph, in, &opt->ninputs))
		opt->input = in;
	fuzz_model(data, size, opt);
	if (m)
		ncc__onnx__model__free_unpacked(m, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ncc_options opt = { .framework = NCC_ONNX, .external_data = external_data };

	if (!size)
		return 0;
	opt.auto_cast = data[0] % 3;
	opt.auto_cast_type = data[0] & 4 ? NEURON_DT_FP16 : NEURON_DT_BF16;
	if (data[0] & 16) {
		opt.target = neuron_target_of_name("trn1");
		opt.auto_cast_type = data[0] & 4 ? NEURON_DT_FP8_E4 : NEURON_DT_TF32;
		opt.hardware_rng = data[0] & 32;
	}
	opt.narrow_64bit = data[0] & 8;
	if (data[0] & 64)
		fuzz_bounded(data + 1, size - 1, &opt);
	else
		fuzz_model(data + 1, size - 1, &opt);
	return 0;
}
