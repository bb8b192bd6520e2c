/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Properties of the Neuron devices, all in one list:
 *
 *   fabric, slot      place among the other chips (-object neuron-fabric)
 *   pool              worker threads (-object neuron-pool)
 *   dram-bar-size     how much of the DRAM its BAR shows
 *   serial            serial number that the neighbours read
 *   firmware-version  what the firmware says it is, and what follows from it
 *   server-id         number of the server, where chips tell it
 *   ring-id-check     refuse DMA descriptors of another lap
 *   nan-fill          what SBUF and PSUM hold after a reset
 *   on-guest-error    report, or stop the VM
 *   sensor-*          sensors and error counters the mailbox shows (writable)
 *   fault-*           fault injection (writable): neuron/hw/faults.def
 *   faults-fired      how often each has struck (read only)
 *   guest-errors-*    what the guest did wrong (read only)
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qemu/cutils.h"
#include "hw/qdev-properties.h"
#include "neuron.h"

static NEURON_PROPERTY neuron_properties[] = {
    DEFINE_PROP_LINK("fabric", NeuronState, fabric, TYPE_NEURON_FABRIC,
                     NeuronFabric *),
    DEFINE_PROP_LINK("pool", NeuronState, pool, TYPE_NEURON_POOL,
                     NeuronPool *),
    DEFINE_PROP_UINT32("slot", NeuronState, slot, 0),
    DEFINE_PROP_UNSIGNED_NODEFAULT("dram-bar-size", NeuronState, dram_bar_size,
                                   qdev_prop_size, uint64_t),
    DEFINE_PROP_UINT64("serial", NeuronState, serial, 0),
    DEFINE_PROP_UNSIGNED_NODEFAULT("firmware-version", NeuronState,
                                   firmware_version, qdev_prop_uint32,
                                   uint32_t),
    DEFINE_PROP_INT32("server-id", NeuronState, server_id, -1),
    DEFINE_PROP_BOOL("ring-id-check", NeuronState, ring_id_check, true),
    DEFINE_PROP_BOOL("nan-fill", NeuronState, nan_fill, false),
    NEURON_PROPERTY_END
};

static const struct {
    const char *name;
    const char *description;
} neuron_descriptions[] = {
    { "fabric", "id of the neuron-fabric that links this chip to others" },
    { "pool", "id of the neuron-pool whose threads run this chip "
              "(default: one pool for all)" },
    { "slot", "place in the fabric, from 0" },
    { "dram-bar-size", "bytes of device DRAM that its BAR shows, a power of "
                       "two (default: all; the DRAM itself has its size, "
                       "sparse)" },
    { "serial", "serial number that neighbours read (0: made from the slot)" },
    { "firmware-version", "1 to 7: power is read from 3 on, words of errors "
                          "change with 6, 7 has a mailbox in registers "
                          "(default: 3 on Inferentia, 5 on later chips)" },
    { "server-id", "0 to 32767: number of the server that the chip tells "
                   "(later chips; -1, the default: none)" },
    { "ring-id-check", "refuse DMA descriptors whose ring id is not the "
                       "queue's" },
    { "nan-fill", "fill SBUF and PSUM with NaN on reset instead of zero" },
};

static const struct {
    const char *name;
    const char *description;
} neuron_sensors[NCORE_SENSOR_COUNT] = {
    [NCORE_SENSOR_SRAM_ECC_CORR] = {
        "sensor-sram-ecc-corrected", "corrected SRAM errors" },
    [NCORE_SENSOR_SRAM_ECC_UNCORR] = {
        "sensor-sram-ecc-uncorrected", "uncorrected SRAM errors" },
    [NCORE_SENSOR_POWER_BP] = {
        "sensor-power", "power utilisation in basis points, 0 to 10000" },
};

static const struct {
    const char *name;
    const char *description;
} neuron_errors[NCORE_GE_COUNT] = {
    [NCORE_GE_UNDEFINED] = {
        "guest-errors-undefined", "acts whose effect nobody defines" },
    [NCORE_GE_UNSUPPORTED] = {
        "guest-errors-unsupported", "acts this generation does not have" },
    [NCORE_GE_UNIMPLEMENTED] = {
        "guest-errors-unimplemented", "acts the model does not have yet" },
    [NCORE_GE_IMPL_DEFINED] = {
        "guest-errors-implementation-defined", "acts where our choice decides" },
};

static const char *const neuron_guest_error_names[] = {
    [NEURON_GUEST_ERROR_REPORT] = "report",
    [NEURON_GUEST_ERROR_STOP_VM] = "stop-vm",
};

static const QEnumLookup neuron_guest_error_lookup = {
    .array = neuron_guest_error_names,
    .size = ARRAY_SIZE(neuron_guest_error_names),
};

static int neuron_get_guest_error(Object *obj, Error **errp)
{
    return NEURON_BASE(obj)->on_guest_error;
}

static void neuron_set_guest_error(Object *obj, int value, Error **errp)
{
    NEURON_BASE(obj)->on_guest_error = value;
}

static void neuron_get_sensor(Object *obj, Visitor *v, const char *name,
                              void *opaque, Error **errp)
{
    NeuronState *s = NEURON_BASE(obj);
    uintptr_t i = (uintptr_t)opaque;
    uint64_t value = s->chip ? ncore_sensor_get(s->chip, i) : s->sensor[i];

    visit_type_uint64(v, name, &value, errp);
}

static void neuron_set_sensor(Object *obj, Visitor *v, const char *name,
                              void *opaque, Error **errp)
{
    NeuronState *s = NEURON_BASE(obj);
    uintptr_t i = (uintptr_t)opaque;
    uint64_t value;

    if (!visit_type_uint64(v, name, &value, errp)) {
        return;
    }
    s->sensor[i] = value;
    if (s->chip) {
        ncore_sensor_set(s->chip, i, value);
    }
}

static void neuron_get_errors(Object *obj, Visitor *v, const char *name,
                              void *opaque, Error **errp)
{
    NeuronState *s = NEURON_BASE(obj);
    uint64_t value = 0;

    if (s->chip) {
        value = ncore_guest_errors(s->chip, (uintptr_t)opaque);
    }
    visit_type_uint64(v, name, &value, errp);
}

static char *neuron_fault_property(enum ncore_fault fault)
{
    return g_strdup_printf("fault-%s", ncore_fault_name(fault));
}

static void neuron_get_fault(Object *obj, Visitor *v, const char *name,
                             void *opaque, Error **errp)
{
    NeuronState *s = NEURON_BASE(obj);
    uintptr_t i = (uintptr_t)opaque;
    char spec[NCORE_FAULT_SPEC_MAX] = "off";
    char *p = spec;

    if (s->chip) {
        ncore_fault_get(s->chip, i, spec);
    } else if (s->fault[i][0]) {
        pstrcpy(spec, sizeof(spec), s->fault[i]);
    }
    visit_type_str(v, name, &p, errp);
}

static void neuron_set_fault(Object *obj, Visitor *v, const char *name,
                             void *opaque, Error **errp)
{
    NeuronState *s = NEURON_BASE(obj);
    uintptr_t i = (uintptr_t)opaque;
    char *spec;

    if (!visit_type_str(v, name, &spec, errp)) {
        return;
    }
    if (strlen(spec) >= NCORE_FAULT_SPEC_MAX ||
        (s->chip ? ncore_fault_set(s->chip, i, spec)
                 : ncore_fault_check(neuron_gen(s), i, spec)) < 0) {
        error_setg(errp, "%s: \"%s\" is no specification of this fault", name,
                   spec);
    } else {
        pstrcpy(s->fault[i], sizeof(s->fault[i]), spec);
    }
    g_free(spec);
}

static char *neuron_get_fired(Object *obj, Error **errp)
{
    NeuronState *s = NEURON_BASE(obj);
    GString *text = g_string_new(NULL);
    int i;

    for (i = 0; s->chip && i < NCORE_FAULT_COUNT; i++) {
        uint64_t n = ncore_fault_fired(s->chip, i);

        if (n) {
            g_string_append_printf(text, "%s%s=%" PRIu64, text->len ? " " : "",
                                   ncore_fault_name(i), n);
        }
    }
    return g_string_free(text, false);
}

static void neuron_add_faults(ObjectClass *oc)
{
    uintptr_t i;

    for (i = 0; i < NCORE_FAULT_COUNT; i++) {
        g_autofree char *name = neuron_fault_property(i);

        object_class_property_add(oc, name, "str", neuron_get_fault,
                                  neuron_set_fault, NULL, (void *)i);
        object_class_property_set_description(oc, name, ncore_fault_text(i));
    }
    object_class_property_add_str(oc, "faults-fired", neuron_get_fired, NULL);
    object_class_property_set_description(oc, "faults-fired",
        "how often each fault has struck");
}

static void neuron_add_sensor(ObjectClass *oc, const char *name,
                              const char *description, uintptr_t i)
{
    object_class_property_add(oc, name, "uint64", neuron_get_sensor,
                              neuron_set_sensor, NULL, (void *)i);
    object_class_property_set_description(oc, name, description);
}

/* Properties of a class by its generation: errors of each memory */
void neuron_props_class_set_gen(ObjectClass *oc, const struct neuron_gen *gen)
{
    static const char *const kind[] = { "corrected", "uncorrected" };
    unsigned int m, i;

    for (m = 0; m < gen->memories; m++) {
        for (i = 0; i < ARRAY_SIZE(kind); i++) {
            g_autofree char *name = g_strdup_printf("sensor-dram%u-ecc-%s", m,
                                                    kind[i]);
            g_autofree char *text = g_strdup_printf("%s errors, DRAM channel "
                                                    "%u", kind[i], m);

            neuron_add_sensor(oc, name, text, NCORE_SENSOR_DRAM(m, i));
        }
        if (gen->repairs) {
            g_autofree char *name = g_strdup_printf("sensor-dram%u-ecc-"
                                                    "repairable", m);
            g_autofree char *text = g_strdup_printf("uncorrected errors that "
                                                    "can be repaired, DRAM "
                                                    "channel %u", m);

            neuron_add_sensor(oc, name, text, NCORE_SENSOR_DRAM_REPAIRABLE(m));
        }
    }
    if (gen->repairs) {
        neuron_add_sensor(oc, "sensor-dram-repair", "repair of DRAM: 0 none, 1 "
                          "pending, 2 failed", NCORE_SENSOR_REPAIR);
    }
}

void neuron_props_class_init(ObjectClass *oc)
{
    uintptr_t i;

    device_class_set_props(DEVICE_CLASS(oc), neuron_properties);
    for (i = 0; i < ARRAY_SIZE(neuron_descriptions); i++) {
        object_class_property_set_description(oc, neuron_descriptions[i].name,
                                              neuron_descriptions[i].description);
    }
    object_class_property_add_enum(oc, "on-guest-error", "NeuronGuestErrorAction",
                                   &neuron_guest_error_lookup,
                                   neuron_get_guest_error,
                                   neuron_set_guest_error);
    object_class_property_set_description(oc, "on-guest-error",
        "report (default): count, log and trace; stop-vm: pause the VM too");
    for (i = 0; i < NCORE_SENSOR_COUNT; i++) {
        if (neuron_sensors[i].name) {
            neuron_add_sensor(oc, neuron_sensors[i].name,
                              neuron_sensors[i].description, i);
        }
    }
    neuron_add_faults(oc);
    for (i = 0; i < NCORE_GE_COUNT; i++) {
        object_class_property_add(oc, neuron_errors[i].name, "uint64",
                                  neuron_get_errors, NULL, NULL, (void *)i);
        object_class_property_set_description(oc, neuron_errors[i].name,
                                              neuron_errors[i].description);
    }
}
