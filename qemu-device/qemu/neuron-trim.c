/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * -object neuron-trim: what only the boot needed goes back to the host
 *
 * Under TCG most of QEMU's own memory is code that it translated, nearly all
 * of it while the guest booted; then come the images of kernel and initramfs.
 * Once the whole process has been idle for a while, that code is dropped; what
 * runs next is translated again, which costs some milliseconds. The patches of
 * QEMU's own files have the other half: a flush hands the pages of the
 * translation buffer back, and the kernel's image is a mapping of its file.
 * Without TCG the object does nothing.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qemu/madvise.h"
#include "qemu/module.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "qom/object_interfaces.h"
#include "hw/boards.h"
#include "tcg/tcg.h"
#include "compat.h"

#define TYPE_NEURON_TRIM "neuron-trim"
OBJECT_DECLARE_SIMPLE_TYPE(NeuronTrim, NEURON_TRIM)

#define NEURON_TRIM_SECONDS 5
#define NEURON_TRIM_SECONDS_MAX 3600

/* Idle: this part of one processor at most; worth it: this much code at least */
#define NEURON_TRIM_IDLE_SHARE 10
#define NEURON_TRIM_CODE_MIN (8 * MiB)

struct NeuronTrim {
    Object parent_obj;

    uint32_t seconds;
    QEMUTimer *timer;
    int64_t cpu_ns;
};

static int64_t neuron_trim_cpu_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return ts.tv_sec * NANOSECONDS_PER_SECOND + ts.tv_nsec;
}

/* Pages of the read-only mappings of a file; who reads them again has them read again */
static void neuron_trim_file(const char *name)
{
    g_autofree char *path = name ? realpath(name, NULL) : NULL;
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;

    if (!path || !g_file_get_contents("/proc/self/maps", &text, NULL, NULL)) {
        return;
    }
    lines = g_strsplit(text, "\n", 0);
    for (char **line = lines; *line; line++) {
        const char *file = strchr(*line, '/');
        uintptr_t start, end;

        if (file && !strcmp(file, path) &&
            sscanf(*line, "%" SCNxPTR "-%" SCNxPTR " r--", &start, &end) == 2) {
            qemu_madvise((void *)start, end - start, QEMU_MADV_DONTNEED);
        }
    }
}

static void neuron_trim_arm(NeuronTrim *t)
{
    timer_mod(t->timer, qemu_clock_get_ms(QEMU_CLOCK_REALTIME) +
                        t->seconds * 1000);
}

static void neuron_trim_tick(void *opaque)
{
    NeuronTrim *t = opaque;
    int64_t now = neuron_trim_cpu_ns();
    int64_t used = now - t->cpu_ns;

    if (!tcg_enabled()) {
        return;
    }
    t->cpu_ns = now;
    if (first_cpu && tcg_code_size() >= NEURON_TRIM_CODE_MIN &&
        used < t->seconds * NANOSECONDS_PER_SECOND / NEURON_TRIM_IDLE_SHARE) {
        queue_tb_flush(first_cpu);
        neuron_trim_file(current_machine->kernel_filename);
        neuron_trim_file(current_machine->initrd_filename);
    }
    neuron_trim_arm(t);
}

static void neuron_trim_get_seconds(Object *obj, Visitor *v, const char *name,
                                    void *opaque, Error **errp)
{
    visit_type_uint32(v, name, &NEURON_TRIM(obj)->seconds, errp);
}

static void neuron_trim_set_seconds(Object *obj, Visitor *v, const char *name,
                                    void *opaque, Error **errp)
{
    uint32_t value;

    if (!visit_type_uint32(v, name, &value, errp)) {
        return;
    }
    if (!value || value > NEURON_TRIM_SECONDS_MAX) {
        error_setg(errp, "seconds: 1 to %d expected", NEURON_TRIM_SECONDS_MAX);
        return;
    }
    NEURON_TRIM(obj)->seconds = value;
}

static void neuron_trim_complete(UserCreatable *uc, Error **errp)
{
    NeuronTrim *t = NEURON_TRIM(uc);

    /* objects come before the accelerator: the first tick sees which it is */
    t->timer = timer_new_ms(QEMU_CLOCK_REALTIME, neuron_trim_tick, t);
    neuron_trim_arm(t);
}

static void neuron_trim_init(Object *obj)
{
    NEURON_TRIM(obj)->seconds = NEURON_TRIM_SECONDS;
}

static void neuron_trim_finalize(Object *obj)
{
    timer_free(NEURON_TRIM(obj)->timer);
}

static void neuron_trim_class_init(ObjectClass *oc, NeuronClassData *data)
{
    UserCreatableClass *ucc = USER_CREATABLE_CLASS(oc);

    ucc->complete = neuron_trim_complete;
    object_class_property_add(oc, "seconds", "uint32", neuron_trim_get_seconds,
                              neuron_trim_set_seconds, NULL, NULL);
    object_class_property_set_description(oc, "seconds",
        "idle time before translated code is dropped (default 5)");
}

static const TypeInfo neuron_trim_types[] = {
    {
        .name = TYPE_NEURON_TRIM,
        .parent = TYPE_OBJECT,
        .instance_size = sizeof(NeuronTrim),
        .instance_init = neuron_trim_init,
        .instance_finalize = neuron_trim_finalize,
        .class_init = neuron_trim_class_init,
        .interfaces = (InterfaceInfo[]) { { TYPE_USER_CREATABLE }, { } },
    },
};

DEFINE_TYPES(neuron_trim_types)
