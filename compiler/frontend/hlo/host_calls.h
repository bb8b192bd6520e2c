/* SPDX-License-Identifier: MIT */
/* Private to the HLO front end: calls of functions of the host's (host.c) */
#ifndef NCC_HLO_HOST_CALLS_H
#define NCC_HLO_HOST_CALLS_H

#include <string.h>

#include "hlo.h"
#include "ncc_program.h"

static inline bool hlo_is_host_call(const Ncc__Hlo__Instruction *p)
{
	return !strcmp(p->opcode, "custom-call") && !strcmp(p->custom_call_target, NCC_HOST_TARGET);
}

/* The module's number of host calls. numbers: of their functions, 0 of one without; may be NULL */
unsigned int hlo_host_calls(const Ncc__Hlo__Module *m, uint64_t *numbers);
bool hlo_has_effects(const Ncc__Hlo__Module *m); /* has one of them an effect? */
int hlo_host_call(struct hlo_inst *in, struct hlo_value *v);

/*
 * What a loop's calls come after in each iteration: the last one of the iteration before. Begin
 * when the loop is made; pair adds a state and its next value to those of the loop's end if there
 * is a call; end when the end is made. Without calls in the module they do nothing.
 */
struct hlo_effects {
	struct ncc_op *before, *state;
};
int hlo_effects_begin(struct hlo_inst *in, struct ncc_op *loop, struct hlo_effects *e);
void hlo_effects_pair(struct hlo_inst *in, const struct hlo_effects *e, struct ncc_looping *l);
int hlo_effects_end(struct hlo_inst *in, const struct hlo_effects *e, struct ncc_op *end);

#endif
