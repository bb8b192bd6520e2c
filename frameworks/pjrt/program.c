// SPDX-License-Identifier: MIT
/* Programs come: compiled for a client and loaded, for a topology alone, or loaded later */
#include "executable.h"

/* The program and the options of a caller as an executable that is not compiled yet */
static PJRT_Error *read(PJRT_TopologyDescription *t, bool narrow_64bit, const PJRT_Program *p,
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
	return npj_executable_new(t, narrow_64bit, code, options, &o, result);
}

PJRT_Error *npj_Client_Compile(PJRT_Client_Compile_Args *a)
{
	PJRT_Executable *x;
	PJRT_Error *e;

	NPJ_NEED(a->client, "client");
	e = npj_client_open(a->client);
	if (!e)
		e = read(a->client->topology, a->client->narrow_64bit, a->program,
			 npj_blob(a->compile_options, a->compile_options_size), &x);
	return e ? e : npj_compile_and_load(a->client, x, &a->executable);
}

PJRT_Error *npj_Compile(PJRT_Compile_Args *a)
{
	PJRT_TopologyDescription *t = a->topology;
	PJRT_Executable *x = NULL;
	PJRT_Error *e;

	if (!t && a->client)
		t = a->client->topology;
	NPJ_NEED(t, "topology");
	e = read(t, a->client && a->client->narrow_64bit, a->program,
		 npj_blob(a->compile_options, a->compile_options_size), &x);
	if (!e)
		e = npj_compile(x, false, NULL, NULL);
	if (x)
		ncc_program_forget(x->program);
	if (e)
		npj_executable_unref(x);
	else
		a->executable = x;
	return e;
}

PJRT_Error *npj_Client_Load(PJRT_Client_Load_Args *a)
{
	NPJ_NEED(a->client, "client");
	NPJ_NEED(a->executable, "executable");
	return npj_load(a->client, npj_executable_ref(a->executable), &a->loaded_executable);
}
