// SPDX-License-Identifier: MIT
/* Copies to a chip and back, in this process */
#include <neuron/ndlx.h>

#include <stdio.h>

int main(void)
{
	struct ndlx_mem_params params = { .size = 4096 };
	char there[] = "to the chip and back", back[sizeof(there)] = "";
	ndlx_device_t *device;
	uint64_t handle;

	if (ndlx_machine_set("emu:inf1.xlarge") || ndlx_open_device(0, NULL, &device) ||
	    ndlx_memory_alloc(device, &params, &handle) ||
	    ndlx_memory_buf_copyin(device, handle, there, 0, sizeof(there)) ||
	    ndlx_memory_buf_copyout(device, handle, back, 0, sizeof(back)) ||
	    ndlx_memory_free(device, handle) || ndlx_close_device(device) || ndlx_machine_close())
		return 1;
	puts(back);
	return 0;
}
