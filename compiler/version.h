/* SPDX-License-Identifier: MIT */
/* The compiler's version, in its --version, in info.json and in the NEFF header. */
#ifndef NCC_VERSION_H
#define NCC_VERSION_H

#define NCC_VERSION "0.1.0"

#endif
