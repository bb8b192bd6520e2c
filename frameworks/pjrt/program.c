// SPDX-License-Identifier: MIT
/* Programs come: compiled for a client and loaded, for a topology alone, or loaded later */
#include "executable.h"

/* The program and the options of a caller as an executable that is compiled */
static PJRT_Error *compile(PJRT_TopologyDescription *t, bool narrow_64bit, const PJRT_Program *p,
			   struct npj_blob options, PJRT_Executable **result)
{
	struct npj_options o;
	struct npj_blob code;
	PJRT_Error *e = npj_program_check(p, &code);

	if (!e)
		e = npj_options_read(t, options.data, options.size, &o);
	if (e)
		return e;
	o.narrow_64bit = o.narrow_64bit || narrow_64bit;
	e = npj_executable_new(t, narrow_64bit, code, options, &o, result);
	if (e)
		return e;
	e = npj_compile(*result, false);
	if (e)
		npj_executable_unref(*result);
	return e;
}

PJRT_Error *npj_Client_Compile(PJRT_Client_Compile_Args *a)
{
	PJRT_Executable *x;
	PJRT_Error *e;

	NPJ_NEED(a->client, "client");
	e = npj_client_open(a->client);
	if (!e)
		e = compile(a->client->topology, a->client->narrow_64bit, a->program,
			    npj_blob(a->compile_options, a->compile_options_size), &x);
	return e ? e : npj_load(a->client, x, &a->executable);
}

PJRT_Error *npj_Compile(PJRT_Compile_Args *a)
{
	PJRT_TopologyDescription *t = a->topology;

	if (!t && a->client)
		t = a->client->topology;
	NPJ_NEED(t, "topology");
	return compile(t, a->client && a->client->narrow_64bit, a->program,
		       npj_blob(a->compile_options, a->compile_options_size), &a->executable);
}

PJRT_Error *npj_Client_Load(PJRT_Client_Load_Args *a)
{
	NPJ_NEED(a->client, "client");
	NPJ_NEED(a->executable, "executable");
	return npj_load(a->client, npj_executable_ref(a->executable), &a->loaded_executable);
}
