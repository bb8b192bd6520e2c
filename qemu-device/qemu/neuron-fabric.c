/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * -object neuron-fabric: the links between chips
 * -object neuron-pool: the worker threads that chips share
 *
 * Both own one object of the core and are complete before the first device is
 * realized. Devices hold references, so neither goes away under a chip.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qemu/error-report.h"
#include "qemu/notify.h"
#include "qemu/module.h"
#include "qemu/rcu.h"
#include "qom/object_interfaces.h"
#include "neuron.h"

#define NEURON_SLOTS_MAX 64
#define NEURON_THREADS_MAX 256

struct NeuronFabric {
    Object parent_obj;

    char *topology;
    uint32_t slots;
    char *ultraserver; /* directory in which its nodes meet */
    uint32_t node;
    struct ncore_fabric *core;
    struct peers *peers;
    Notifier exit; /* of QEMU, which then frees no device */
};

struct NeuronPool {
    Object parent_obj;

    uint32_t threads;
    struct ncore_pool *core;
};

static char *neuron_fabric_get_topology(Object *obj, Error **errp)
{
    NeuronFabric *f = NEURON_FABRIC(obj);

    return g_strdup(f->topology ?: "line");
}

static void neuron_fabric_set_topology(Object *obj, const char *value,
                                       Error **errp)
{
    NeuronFabric *f = NEURON_FABRIC(obj);

    if (neuron_topology_find(value) < 0) {
        error_setg(errp, "topology '%s': line or ring expected (torus, "
                   "hypercube or all where chips have the ports)", value);
        return;
    }
    if (f->core) {
        error_setg(errp, "topology cannot change once the fabric exists");
        return;
    }
    g_free(f->topology);
    f->topology = g_strdup(value);
}

/* Numbers that are fixed once the object is complete; opaque is their offset */
static void neuron_get_u32(Object *obj, Visitor *v, const char *name,
                           void *opaque, Error **errp)
{
    visit_type_uint32(v, name, (void *)obj + (uintptr_t)opaque, errp);
}

static void neuron_fabric_set_slots(Object *obj, Visitor *v, const char *name,
                                    void *opaque, Error **errp)
{
    NeuronFabric *f = NEURON_FABRIC(obj);
    uint32_t value;

    if (!visit_type_uint32(v, name, &value, errp)) {
        return;
    }
    if (f->core || !value || value > NEURON_SLOTS_MAX) {
        error_setg(errp, "slots: 1 to %d, before the fabric exists",
                   NEURON_SLOTS_MAX);
        return;
    }
    f->slots = value;
}

static void neuron_fabric_set_node(Object *obj, Visitor *v, const char *name,
                                   void *opaque, Error **errp)
{
    NeuronFabric *f = NEURON_FABRIC(obj);
    uint32_t value;

    if (!visit_type_uint32(v, name, &value, errp)) {
        return;
    }
    if (f->core || value >= NEURON_ULTRASERVER_NODES) {
        error_setg(errp, "node: 0 to %d, before the fabric exists",
                   NEURON_ULTRASERVER_NODES - 1);
        return;
    }
    f->node = value;
}

static char *neuron_fabric_get_ultraserver(Object *obj, Error **errp)
{
    return g_strdup(NEURON_FABRIC(obj)->ultraserver ?: "");
}

static void neuron_fabric_set_ultraserver(Object *obj, const char *value,
                                          Error **errp)
{
    NeuronFabric *f = NEURON_FABRIC(obj);

    if (f->core) {
        error_setg(errp, "ultraserver cannot change once the fabric exists");
        return;
    }
    g_free(f->ultraserver);
    f->ultraserver = g_strdup(value);
}

/* Of an UltraServer the fabric has the chips of all nodes. */
static void neuron_fabric_complete(UserCreatable *uc, Error **errp)
{
    NeuronFabric *f = NEURON_FABRIC(uc);
    int topology = neuron_topology_find(f->topology ?: "line");
    bool whole = topology == NEURON_TOPOLOGY_ULTRASERVER;
    int ret;

    if (whole == !f->ultraserver || (whole && f->slots > PEERS_CHIPS_MAX)) {
        error_setg(errp, "topology ultraserver (up to %d slots in each node) "
                   "and the directory ultraserver=DIR go together",
                   PEERS_CHIPS_MAX);
        return;
    }
    ret = ncore_fabric_new(topology, whole ? f->slots * NEURON_ULTRASERVER_NODES
                                           : f->slots, &f->core);
    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot create the fabric");
    }
}

static void neuron_fabric_init(Object *obj)
{
    NEURON_FABRIC(obj)->slots = 16;
}

static void neuron_fabric_finalize(Object *obj)
{
    NeuronFabric *f = NEURON_FABRIC(obj);

    if (f->peers) {
        qemu_remove_exit_notifier(&f->exit);
        peers_free(f->peers);
    }
    if (f->core) {
        ncore_fabric_free(f->core);
    }
    g_free(f->topology);
    g_free(f->ultraserver);
}

static void neuron_fabric_class_init(ObjectClass *oc, NeuronClassData *data)
{
    UserCreatableClass *ucc = USER_CREATABLE_CLASS(oc);

    ucc->complete = neuron_fabric_complete;
    object_class_property_add_str(oc, "topology", neuron_fabric_get_topology,
                                  neuron_fabric_set_topology);
    object_class_property_set_description(oc, "topology",
        "line (default), ring, torus or others that the chips have the ports "
        "for; slot N's east neighbour is slot N + 1");
    object_class_property_add(oc, "slots", "uint32", neuron_get_u32,
                              neuron_fabric_set_slots, NULL,
                              (void *)offsetof(NeuronFabric, slots));
    object_class_property_set_description(oc, "slots",
        "places for chips (default 16)");
    object_class_property_add_str(oc, "ultraserver",
                                  neuron_fabric_get_ultraserver,
                                  neuron_fabric_set_ultraserver);
    object_class_property_set_description(oc, "ultraserver",
        "with topology=ultraserver: directory in which the QEMUs of its four "
        "nodes meet, this user's alone");
    object_class_property_add(oc, "node", "uint32", neuron_get_u32,
                              neuron_fabric_set_node, NULL,
                              (void *)offsetof(NeuronFabric, node));
    object_class_property_set_description(oc, "node",
        "which of them this is, 0 to 3");
}

struct ncore_fabric *neuron_fabric_core(NeuronFabric *fabric)
{
    return fabric ? fabric->core : NULL;
}

unsigned neuron_fabric_first(NeuronFabric *fabric)
{
    return fabric && fabric->ultraserver ? fabric->node * fabric->slots : 0;
}

bool neuron_fabric_has_peers(NeuronFabric *fabric)
{
    return fabric && fabric->ultraserver;
}

static void neuron_fabric_exit(Notifier *notifier, void *data)
{
    peers_leave(container_of(notifier, NeuronFabric, exit)->peers);
}

static void neuron_fabric_report(void *opaque, const char *line)
{
    info_report("neuron-fabric: %s", line);
}

/* The first chip says of which generation all are */
struct peers *neuron_fabric_peers(NeuronFabric *f,
                                  const struct neuron_gen *gen, Error **errp)
{
    struct peers_config config = {
        .path = f->ultraserver,
        .node = f->node,
        .nodes = NEURON_ULTRASERVER_NODES,
        .chips = f->slots,
        .gen = gen,
        .fabric = f->core,
        .report = neuron_fabric_report,
    };
    const char *reason = "";
    int ret;

    if (f->peers) {
        return f->peers;
    }
    ret = peers_new(&config, &f->peers, &reason);
    if (ret < 0) {
        error_setg_errno(errp, -ret, "%s: node %u: %s", f->ultraserver, f->node,
                         reason);
        return NULL;
    }
    f->exit.notify = neuron_fabric_exit;
    qemu_add_exit_notifier(&f->exit);
    return f->peers;
}

static void neuron_pool_set_threads(Object *obj, Visitor *v, const char *name,
                                    void *opaque, Error **errp)
{
    NeuronPool *p = NEURON_POOL(obj);
    uint32_t value;

    if (!visit_type_uint32(v, name, &value, errp)) {
        return;
    }
    if (p->core || value > NEURON_THREADS_MAX) {
        error_setg(errp, "threads: 0 (the host's CPUs) to %d, "
                   "before the pool exists", NEURON_THREADS_MAX);
        return;
    }
    p->threads = value;
}

static void neuron_pool_thread_enter(void *opaque)
{
    rcu_register_thread();
}

static void neuron_pool_thread_leave(void *opaque)
{
    rcu_unregister_thread();
}

static void neuron_pool_complete(UserCreatable *uc, Error **errp)
{
    NeuronPool *p = NEURON_POOL(uc);
    struct ncore_pool_config config = {
        .threads = p->threads,
        .thread_enter = neuron_pool_thread_enter,
        .thread_leave = neuron_pool_thread_leave,
    };
    int ret = ncore_pool_new(&config, &p->core);

    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot create the worker pool");
    }
}

static void neuron_pool_finalize(Object *obj)
{
    NeuronPool *p = NEURON_POOL(obj);

    if (p->core) {
        ncore_pool_free(p->core);
    }
}

static void neuron_pool_class_init(ObjectClass *oc, NeuronClassData *data)
{
    UserCreatableClass *ucc = USER_CREATABLE_CLASS(oc);

    ucc->complete = neuron_pool_complete;
    object_class_property_add(oc, "threads", "uint32", neuron_get_u32,
                              neuron_pool_set_threads, NULL,
                              (void *)offsetof(NeuronPool, threads));
    object_class_property_set_description(oc, "threads",
        "worker threads (default 0: the host's CPUs)");
}

struct ncore_pool *neuron_pool_core(NeuronPool *pool)
{
    return pool->core;
}

/* The pool of all chips that name none; made when the first of them needs it */
NeuronPool *neuron_pool_default(Error **errp)
{
    static const char id[] = "neuron-default-pool";
    Object *root = object_get_objects_root();
    Object *obj = object_resolve_path_component(root, id);

    if (!obj) {
        obj = object_new_with_props(TYPE_NEURON_POOL, root, id, errp, NULL);
    }
    return obj ? NEURON_POOL(obj) : NULL;
}

static const TypeInfo neuron_fabric_types[] = {
    {
        .name = TYPE_NEURON_FABRIC,
        .parent = TYPE_OBJECT,
        .instance_size = sizeof(NeuronFabric),
        .instance_init = neuron_fabric_init,
        .instance_finalize = neuron_fabric_finalize,
        .class_init = neuron_fabric_class_init,
        .interfaces = (InterfaceInfo[]) { { TYPE_USER_CREATABLE }, { } },
    }, {
        .name = TYPE_NEURON_POOL,
        .parent = TYPE_OBJECT,
        .instance_size = sizeof(NeuronPool),
        .instance_finalize = neuron_pool_finalize,
        .class_init = neuron_pool_class_init,
        .interfaces = (InterfaceInfo[]) { { TYPE_USER_CREATABLE }, { } },
    },
};

DEFINE_TYPES(neuron_fabric_types)
