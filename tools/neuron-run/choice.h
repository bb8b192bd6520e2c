/* SPDX-License-Identifier: MIT */
/* Which device neuron-run takes when it is not told */
#ifndef NEURON_RUN_CHOICE_H
#define NEURON_RUN_CHOICE_H

#define CHOICE_EMU "emu:inf1.xlarge" /* where there is no device */

/*
 * "emu:" and NEURON_EMU's instance; of /dev/neuron* the first that nobody uses, or the first;
 * CHOICE_EMU where there is none. The text lives as long as the process.
 */
const char *choose_default(void);

#endif
