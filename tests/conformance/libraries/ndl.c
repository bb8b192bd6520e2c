// SPDX-License-Identifier: MIT
/* Copies to a chip and back, in this process */
#include <neuron/ndl.h>

#include <stdio.h>

int main(void)
{
	struct ndl_mem_params params = { .size = 4096 };
	char there[] = "to the chip and back", back[sizeof(there)] = "";
	ndl_device_t *device;
	uint64_t handle;

	if (ndl_machine_set("emu:inf1.xlarge") || ndl_open_device(0, NULL, &device) ||
	    ndl_memory_alloc(device, &params, &handle) ||
	    ndl_memory_buf_copyin(device, handle, there, 0, sizeof(there)) ||
	    ndl_memory_buf_copyout(device, handle, back, 0, sizeof(back)) ||
	    ndl_memory_free(device, handle) || ndl_close_device(device) || ndl_machine_close())
		return 1;
	puts(back);
	return 0;
}
