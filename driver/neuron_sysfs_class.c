// SPDX-License-Identifier: GPL-2.0-only
/* Files of the class, /sys/class/neuron_device/: the UltraServer that the instance is a node of. */
#include <linux/device/class.h>
#include <linux/sysfs.h>

#include "neuron_compat.h"
#include "neuron_pod.h"
#include "neuron_sysfs.h"

#define CLASS_FILE(file)                                                                 \
	static ssize_t file##_show(NEURON_CLASS_ATTR_CONST struct class *class,          \
				   NEURON_CLASS_ATTR_CONST struct class_attribute *attr, \
				   char *buf)                                            \
	{                                                                                \
		return show_##file(buf);                                                 \
	}                                                                                \
	static CLASS_ATTR_RO(file)

static ssize_t show_node_id(char *buf, unsigned int nodes)
{
	struct neuron_pod pod;

	if (!neuron_pod_look_as(nodes, &pod))
		return sysfs_emit(buf, "busy\n");
	return sysfs_emit(buf, "%d\n", pod.node);
}

static ssize_t show_server_id(char *buf, unsigned int nodes)
{
	struct neuron_pod pod;

	return sysfs_emit(buf, "%016llx\n", neuron_pod_look_as(nodes, &pod) ? pod.server : 0);
}

static ssize_t show_ultraserver_mode(char *buf)
{
	struct neuron_pod pod;
	ssize_t n = 0;
	u32 mode;

	if (!neuron_pod_look_as(4, &pod))
		return sysfs_emit(buf, "busy\n");
	for (mode = 0; mode < 32; mode++)
		if (pod.modes & BIT(mode))
			n += sysfs_emit_at(buf, n, n ? ",%u" : "%u", mode);
	return n + sysfs_emit_at(buf, n, "\n");
}

#define show_node_id_2(buf) show_node_id(buf, 2)
#define show_node_id_4(buf) show_node_id(buf, 4)
#define show_server_id_2(buf) show_server_id(buf, 2)
#define show_server_id_4(buf) show_server_id(buf, 4)

CLASS_FILE(node_id_2);
CLASS_FILE(node_id_4);
CLASS_FILE(server_id_2);
CLASS_FILE(server_id_4);
CLASS_FILE(ultraserver_mode);

int neuron_sysfs_class(struct class *class)
{
	static const struct class_attribute *const files[] = {
		&class_attr_node_id_2,	 &class_attr_node_id_4,	       &class_attr_server_id_2,
		&class_attr_server_id_4, &class_attr_ultraserver_mode,
	};
	int ret = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(files) && !ret; i++)
		ret = class_create_file(class, files[i]);
	return ret;
}
