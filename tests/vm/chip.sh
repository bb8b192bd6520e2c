# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# What the chips of a guest are, for tests that run on each type: numbers of docs/hardware.md, written down once
# more. All chips of a guest are of one type.
# arch, cores, memories: the public architecture number, how many there are of each
# copy: engine and queue of the module's copies on core 0
# ready: device address and value of the word that says the chip is ready
# small: device address of the first small chunk in memory 0, as the module gives it out
# links: whether a register says which links are up
# look: a file of a node's directory whose reading asks the chip; looks: what nd0's says
case $(cat /sys/class/neuron_device/neuron0/device/device) in
0x7064) arch=1 cores=4 memories=2 copy='2 15' ready='0xffff078e01c 0x8000000[0-3]' small=0x0 links=yes look=info/link_east looks=1 ;;
0x7164 | 0x7264) arch=2 cores=2 memories=2 copy='32 0' ready='0xffff0fa0808 0' small=0x3c0000000 links= look=stats/hardware/sram_ecc_uncorrected looks=0 ;;
0x7364) arch=3 cores=8 memories=4 copy='128 0' ready='0x8006c84808 0' small=0x5c0000000 links= look=stats/hardware/sram_ecc_uncorrected looks=0 ;;
esac
read -r copy_engine copy_queue <<<"$copy"
chips=$(echo /sys/class/neuron_device/neuron[0-9]* | wc -w)

# address CHIP: on PCI, as long as it is bound
address() { basename "$(readlink "/sys/class/neuron_device/neuron$1/device")"; }
