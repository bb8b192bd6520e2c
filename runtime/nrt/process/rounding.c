/* SPDX-License-Identifier: MIT */
/* Rounding of cores after the first generation: the environment's setting, and its word */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/isa/table.h"
#include "rt_context.h"
#include "rt_env.h"
#include "rt_log.h"
#include "rt_rounding.h"

#define FIRST_CORE 2 /* of the generations, the one whose instructions have it */

NRT_STATUS rt_rounding_read(const struct neuron_target *target, struct rt_rounding *rounding)
{
	static const char switched[] = "NEURON_RT_STOCHASTIC_ROUNDING_EN";
	const char *seed = secure_getenv("NEURON_RT_STOCHASTIC_ROUNDING_SEED");
	char *end;

	*rounding = (struct rt_rounding){ 0 };
	if (target->core < FIRST_CORE)
		return NRT_SUCCESS;
	if (rt_env_bool(switched, &rounding->stochastic) == -EINVAL)
		return rt_fail(NRT_INVALID, "NRT", "%s=%s: " RT_ENV_BOOL, switched,
			       secure_getenv(switched));
	if (seed && *seed) {
		errno = 0;
		rounding->seed = strtoull(seed, &end, 0);
		if (errno || *end || *seed < '0' || *seed > '9')
			return rt_fail(NRT_INVALID, "NRT",
				       "NEURON_RT_STOCHASTIC_ROUNDING_SEED=%s: "
				       "a number of at most 64 bits is expected",
				       seed);
	}
	return NRT_SUCCESS;
}

void rt_rounding_tell(const struct rt_core *core)
{
	if (rt.gen->target->core >= FIRST_CORE)
		rt_log(RT_LOG_INFO,
		       "Configuring stochastic rounding seed for device: %u, nc %u. seed: %llu",
		       core->device, core->nc, (unsigned long long)rt.rounding.seed);
}

bool rt_rounding_insn(const struct neuron_target *target, unsigned int engine, uint64_t seed,
		      struct neuron_insn *insn)
{
	const uint32_t narrows = ~(NEURON_ISA_ANY | NEURON_ISA_PE);

	if (!rt.rounding.stochastic || !(target->engine[engine].runs & narrows))
		return false;
	*insn = (struct neuron_insn){ .opcode = NEURON_OP_SET_ROUNDING,
				      .rounding = NEURON_ROUND_STOCHASTIC,
				      .seed = seed };
	return true;
}
