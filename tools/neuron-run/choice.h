/* SPDX-License-Identifier: MIT */
/* Which device neuron-run takes when it is not told, and who holds one that it did not get. */
#ifndef NEURON_RUN_CHOICE_H
#define NEURON_RUN_CHOICE_H

#define CHOICE_EMU "emu:inf1.xlarge" /* where there is no device */

/*
 * "emu:" and NEURON_EMU's instance; of /dev/neuron* the first that nobody uses, or the first;
 * CHOICE_EMU where there is none. The text lives as long as the process.
 */
const char *choose_default(void);
/* Says on stderr which processes use the device "ndN"; nothing of another kind of device */
void explain_holders(const char *device);

#endif
