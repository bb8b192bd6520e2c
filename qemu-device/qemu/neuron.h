/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Neuron devices: what the files of this directory share
 *
 * The chip itself is the core library (ncore.h); this layer gives it PCI, guest
 * memory, threads, trace, properties and migration. One NeuronState is one PCI
 * function is one chip. Locking: everything here runs under the big lock,
 * except the host callbacks (neuron-host.c), which the core may call from any
 * thread and which touch only fields that are constant after realize.
 */
#ifndef HW_MISC_NEURON_H
#define HW_MISC_NEURON_H

#include "hw/pci/pci.h"
#include "hw/pci/msix.h"
#include "qom/object.h"
#include "compat.h"

#include "ncore.h"
#include "peers.h"
#include "neuron/hw/firmware.h"
#include "neuron/hw/pci.h"
#include "neuron/hw/ext.h"

#define TYPE_NEURON_FABRIC "neuron-fabric"
OBJECT_DECLARE_SIMPLE_TYPE(NeuronFabric, NEURON_FABRIC)

#define TYPE_NEURON_POOL "neuron-pool"
OBJECT_DECLARE_SIMPLE_TYPE(NeuronPool, NEURON_POOL)

#define TYPE_NEURON_BASE "neuron-base"
OBJECT_DECLARE_TYPE(NeuronState, NeuronClass, NEURON_BASE)

#define TYPE_NEURON_INFERENTIA "neuron-inferentia"
#define TYPE_NEURON_INFERENTIA2 "neuron-inferentia2"
#define TYPE_NEURON_TRAINIUM "neuron-trainium"
#define TYPE_NEURON_TRAINIUM2 "neuron-trainium2"
#define TYPE_NEURON_TRAINIUM3 "neuron-trainium3"

/* DRAM, and SBUF and PSUM of each core */
#define NEURON_MEM_MAX (1 + 2 * NEURON_CORES_MAX)

typedef enum NeuronGuestErrorAction {
	NEURON_GUEST_ERROR_REPORT,
	NEURON_GUEST_ERROR_STOP_VM,
} NeuronGuestErrorAction;

/* A memory of the chip: one RAM block */
typedef struct NeuronMem {
	MemoryRegion mr;
	char *name;
	void *ptr;
} NeuronMem;

typedef struct NeuronBar {
	NeuronState *s;
	unsigned number;
	MemoryRegion mr;
} NeuronBar;

/* The differences of one chip generation from another */
struct NeuronClass {
	PCIDeviceClass parent_class;

	const struct neuron_gen *gen;
};

struct NeuronState {
	PCIDevice parent_obj;

	NeuronFabric *fabric;
	NeuronPool *pool;
	uint32_t slot;
	uint64_t dram_bar_size;
	uint64_t serial;
	uint32_t firmware_version;
	int32_t server_id;
	bool ring_id_check;
	bool nan_fill;
	NeuronGuestErrorAction on_guest_error;
	uint64_t sensor[NCORE_SENSOR_COUNT];
	char fault[NCORE_FAULT_COUNT][NCORE_FAULT_SPEC_MAX]; /* until realized */

	struct ncore_chip *chip;
	struct peers *peers; /* that the chip is shown to, or NULL */
	struct ncore_host_ops ops;
	bool paused;
	VMChangeStateEntry *vmstate_change;

	QEMUBH *irq_bh;
	uint32_t irq_raised; /* atomic: vectors the big lock has not seen yet */

	NeuronBar bar[PCI_ROM_SLOT];
	MemoryRegion dram[NEURON_MEMORIES_MAX]; /* what shows in the DRAM BAR */
	unsigned drams;
	NeuronMem mem[NEURON_MEM_MAX];

	uint8_t *saved;
	uint32_t saved_size;
};

static inline const struct neuron_gen *neuron_gen(NeuronState *s)
{
	return NEURON_BASE_GET_CLASS(s)->gen;
}

/* neuron-base.c */
/* the class of a generation's chips; called by its type's class_init */
void neuron_class_set_gen(ObjectClass *oc, const struct neuron_gen *gen, const char *desc);

/* neuron-fabric.c */
struct ncore_fabric *neuron_fabric_core(NeuronFabric *fabric);
unsigned neuron_fabric_first(NeuronFabric *fabric); /* slot of the VM's chip 0 */
bool neuron_fabric_has_peers(NeuronFabric *fabric);
/* The other nodes, once a chip of the generation is there; NULL with *errp */
struct peers *neuron_fabric_peers(NeuronFabric *fabric, const struct neuron_gen *gen,
				  Error **errp);
struct ncore_pool *neuron_pool_core(NeuronPool *pool);
NeuronPool *neuron_pool_default(Error **errp);

/* neuron-host.c */
void neuron_host_init(NeuronState *s);
MemoryRegion *neuron_host_find_mem(NeuronState *s, const void *ptr);

/* neuron-irq.c */
void neuron_irq_init(NeuronState *s);
bool neuron_irq_add_vectors(NeuronState *s, Error **errp);
void neuron_irq_fini(NeuronState *s);
bool neuron_irq_present(NeuronState *s);
void neuron_irq_raise(void *opaque, unsigned vector); /* any thread */
void neuron_irq_flush(NeuronState *s);
void neuron_irq_reset(NeuronState *s);

/* neuron-props.c */
void neuron_props_class_init(ObjectClass *oc);
void neuron_props_class_set_gen(ObjectClass *oc, const struct neuron_gen *gen);

/* neuron-vmstate.c */
extern const VMStateDescription vmstate_neuron;
void neuron_vm_change_state(void *opaque, bool running, RunState state);

#endif
