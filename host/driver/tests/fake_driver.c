// A driver newer than cust, with seven functions. Its results say whether the arguments arrived.

typedef unsigned int u32;

u32 cuInit(u32 flags) { return flags == 0 ? 226 : 1; } // 226: newer than CUDA 11.4

u32 cuDriverGetVersion(int *version) {
    *version = 13020;
    return 0;
}

u32 cuModuleUnload(void *module) { return module ? 222 : 1; } // 222: in cust's enum, but cust has no name for it

u32 cuCtxSynchronize(void) { return 999; }

u32 cuGetErrorString(u32 code, const char **text) {
    *text = code == 600 ? "come back later" : 0;
    return code == 600 ? 0 : 1;
}

// Registers of the calling convention, then its stack.
u32 cuLaunchKernel(void *f, u32 gx, u32 gy, u32 gz, u32 bx, u32 by, u32 bz, u32 shared, void *stream, void **params,
                   void **extra) {
    return f == (void *)1 && gx == 2 && gy == 3 && gz == 4 && bx == 5 && by == 6 && bz == 7 && shared == 8 &&
                   stream == (void *)9 && params == (void *)10 && extra == (void *)11
               ? 0
               : 1;
}

u32 cuStreamQuery(void *stream) { return stream ? 600 : 719; }
