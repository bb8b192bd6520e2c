// SPDX-License-Identifier: MIT
/*
 * The extensions for layouts and shardings. Each layout is row-major; as text it is the dimensions
 * from the innermost one out: {2,1,0}.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "executable.h"

struct PJRT_Layouts_MemoryLayout {
	atomic_int refs;
	unsigned int ndim;
};

PJRT_Layouts_MemoryLayout *npj_layout_new(unsigned int ndim)
{
	PJRT_Layouts_MemoryLayout *l = malloc(sizeof(*l));

	if (l) {
		l->refs = 1;
		l->ndim = ndim;
	}
	return l;
}

void npj_layout_unref(PJRT_Layouts_MemoryLayout *l)
{
	if (l && atomic_fetch_sub(&l->refs, 1) == 1)
		free(l);
}

PJRT_Error *npj_Layouts_MemoryLayout_Destroy(PJRT_Layouts_MemoryLayout_Destroy_Args *a)
{
	npj_layout_unref(a->layout);
	return NULL;
}

PJRT_Error *npj_Layouts_MemoryLayout_Serialize(PJRT_Layouts_MemoryLayout_Serialize_Args *a)
{
	char text[NPJ_MAX_DIMS * 4 + 3] = "{";
	size_t n = 1;

	NPJ_NEED(a->layout, "layout");
	for (unsigned int i = a->layout->ndim; i-- > 0;)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%u%s", i, i ? "," : "");
	text[n++] = '}';
	a->serialized_layout = npj_bytes(text, n, &a->serialized_bytes, &a->serialized_bytes_size);
	a->serialized_layout_deleter = free;
	return a->serialized_layout ? NULL : npj_no_memory();
}

static PJRT_Error *make(size_t ndim, PJRT_Layouts_MemoryLayout **layout)
{
	if (ndim > NPJ_MAX_DIMS)
		return NPJ_INVALID("a layout of %zu dimensions: at most %d", ndim, NPJ_MAX_DIMS);
	*layout = npj_layout_new((unsigned int)ndim);
	return *layout ? NULL : npj_no_memory();
}

PJRT_Error *
npj_Layouts_PJRT_Client_GetDefaultLayout(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args *a)
{
	return make(a->num_dims, &a->layout);
}

PJRT_Error *
npj_Layouts_PJRT_Topology_GetDefaultLayout(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args *a)
{
	return make(a->num_dims, &a->layout);
}

PJRT_Error *npj_Layouts_PJRT_Buffer_MemoryLayout(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args *a)
{
	NPJ_NEED(a->buffer, "buffer");
	return make(a->buffer->shape.ndim, &a->layout);
}

/* The caller destroys each, so it gets a reference to each. */
static PJRT_Layouts_MemoryLayout **given(PJRT_Layouts_MemoryLayout **all, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		atomic_fetch_add(&all[i]->refs, 1);
	return all;
}

PJRT_Error *npj_Layouts_PJRT_Executable_GetParameterLayouts(
	PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args *a)
{
	PJRT_Executable *x = a->executable;

	NPJ_NEED(x, "executable");
	a->num_parameters = x->program->nin;
	a->layouts = given(x->layouts, x->program->nin);
	return NULL;
}

PJRT_Error *
npj_Layouts_PJRT_Executable_GetOutputLayouts(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args *a)
{
	PJRT_Executable *x = a->executable;

	NPJ_NEED(x, "executable");
	a->num_outputs = x->program->nout;
	a->layouts = given(x->layouts + x->program->nin, x->program->nout);
	return NULL;
}

/*
 * What runs on one device is not sharded.
 */
PJRT_Error *npj_Shardings_PJRT_Executable_ParameterShardings(
	PJRT_Shardings_PJRT_Executable_ParameterShardings_Args *a)
{
	const PJRT_Executable *x = a->executable;
	bool many = x && x->options.partitions > 1;

	NPJ_NEED(x, "executable");
	a->num_parameters = x->program->nin;
	a->shardings = many ? (const char *const *)x->shardings : NULL;
	a->sharding_sizes = many ? x->sharding_sizes : NULL;
	return NULL;
}

PJRT_Error *npj_Shardings_PJRT_Executable_OutputShardings(
	PJRT_Shardings_PJRT_Executable_OutputShardings_Args *a)
{
	const PJRT_Executable *x = a->executable;
	bool many = x && x->options.partitions > 1;

	NPJ_NEED(x, "executable");
	a->num_outputs = x->program->nout;
	many = many && x->program->nout; /* jaxlib wants none of nothing */
	a->shardings = many ? (const char *const *)x->shardings + x->program->nin : NULL;
	a->sharding_sizes = many ? x->sharding_sizes + x->program->nin : NULL;
	return NULL;
}
