; SPDX-License-Identifier: MIT
; Attention of one head: y = softmax(q k' / 8) v, of 512 queries and keys of 64. The scores of 128 queries live in PSUM and SBUF
; only, and the array turns what has to be turned.
.kernel attention
.input q fp32[512,64]
.input k fp32[512,64]
.input v fp32[512,64]
.output y fp32[512,64]
.sbuf rows 128 2*256
.sbuf queries 64 2048 ; q', k': a number of a row in each partition
.sbuf keys 64 2048
.sbuf values 128 4*256
.sbuf e 128 2048
.sbuf turned 128 2048
.sbuf result 128 256
.sbuf stat 128 8
.psum scores 128 2048
.psum turn 128 2*512
.psum acc 128 256
.for t 0 4
    dma p=128 from=q[{t*128*64}]:fp32[64:128,1:64] to=rows[0,0]:fp32[1:64]
    dma p=128 from=k[{t*128*64}]:fp32[64:128,1:64] to=rows[0,256]:fp32[1:64]
    dma p=128 from=v[{t*128*64}]:fp32[64:128,1:64] to=values[0,{t*256}]:fp32[1:64]
    tensor pe_transpose p=128 dst=turn[0,0]:fp32[1:128] src0=rows[0,0]:fp32[1:64]
    tensor pe_transpose p=128 dst=turn[0,512]:fp32[1:128] src0=rows[0,256]:fp32[1:64]
    vector tensor_copy p=64 dst=queries[0,{t*512}]:fp32[1:128] src0=turn[0,0]:fp32[1:128]
    vector tensor_copy p=64 dst=keys[0,{t*512}]:fp32[1:128] src0=turn[0,512]:fp32[1:128]
.end
.for i 0 4
    tensor ldweights p=64 src0=queries[0,{i*512}]:fp32[1:128]
    tensor matmul p=64 dst=scores[0,0]:fp32[1:512] src0=keys[0,0]:fp32[1:512]
    vector tensor_reduce p=128 dst=stat[0,0]:fp32[1:1] src0=scores[0,0]:fp32[1:512] op0=max reduce_dims=1 scale=0.125 negate
    scalar activate p=128 dst=e[0,0]:fp32[1:512] src0=scores[0,0]:fp32[1:512] func=exp scalar0=0.125 scalar1=@stat[0,0]:fp32 reduce_cmd=reset_reduce
    scalar act_read_acc p=128 dst=stat[0,4]:fp32[1:1]
    vector reciprocal p=128 dst=stat[0,4]:fp32[1:1] src0=stat[0,4]:fp32[1:1]
    .for t 0 4
        tensor pe_transpose p=128 dst=turn[0,{t%2*512}]:fp32[1:128] src0=e[0,{t*512}]:fp32[1:128]
        vector tensor_copy p=128 dst=turned[0,{t*512}]:fp32[1:128] src0=turn[0,{t%2*512}]:fp32[1:128]
    .end
    .for t 0 4
        tensor ldweights p=128 src0=turned[0,{t*512}]:fp32[1:128]
        .if t
            tensor matmul p=128 dst=acc[0,0]:fp32[1:64] src0=values[0,{t*256}]:fp32[1:64] accumulate
        .else
            tensor matmul p=128 dst=acc[0,0]:fp32[1:64] src0=values[0,{t*256}]:fp32[1:64]
        .end
    .end
    vector tensor_scalar p=128 dst=result[0,0]:fp32[1:64] src0=acc[0,0]:fp32[1:64] op0=mult scalar0=@stat[0,4]:fp32
    dma p=128 from=result[0,0]:fp32[1:64] to=y[{i*128*64}]:fp32[64:128,1:64]
.end
.end
