// SPDX-License-Identifier: MIT
/*
 * Functions that have nothing to do here: each is refused by its name, with the reason. None of
 * them is one that a framework must have.
 */
#include <stddef.h>

#include "pjrt.h"

#define UNSUPPORTED(name, why)                                                           \
	PJRT_Error *npj_##name(PJRT_##name##_Args *a)                                    \
	{                                                                                \
		return npj_error(PJRT_Error_Code_UNIMPLEMENTED, "PJRT_" #name " is not " \
								"supported: " why);      \
	}

/* Streams come with receive callbacks, which programs here do not have. */
#define STREAM "programs do not receive from the host"
UNSUPPORTED(CopyToDeviceStream_AddChunk, STREAM)
UNSUPPORTED(CopyToDeviceStream_TotalBytes, STREAM)
UNSUPPORTED(CopyToDeviceStream_GranuleSize, STREAM)
UNSUPPORTED(CopyToDeviceStream_CurrentBytes, STREAM)
UNSUPPORTED(Device_PoisonExecution, "programs that were submitted run to their end")
UNSUPPORTED(Device_CreateAsyncTrackingEvent, "nothing shows such events")
UNSUPPORTED(TopologyDescription_MakeCanonicalShapeForMemorySpace, "device memory is row-major, "
								  "a shape says nothing of it")

/* A handle that nobody can have: nothing to destroy, and no error for who tries */
PJRT_Error *npj_CopyToDeviceStream_Destroy(PJRT_CopyToDeviceStream_Destroy_Args *a)
{
	return NULL;
}

PJRT_Error *npj_AsyncTrackingEvent_Destroy(PJRT_AsyncTrackingEvent_Destroy_Args *a)
{
	return NULL;
}
