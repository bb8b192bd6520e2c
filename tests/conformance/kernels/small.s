; SPDX-License-Identifier: MIT
; What kernels.py changes, piece by piece, so that it is refused
.kernel small
.input x fp32[16,8]
.output y fp32[16,8]
.sbuf s 16 32
.sbuf t 16 32 ; the instruction below is in line 10
.psum acc 16 32
dma p=16 from=x[0]:fp32[8:16,1:8] to=s[0,0]:fp32[1:8]
vector tensor_copy p=16 dst=t[0,0]:fp32[1:8] src0=s[0,0]:fp32[1:8]
; more
dma p=16 from=t[0,0]:fp32[1:8] to=y[0]:fp32[8:16,1:8]
.end
