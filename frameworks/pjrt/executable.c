// SPDX-License-Identifier: MIT
/*
 * What is known of a program before it runs: made when it is compiled or read back, and what a
 * framework asks about it.
 */
#include "executable.h"

#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "digest.h"
#include "neff.h"

bool npj_blob_copy(struct npj_blob *to, struct npj_blob from)
{
	to->size = from.size;
	to->data = malloc(from.size ? from.size : 1);
	if (to->data && from.size)
		memcpy(to->data, from.data, from.size);
	return to->data;
}

PJRT_Executable *npj_executable_ref(PJRT_Executable *x)
{
	atomic_fetch_add(&x->refs, 1);
	return x;
}

void npj_executable_unref(PJRT_Executable *x)
{
	unsigned int n;

	if (!x || atomic_fetch_sub(&x->refs, 1) != 1)
		return;
	n = x->program ? x->program->nin + x->program->nout : 0;
	for (unsigned int i = 0; x->layouts && i < n; i++)
		npj_layout_unref(x->layouts[i]);
	free(x->layouts);
	for (unsigned int i = 0; x->shardings && i < n; i++)
		free(x->shardings[i]);
	free(x->sharding_sizes);
	free(x->shardings);
	free(x->kind_sizes);
	free(x->kinds);
	free(x->out_ndims);
	free(x->out_dims);
	free(x->out_type);
	free(x->takes);
	free(x->donated);
	free(x->out);
	free(x->in);
	ncc_program_free(x->program);
	free(x->hlo.data);
	free(x->neff.data);
	free(x->options_bytes.data);
	free(x->code.data);
	npj_options_clear(&x->options);
	npj_topology_unref(x->topology);
	pthread_mutex_destroy(&x->lock);
	free(x);
}

PJRT_Error *npj_program_check(const PJRT_Program *p, struct npj_blob *code)
{
	static const char *const formats[] = { "mlir", "hlo", "hlo_with_config" };

	NPJ_NEED(p, "program");
	if (!p->code || !p->format)
		return NPJ_INVALID("the program's code or format is NULL");
	*code = npj_blob(p->code, p->code_size);
	for (unsigned int i = 0; i < 3; i++)
		if (p->format_size == strlen(formats[i]) &&
		    !memcmp(p->format, formats[i], p->format_size))
			return NULL;
	return NPJ_INVALID("a program in the format \"%.*s\": mlir, hlo and hlo_with_config are "
			   "read",
			   (int)p->format_size, p->format);
}

static PJRT_Error *shapes(PJRT_Executable *x, const struct ncc_array *arrays, unsigned int n,
			  const char *what, struct npj_shape *shape)
{
	for (unsigned int i = 0; i < n; i++) {
		const struct npj_type *t = npj_type_of_xla(arrays[i].type);
		PJRT_Error *e;

		if (!t)
			return npj_error(PJRT_Error_Code_UNIMPLEMENTED,
					 "%s %u of %s has XLA's type %d, which no buffer has", what,
					 i, x->program->name, arrays[i].type);
		if (t->type == PJRT_Buffer_Type_TOKEN) {
			shape[i] = (struct npj_shape){ .type = t, .elements = 1 };
			continue;
		}
		e = npj_shape_set(&shape[i], t->type, arrays[i].dim, arrays[i].ndim);
		if (!e && npj_type_wide(t) && !x->narrow_64bit)
			e = npj_error(PJRT_Error_Code_UNIMPLEMENTED,
				      "%s %u of %s is of type %s: Neuron chips have no 64-bit "
				      "types. In JAX leave jax_enable_x64 off (its default), or "
				      "use "
				      "a 32-bit dtype",
				      what, i, x->program->name, t->name);
		if (e)
			return e;
	}
	return NULL;
}

/*
 * Whose memory each output takes: that of the input which the program names, and of inputs whose
 * memory is anybody's, as of a donation under a mesh, the first that is as large and is not taken.
 */
static void donations(PJRT_Executable *x)
{
	const struct ncc_program *p = x->program;

	for (unsigned int k = 0; k < p->nout; k++) {
		int i = p->alias[k];

		x->takes[k] = -1;
		if (i < 0 || x->donated[i] ||
		    npj_device_bytes(&x->in[i]) != npj_device_bytes(&x->out[k]))
			continue;
		x->takes[k] = i;
		x->donated[i] = true;
	}
	for (unsigned int i = 0; i < p->nin; i++)
		for (unsigned int k = 0; k < p->nout && p->donor[i] && !x->donated[i]; k++)
			if (x->takes[k] < 0 &&
			    npj_device_bytes(&x->in[i]) == npj_device_bytes(&x->out[k])) {
				x->takes[k] = (int)i;
				x->donated[i] = true;
			}
}

/* The arrays of answers */
static bool answers(PJRT_Executable *x)
{
	unsigned int nin = x->program->nin, nout = x->program->nout, n = nin > nout ? nin : nout;
	size_t dims = 0;

	for (unsigned int k = 0; k < nout; k++)
		dims += x->out[k].ndim;
	x->out_type = calloc(nout + 1, sizeof(*x->out_type));
	x->out_dims = calloc(dims + 1, sizeof(*x->out_dims));
	x->out_ndims = calloc(nout + 1, sizeof(*x->out_ndims));
	x->kinds = calloc(n + 1, sizeof(*x->kinds));
	x->kind_sizes = calloc(n + 1, sizeof(*x->kind_sizes));
	x->shardings = calloc(nin + nout + 1, sizeof(*x->shardings));
	x->sharding_sizes = calloc(nin + nout + 1, sizeof(*x->sharding_sizes));
	x->layouts = calloc(nin + nout + 1, sizeof(*x->layouts));
	if (!x->out_type || !x->out_dims || !x->out_ndims || !x->kinds || !x->kind_sizes ||
	    !x->shardings || !x->sharding_sizes || !x->layouts)
		return false;
	dims = 0;
	for (unsigned int k = 0; k < nout; k++) {
		x->out_type[k] = x->out[k].type->type;
		x->out_ndims[k] = x->out[k].ndim;
		memcpy(&x->out_dims[dims], x->out[k].dim, x->out[k].ndim * sizeof(int64_t));
		dims += x->out[k].ndim;
	}
	for (unsigned int i = 0; i < n; i++) {
		x->kinds[i] = npj_kind_name[NPJ_DEVICE];
		x->kind_sizes[i] = strlen(x->kinds[i]);
	}
	for (unsigned int i = 0; i < nin + nout; i++) {
		x->shardings[i] = npj_sharding(i < nin ? x->program->in_tiling[i]
						       : x->program->out_tiling[i - nin],
					       x->program->partitions, &x->sharding_sizes[i]);
		if (!x->shardings[i])
			return false;
		x->layouts[i] = npj_layout_new(i < nin ? x->in[i].ndim : x->out[i - nin].ndim);
		if (!x->layouts[i])
			return false;
	}
	return true;
}

static bool is_trivial(const PJRT_Executable *x)
{
	if (x->program->effects)
		return false;
	for (unsigned int k = 0; k < x->program->nout; k++)
		if (x->program->same[k] < 0 && npj_device_bytes(&x->out[k]))
			return false;
	return true;
}

static PJRT_Error *about(PJRT_Executable *x)
{
	struct ncc_error err;
	PJRT_Error *e;
	int r = ncc_program_read(x->code.data, x->code.size, &x->program, &err);

	if (r)
		return npj_compiler_error(r, &err);
	if (x->options.partitions > 1 && x->program->partitions == 1)
		return npj_error(PJRT_Error_Code_UNIMPLEMENTED,
				 "%s is for %u partitions, and does not say so: only StableHLO's "
				 "programs, which do, are divided",
				 x->program->name, x->options.partitions);
	x->in = calloc(x->program->nin + 1, sizeof(*x->in));
	x->out = calloc(x->program->nout + 1, sizeof(*x->out));
	x->donated = calloc(x->program->nin + 1, sizeof(*x->donated));
	x->takes = calloc(x->program->nout + 1, sizeof(*x->takes));
	if (!x->in || !x->out || !x->donated || !x->takes)
		return npj_no_memory();
	e = shapes(x, x->program->in, x->program->nin, "argument", x->in);
	if (!e)
		e = shapes(x, x->program->out, x->program->nout, "result", x->out);
	if (e)
		return e;
	x->trivial = is_trivial(x);
	donations(x);
	return answers(x) ? npj_fingerprint(x) : npj_no_memory();
}

PJRT_Error *npj_executable_new(PJRT_TopologyDescription *t, bool narrow_64bit, struct npj_blob code,
			       struct npj_blob options_bytes, struct npj_options *o,
			       PJRT_Executable **result)
{
	PJRT_Executable *x = calloc(1, sizeof(*x));
	PJRT_Error *e = NULL;

	if (!x) {
		npj_options_clear(o);
		return npj_no_memory();
	}
	x->refs = 1;
	x->topology = npj_topology_ref(t);
	x->narrow_64bit = narrow_64bit;
	x->options = *o;
	pthread_mutex_init(&x->lock, NULL);
	if (!npj_blob_copy(&x->code, code) || !npj_blob_copy(&x->options_bytes, options_bytes))
		e = npj_no_memory();
	if (!e)
		e = about(x);
	if (e) {
		npj_executable_unref(x);
		return e;
	}
	*result = x;
	return NULL;
}

PJRT_Error *npj_Executable_Destroy(PJRT_Executable_Destroy_Args *a)
{
	npj_executable_unref(a->executable);
	return NULL;
}

PJRT_Error *npj_Executable_Name(PJRT_Executable_Name_Args *a)
{
	NPJ_NEED(a->executable, "executable");
	a->executable_name = a->executable->program->name;
	a->executable_name_size = strlen(a->executable_name);
	return NULL;
}

PJRT_Error *npj_Executable_NumReplicas(PJRT_Executable_NumReplicas_Args *a)
{
	NPJ_NEED(a->executable, "executable");
	a->num_replicas = a->executable->options.replicas;
	return NULL;
}

PJRT_Error *npj_Executable_NumPartitions(PJRT_Executable_NumPartitions_Args *a)
{
	NPJ_NEED(a->executable, "executable");
	a->num_partitions = a->executable->options.partitions;
	return NULL;
}

PJRT_Error *npj_Executable_NumOutputs(PJRT_Executable_NumOutputs_Args *a)
{
	NPJ_NEED(a->executable, "executable");
	a->num_outputs = a->executable->program->nout;
	return NULL;
}

PJRT_Error *npj_Executable_OutputElementTypes(PJRT_Executable_OutputElementTypes_Args *a)
{
	NPJ_NEED(a->executable, "executable");
	a->output_types = a->executable->out_type;
	a->num_output_types = a->executable->program->nout;
	return NULL;
}

PJRT_Error *npj_Executable_OutputDimensions(PJRT_Executable_OutputDimensions_Args *a)
{
	NPJ_NEED(a->executable, "executable");
	a->num_outputs = a->executable->program->nout;
	a->dims = a->executable->out_dims;
	a->dim_sizes = a->executable->out_ndims;
	return NULL;
}

PJRT_Error *npj_Executable_OutputMemoryKinds(PJRT_Executable_OutputMemoryKinds_Args *a)
{
	NPJ_NEED(a->executable, "executable");
	a->num_outputs = a->executable->program->nout;
	a->memory_kinds = a->executable->kinds;
	a->memory_kind_sizes = a->executable->kind_sizes;
	return NULL;
}

PJRT_Error *npj_Executable_ParameterMemoryKinds(PJRT_Executable_ParameterMemoryKinds_Args *a)
{
	NPJ_NEED(a->executable, "executable");
	a->num_parameters = a->executable->program->nin;
	a->memory_kinds = a->executable->kinds;
	a->memory_kind_sizes = a->executable->kind_sizes;
	return NULL;
}

PJRT_Error *npj_Executable_Fingerprint(PJRT_Executable_Fingerprint_Args *a)
{
	NPJ_NEED(a->executable, "executable");
	a->executable_fingerprint = a->executable->fingerprint;
	a->executable_fingerprint_size = strlen(a->executable->fingerprint);
	return NULL;
}

PJRT_Error *npj_Executable_GetCompileOptions(PJRT_Executable_GetCompileOptions_Args *a)
{
	const struct npj_blob *b;

	NPJ_NEED(a->executable, "executable");
	b = &a->executable->options_bytes;
	a->serialized_compile_options =
		npj_bytes(b->data, b->size, &a->serialized_bytes, &a->serialized_bytes_size);
	a->serialized_compile_options_deleter = free;
	return a->serialized_compile_options ? NULL : npj_no_memory();
}
