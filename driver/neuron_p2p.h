/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What other kernel modules (network cards) may ask of this one: the bus addresses behind a mapping
 * of device memory. Names and layout are the public driver's; such modules find the functions with
 * symbol_get().
 */
#ifndef NEURON_P2P_H
#define NEURON_P2P_H

#include <linux/types.h>

struct neuron_device;

struct neuron_p2p_page_info {
	u64 physical_address; /* on the bus, aligned to the page size */
	u32 page_count;
};

struct neuron_p2p_va_info {
	void *virtual_address;
	u64 size; /* bytes */
	u32 shift_page_size; /* log2 of the page size: 12 or 21 */
	u32 device_index;
	u32 entries;
	struct neuron_p2p_page_info page_info[];
};

int neuron_p2p_register_va(u64 virtual_address, u64 length, struct neuron_p2p_va_info **vainfo,
			   void (*free_callback)(void *data), void *data);
int neuron_p2p_unregister_va(struct neuron_p2p_va_info *vainfo);

/* Called once by the module, while it starts */
void neuron_p2p_init(void);
/* Whoever registered addresses of the device is told that they are no longer to be used */
void neuron_p2p_removed(struct neuron_device *nd);

#endif
