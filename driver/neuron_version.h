/* SPDX-License-Identifier: GPL-2.0-only */
/* The module's versions, as the public driver's programs ask for them. */
#ifndef NEURON_VERSION_H
#define NEURON_VERSION_H

#define NEURON_DRIVER_VERSION "2.24.7.0" /* the ABI's level, not the project's version */

#endif
