"""A real model server for `./test soak`: llama.cpp with the model that it is given, on loopback, one thread.

Its first line on stdout is its address. It ends when its standard input does, so that it never outlives the test. Greedy
and without a cache of prompts, so that the same question costs the same tokens each time; so small a model repeats itself
for ever unless it is held off.
"""

import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_ctx = 8192
params.n_parallel = 1
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.cache_prompt = False
params.sampling.temp = 0.0
params.sampling.seed = 1
params.sampling.penalty_repeat = 1.15
params.endpoint_metrics = True
params.endpoint_slots = True
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
