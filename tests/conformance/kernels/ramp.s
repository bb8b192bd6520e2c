; SPDX-License-Identifier: MIT
; Without operands: element j of row i is 200 i + j
.kernel ramp
.output y int32[128,200]
.sbuf tile 128 800
gpsimd iota p=128 dst=tile[0,0]:int32[1:200] pattern=0,200[0:1,0:1,0:1,1:200]
dma p=128 from=tile[0,0]:int32[1:200] to=y[0]:int32[200:128,1:200]
.end
