// SPDX-License-Identifier: MIT
/* Calls of the host as the NEFF has them: arrays by where their numbers lie in the scratchpad */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "prog.h"
#include "passes/piece.h"

static int out_array(const struct ncc_parts *parts, const struct ncc_host_array *from,
		     const int64_t *number, struct neff_call_array *to)
{
	const char *type = from->complex ? "c64" : ncc_dtype_name(&from->shape);
	const uint64_t *place = ncc_kept_of(parts->part[0]);

	if (strlen(type) >= sizeof(to->type))
		return -ENOTSUP;
	strcpy(to->type, type);
	to->ndim = from->shape.ndim;
	for (unsigned int d = 0; d < to->ndim; d++)
		to->shape[d] = (uint64_t)from->shape.dim[d];
	to->noff = ncc_host_parts(from);
	for (unsigned int i = 0; i < to->noff; i++)
		to->off[i] = number[i] == NCC_NOWHERE ? NEFF_CALL_NOWHERE : place[number[i]];
	return 0;
}

static int out_call(const struct ncc_parts *parts, const struct ncc_part_call *from,
		    struct neff_call *to)
{
	const struct ncc_host_call *call = from->call;
	const int64_t *number = from->number;
	int rc = 0;

	to->after = from->after;
	to->index = call->index;
	to->target = strdup(call->target);
	to->guarded = call->guarded;
	to->guard = call->guarded ? ncc_kept_of(parts->part[0])[from->guard] : 0;
	to->nin = call->nin;
	to->nout = call->nout;
	to->array = calloc(call->nin + call->nout + 1, sizeof(*to->array));
	if (!to->target || !to->array)
		return -ENOMEM;
	for (unsigned int i = 0; !rc && i < call->nin + call->nout; i++) {
		rc = out_array(parts, &call->array[i], number, &to->array[i]);
		number += ncc_host_parts(&call->array[i]);
	}
	return rc;
}

int ncc_out_calls(const struct ncc_parts *parts, struct neff_model *m, struct ncc_error *err)
{
	int rc = 0;

	m->calls = calloc(parts->ncalls + 1, sizeof(*m->calls));
	if (!m->calls)
		return ncc_no_memory(err);
	while (!rc && m->ncalls < parts->ncalls) {
		rc = out_call(parts, &parts->call[m->ncalls], &m->calls[m->ncalls]);
		m->ncalls++;
	}
	return rc == -ENOMEM ? ncc_no_memory(err)
	       : rc ? ncc_fail(err, rc, "a call of the host has an array of a type that none has")
		    : 0;
}
