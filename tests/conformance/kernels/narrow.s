; SPDX-License-Identifier: MIT
; y = x + 1, with areas that leave little of SBUF and use all of PSUM; their last bytes are written
.kernel wide
.input x fp32[128,2048]
.output y fp32[128,2048]
.sbuf tile 128 8192
.sbuf rest 128 100*1024-8192
.psum all 128 16384
vector memset p=128 dst=rest[0,0]:fp32[1:23552] scalar0=7
.for bank 0 8
    vector memset p=128 dst=all[0,{bank*2048}]:fp32[1:512] scalar0=9
.end
dma p=128 from=x[0]:fp32[2048:128,1:2048] to=tile[0,0]:fp32[1:2048]
vector tensor_scalar p=128 dst=tile[0,0]:fp32[1:2048] src0=tile[0,0]:fp32[1:2048] op0=add scalar0=1
dma p=128 from=tile[0,0]:fp32[1:2048] to=y[0]:fp32[2048:128,1:2048]
.end
