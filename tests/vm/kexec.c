/* SPDX-License-Identifier: MIT */
/*
 * kexec KERNEL INITRD CMDLINE: starts the guest's next kernel at once, without shutting this one
 * down.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int kernel, initrd;

	if (argc != 4)
		return 2;
	kernel = open(argv[1], O_RDONLY | O_CLOEXEC);
	initrd = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (kernel < 0 || initrd < 0 ||
	    syscall(SYS_kexec_file_load, kernel, initrd, strlen(argv[3]) + 1, argv[3], 0UL)) {
		perror("kexec");
		return 1;
	}
	reboot(0x45584543); /* LINUX_REBOOT_CMD_KEXEC */
	perror("reboot");
	return 1;
}
