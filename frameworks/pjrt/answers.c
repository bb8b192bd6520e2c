// SPDX-License-Identifier: MIT
/* Answers that are worked out only if a framework asks: costs, memory, the program as HLO */
#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "executable.h"
#include "neff.h"
#include "optimized_program.pb-c.h"

static size_t bytes_of(const struct npj_shape *s, unsigned int n)
{
	size_t sum = 0;

	for (unsigned int i = 0; i < n; i++)
		sum += npj_device_bytes(&s[i]);
	return sum;
}

static PJRT_NamedValue cost(const char *name, double value)
{
	return (PJRT_NamedValue){ .struct_size = PJRT_NamedValue_SIZE,
				  .name = name,
				  .name_size = strlen(name),
				  .type = PJRT_NamedValue_kFloat,
				  .float_value = (float)value,
				  .value_size = 1 };
}

/*
 * flops are those of the tensor engine, two for each multiply-accumulate of the compiled program;
 * bytes accessed are the arguments and results, once each.
 */
PJRT_Error *npj_Executable_GetCostAnalysis(PJRT_Executable_GetCostAnalysis_Args *a)
{
	PJRT_Executable *x = a->executable;

	NPJ_NEED(x, "executable");
	pthread_mutex_lock(&x->lock);
	if (!x->cost[0].struct_size) {
		const struct ncc_program *p = x->program;
		double in = (double)bytes_of(x->in, p->nin),
		       out = (double)bytes_of(x->out, p->nout);

		x->cost[0] = cost("flops", 2.0 * (double)x->macs);
		x->cost[1] = cost("bytes accessed", in + out);
		x->cost[2] = cost("bytes accessedout{}", out);
	}
	pthread_mutex_unlock(&x->lock);
	a->properties = x->cost;
	a->num_properties = NPJ_COSTS;
	return NULL;
}

PJRT_Error *
npj_Executable_SizeOfGeneratedCodeInBytes(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args *a)
{
	struct npj_blob neff;
	PJRT_Error *e;

	NPJ_NEED(a->executable, "executable");
	e = npj_executable_neff(a->executable, &neff);
	if (!e)
		a->size_in_bytes = (int64_t)neff.size;
	return e;
}

/* The scratch memory that a NEFF's programs have beside arguments, results and constants */
static PJRT_Error *scratch(const PJRT_Executable *x, const struct npj_blob *neff, int64_t *bytes)
{
	struct neff_limits limits = { .target = x->topology->target };
	struct neff_model *model;
	struct neff_error err;
	uint64_t shared = 0;

	*bytes = 0;
	if (!neff->size)
		return NULL;
	if (neff_read(neff->data, neff->size, &limits, &model, &err))
		return npj_error(PJRT_Error_Code_INTERNAL, "the compiled program: %s", err.text);
	for (unsigned int g = 0; g < model->nsubgraphs; g++)
		for (unsigned int i = 0; i < model->subgraphs[g].nvars; i++) {
			const struct neff_var *v = &model->subgraphs[g].vars[i];

			if (v->type == NEFF_VAR_TMP_BUF)
				*bytes += (int64_t)v->size;
			if (v->type == NEFF_VAR_VIRTUAL && v->backing_off + v->size > shared)
				shared = v->backing_off + v->size;
		}
	*bytes += (int64_t)shared;
	neff_free(model);
	return NULL;
}

PJRT_Error *npj_Executable_GetCompiledMemoryStats(PJRT_Executable_GetCompiledMemoryStats_Args *a)
{
	PJRT_Executable *x = a->executable;
	struct npj_blob neff;
	PJRT_Error *e;

	NPJ_NEED(x, "executable");
	*a = (PJRT_Executable_GetCompiledMemoryStats_Args){ .struct_size = a->struct_size,
							    .extension_start = a->extension_start,
							    .executable = x };
	e = npj_executable_neff(x, &neff);
	if (!e)
		e = scratch(x, &neff, &a->temp_size_in_bytes);
	if (e)
		return e;
	a->generated_code_size_in_bytes = (int64_t)neff.size;
	a->argument_size_in_bytes = (int64_t)bytes_of(x->in, x->program->nin);
	a->output_size_in_bytes = (int64_t)bytes_of(x->out, x->program->nout);
	for (unsigned int k = 0; k < x->program->nout; k++)
		if (x->takes[k] >= 0)
			a->alias_size_in_bytes += (int64_t)npj_device_bytes(&x->out[k]);
	a->peak_memory_in_bytes = a->argument_size_in_bytes + a->output_size_in_bytes -
				  a->alias_size_in_bytes + a->temp_size_in_bytes;
	a->total_size_in_bytes = a->peak_memory_in_bytes + a->generated_code_size_in_bytes;
	a->total_allocation_bytes = a->peak_memory_in_bytes;
	a->peak_unpadded_heap_bytes = a->peak_memory_in_bytes;
	return NULL;
}

/* n shardings as a repeated field; NULL if there is no memory */
static ProtobufCBinaryData *fields(const char *const *shardings, const size_t *sizes, size_t n)
{
	ProtobufCBinaryData *f = calloc(n + 1, sizeof(*f));

	for (size_t i = 0; f && i < n; i++)
		f[i] = (ProtobufCBinaryData){ sizes[i], (uint8_t *)shardings[i] };
	return f;
}

/*
 * Adds to a module's bytes how its arguments and results are divided, as the partitioner that
 * frameworks know leaves it there: those that do not know the extension for it look here.
 */
static PJRT_Error *with_shardings(PJRT_Executable *x, struct npj_blob *module)
{
	enum { TUPLE = 2 };
	PJRT_Shardings_PJRT_Executable_ParameterShardings_Args in = { .executable = x };
	PJRT_Shardings_PJRT_Executable_OutputShardings_Args out = { .executable = x };
	Npj__ModuleShardings more = NPJ__MODULE_SHARDINGS__INIT;
	Npj__ResultsSharding results = NPJ__RESULTS_SHARDING__INIT;
	PJRT_Error *e = npj_Shardings_PJRT_Executable_ParameterShardings(&in);
	uint8_t *bytes = NULL;
	size_t n;

	e = e ? e : npj_Shardings_PJRT_Executable_OutputShardings(&out);
	if (e || !in.shardings || !out.shardings)
		return e;
	more.spmd_parameters_shardings = fields(in.shardings, in.sharding_sizes, in.num_parameters);
	more.n_spmd_parameters_shardings = in.num_parameters;
	results.tuple_shardings = fields(out.shardings, out.sharding_sizes, out.num_outputs);
	results.n_tuple_shardings = out.num_outputs;
	results.type = TUPLE;
	n = npj__results_sharding__get_packed_size(&results);
	more.spmd_output_sharding = (ProtobufCBinaryData){ n, malloc(n) };
	if (more.spmd_parameters_shardings && results.tuple_shardings &&
	    more.spmd_output_sharding.data) {
		npj__results_sharding__pack(&results, more.spmd_output_sharding.data);
		n = npj__module_shardings__get_packed_size(&more);
		bytes = realloc(module->data, module->size + n);
	}
	if (bytes) {
		npj__module_shardings__pack(&more, bytes + module->size);
		*module = (struct npj_blob){ bytes, module->size + n };
	}
	free(more.spmd_output_sharding.data);
	free(more.spmd_parameters_shardings);
	free(results.tuple_shardings);
	return bytes ? NULL : npj_no_memory();
}

/* The module's bytes, and its program shape as the layout of its entry */
static PJRT_Error *with_config(PJRT_Executable *x)
{
	Npj__ModuleConfig config = NPJ__MODULE_CONFIG__INIT;
	Npj__ModuleWithConfig with = NPJ__MODULE_WITH_CONFIG__INIT;
	struct npj_blob module = { NULL, 0 };
	Npj__ModuleShape *shape;
	PJRT_Error *e = NULL;
	struct ncc_error err;
	int r = ncc_program_hlo(x->code.data, x->code.size, &module.data, &module.size, &err);

	if (r)
		return npj_compiler_error(r, &err);
	shape = npj__module_shape__unpack(NULL, module.size, module.data);
	if (shape && !shape->spmd_output_sharding.len)
		e = with_shardings(x, &module);
	if (shape && !e) {
		config.entry_computation_layout = shape->host_program_shape;
		config.replica_count = x->options.replicas;
		config.num_partitions = x->options.partitions;
		with.hlo_module = (ProtobufCBinaryData){ module.size, module.data };
		with.config = &config;
		x->hlo.size = npj__module_with_config__get_packed_size(&with);
		x->hlo.data = malloc(x->hlo.size);
	}
	if (x->hlo.data)
		npj__module_with_config__pack(&with, x->hlo.data);
	npj__module_shape__free_unpacked(shape, NULL);
	free(module.data);
	return e || x->hlo.data ? e : npj_no_memory();
}

/* The program as it went into the compiler: what comes out of it is no HLO. */
PJRT_Error *npj_Executable_OptimizedProgram(PJRT_Executable_OptimizedProgram_Args *a)
{
	static const char format[] = "hlo_with_config";
	PJRT_Executable *x = a->executable;
	PJRT_Program *p = a->program;
	PJRT_Error *e = NULL;

	NPJ_NEED(x, "executable");
	NPJ_NEED(p, "program");
	pthread_mutex_lock(&x->lock);
	if (!x->hlo.data)
		e = with_config(x);
	pthread_mutex_unlock(&x->lock);
	if (e)
		return e;
	p->format = format;
	p->format_size = sizeof(format) - 1;
	if (p->code && p->code_size < x->hlo.size)
		return NPJ_INVALID("room for %zu bytes, the program has %zu", p->code_size,
				   x->hlo.size);
	if (p->code)
		memcpy(p->code, x->hlo.data, x->hlo.size);
	p->code_size = x->hlo.size;
	return NULL;
}
