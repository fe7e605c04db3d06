// CUB's reductions behind one C function, which `peers.py` builds and calls.

#include <cub/cub.cuh>
#include <cuda/std/functional>
#include <cuda_bf16.h>
#include <cstring>

extern "C" int cub_version() { return CUB_VERSION; }
extern "C" int cuda_version() { return CUDART_VERSION; }

// Enqueues what `name` says. Without scratch it only tells how many bytes of it are needed.
// Segments have `n + 1` offsets. The answer of an argmax is an index, and behind it is the element; those of segments are pairs of both.
extern "C" int reduce(const char* name, void* scratch, size_t* bytes, const void* x, void* answer, long long n,
                      const long long* offsets, cudaStream_t stream) {
    auto is = [&](const char* other) { return std::strcmp(name, other) == 0; };
    auto f32 = static_cast<const float*>(x);
    auto f64 = static_cast<const double*>(x);
    auto bf16 = static_cast<const __nv_bfloat16*>(x);
    auto f32_answer = static_cast<float*>(answer);
    auto f64_answer = static_cast<double*>(answer);
    auto index = static_cast<long long*>(answer);
    auto element = reinterpret_cast<float*>(index + 1);
    if (is("sum f32")) return cub::DeviceReduce::Sum(scratch, *bytes, f32, f32_answer, n, stream);
    if (is("sum f64")) return cub::DeviceReduce::Sum(scratch, *bytes, f64, f64_answer, n, stream);
    if (is("sum bf16"))
        return cub::DeviceReduce::Reduce(scratch, *bytes, bf16, f32_answer, n, cuda::std::plus<float>{}, 0.0f, stream);
    if (is("max f32")) return cub::DeviceReduce::Max(scratch, *bytes, f32, f32_answer, n, stream);
    if (is("argmax f32")) return cub::DeviceReduce::ArgMax(scratch, *bytes, f32, element, index, n, stream);
    if (is("sum i8")) {
        auto i8 = static_cast<const signed char*>(x);
        auto i32_answer = static_cast<int*>(answer);
        return cub::DeviceReduce::Reduce(scratch, *bytes, i8, i32_answer, n, cuda::std::plus<int>{}, 0, stream);
    }
    auto ends = offsets + 1;
    using Segmented = cub::DeviceSegmentedReduce;
    if (is("segments sum f32")) return Segmented::Sum(scratch, *bytes, f32, f32_answer, n, offsets, ends, stream);
    if (is("segments max f32")) return Segmented::Max(scratch, *bytes, f32, f32_answer, n, offsets, ends, stream);
    if (is("segments argmax f32")) {
        auto pairs = static_cast<cub::KeyValuePair<int, float>*>(answer);
        return Segmented::ArgMax(scratch, *bytes, f32, pairs, n, offsets, ends, stream);
    }
    if (is("segments sum bf16"))
        return Segmented::Reduce(scratch, *bytes, bf16, f32_answer, n, offsets, ends, cuda::std::plus<float>{}, 0.0f, stream);
    return cudaErrorInvalidValue;
}
