; SPDX-License-Identifier: MIT
; Kernels by hand. docs/compiler.md, Kernels, has the form; docs/isa.md what the instructions do.

; y = softmax(x) of each row, 128 rows at a time: a row is a partition. Two tiles take turns, so that
; one is loaded and stored while the engines work on the other.
.kernel softmax
.input x fp32[256,512]
.output y fp32[256,512]
.set bytes 512*4
.sbuf tile 128 2*bytes
.sbuf stat 128 2*8
.for i 0 2
    dma p=128 from=x[{i*128*512}]:fp32[512:128,1:512] to=tile[0,{i*bytes}]:fp32[1:512]
    ; minus the greatest, so that no exponential overflows
    vector tensor_reduce p=128 dst=stat[0,{i*8}]:fp32[1:1] src0=tile[0,{i*bytes}]:fp32[1:512] op0=max reduce_dims=1 negate
    ; e^(x - greatest), and the sums of the rows in the accumulators
    scalar activate p=128 dst=tile[0,{i*bytes}]:fp32[1:512] src0=tile[0,{i*bytes}]:fp32[1:512] func=exp scalar0=1 scalar1=@stat[0,{i*8}]:fp32 reduce_cmd=reset_reduce
    scalar act_read_acc p=128 dst=stat[0,{i*8+4}]:fp32[1:1]
    vector reciprocal p=128 dst=stat[0,{i*8+4}]:fp32[1:1] src0=stat[0,{i*8+4}]:fp32[1:1]
    vector tensor_scalar p=128 dst=tile[0,{i*bytes}]:fp32[1:512] src0=tile[0,{i*bytes}]:fp32[1:512] op0=mult scalar0=@stat[0,{i*8+4}]:fp32
    dma p=128 from=tile[0,{i*bytes}]:fp32[1:512] to=y[{i*128*512}]:fp32[512:128,1:512]
.end
.end

; The eight greatest numbers of each row, in descending order, and where they are: two results.
; max8 and find_index8 are NeuronCore-v2's.
.kernel top8
.input x fp32[128,512]
.output values fp32[128,8]
.output places uint32[128,8]
.sbuf tile 128 512*4
.sbuf best 128 8*4
.sbuf index 128 8*4
dma p=128 from=x[0]:fp32[512:128,1:512] to=tile[0,0]:fp32[1:512]
vector max8 p=128 dst=best[0,0]:fp32[1:8] src0=tile[0,0]:fp32[1:512]
vector find_index8 p=128 dst=index[0,0]:uint32[1:8] src0=tile[0,0]:fp32[1:512] src1=best[0,0]:fp32[1:8]
dma p=128 from=best[0,0]:fp32[1:8] to=values[0]:fp32[8:128,1:8]
dma p=128 from=index[0,0]:uint32[1:8] to=places[0]:uint32[8:128,1:8]
.end
