// Votes of nearest neighbours for many subsets of features at once.
//
// A block belongs to one subset and to THREADS queries, one for each thread. References (rows that may vote) are read in
// tiles into shared memory, and every thread computes the distances of its query to GROUP references at a time. A
// distance below the limit of the thread, which is the last of its nearest so far, is put into a buffer. When the buffer
// of some thread of a warp is nearly full, all of them are emptied into the sorted lists of the nearest. So the threads
// of a warp seldom wait for each other.
//
// The processor adds squared differences one by one and rounds each time. ROUNDED does the same here. Otherwise they
// are added by fused multiply-adds: two instructions for a feature instead of three, but rounded differently. Then the
// list has one more entry than neighbours vote. If its last two entries differ by more than rounding can explain, the
// set of voters is certain. If not, the query is listed in `doubtful`, and `settle` finds its voters with ROUNDED sums.
//
// Constants given by the compiler's options: K neighbours, THREADS, SIZE (the number of features of every subset, 0 if they
// differ), GROUP, TILE (a multiple of GROUP), BUFFER (more than GROUP), MANY (whether there are thousands of
// references), SETTLERS (threads for one doubtful query), ROUNDED, GROUPED, DROP_ZERO, REAL.

#define LIST (ROUNDED ? K : K + 1)
constexpr int unrolled = SIZE ? SIZE : 4;
#define INFINITE __int_as_float(0x7f800000)
#define WARP 0xffffffffu

struct Table {
    const float* columns;  // [features, padded]
    const float* targets;  // [outputs, rows]
    const int* groups;     // [rows]; not read without groups
    long long padded;
    int rows;
    int references;  // the first rows may vote
    int outputs;
};

__device__ __forceinline__ bool may_vote(const Table& table, int query, int reference, float distance) {
    if (reference == query) return false;
    if (DROP_ZERO && distance == 0.0f) return false;
    return !GROUPED || table.groups[reference] != table.groups[query];
}

// Whether one reference comes before another: by distance, then by row; none (-1) comes last.
__device__ __forceinline__ bool precedes(float distance, int reference, float other, int its) {
    return reference >= 0 && (its < 0 || distance < other || (distance == other && reference < its));
}

// Return a sum of squared differences with one more of them.
__device__ __forceinline__ float farther(float sum, float a, float b) {
    float difference = __fsub_rn(a, b);
    return ROUNDED ? __fadd_rn(sum, __fmul_rn(difference, difference)) : __fmaf_rn(difference, difference, sum);
}

// Put a reference into the sorted list. They come in the order of the rows: of equal distances the first one stays.
template <int N>
__device__ __forceinline__ void insert(float distance, int reference, float (&nearest)[N], int (&who)[N]) {
#pragma unroll
    for (int place = N - 1; place > 0; --place) {
        bool before = distance < nearest[place - 1], here = distance < nearest[place];
        who[place] = before ? who[place - 1] : (here ? reference : who[place]);
        nearest[place] = before ? nearest[place - 1] : (here ? distance : nearest[place]);
    }
    bool first = distance < nearest[0];
    who[0] = first ? reference : who[0];
    nearest[0] = first ? distance : nearest[0];
}

template <int N>
__device__ __forceinline__ void clear(float (&nearest)[N], int (&who)[N]) {
#pragma unroll
    for (int place = 0; place < N; ++place) {
        nearest[place] = INFINITE;
        who[place] = -1;
    }
}

// Write the sum of the targets of the first K of the list for each output; of real targets the mean.
template <int N>
__device__ __forceinline__ void write_sums(const Table& table, const int (&who)[N], float* sums) {
    for (int output = 0; output < table.outputs; ++output) {
        const float* target = table.targets + (long long)output * table.rows;
        double sum = 0.0;
        int found = 0;
#pragma unroll
        for (int place = 0; place < K; ++place) {
            if (who[place] >= 0) {
                sum += (double)target[who[place]];
                ++found;
            }
        }
        sums[output] = REAL ? (float)(sum / (found > 1 ? found : 1)) : (float)sum;
    }
}

// Grid: (blocks of queries, subsets). `sums` is [subsets, many, outputs].
extern "C" __global__ void __launch_bounds__(THREADS) votes(
    const Table* __restrict__ given, const int* __restrict__ subsets, const int* __restrict__ sizes, int widest,
    const int* __restrict__ queries, int many, float* __restrict__ sums, int* __restrict__ doubtful,
    int* __restrict__ count)
{
    const Table table = *given;
    extern __shared__ float4 shared[];
    const int thread = threadIdx.x, subset = blockIdx.y, size = SIZE ? SIZE : sizes[subset];
    float* tile = (float*)shared;                                       // [widest, TILE]
    float2* const held = (float2*)(tile + widest * TILE) + thread;      // [BUFFER, THREADS] distance, reference
    float* own = (float*)(held - thread + BUFFER * THREADS) + thread;   // [widest, THREADS]; not used if SIZE is known
    const int* chosen = subsets + (long long)subset * widest;
    const int place = blockIdx.x * THREADS + thread, query = queries[min(place, many - 1)];
    float values[SIZE ? SIZE : 1];
#pragma unroll unrolled
    for (int feature = 0; feature < size; ++feature) {
        float value = table.columns[chosen[feature] * table.padded + query];
        if (SIZE) values[SIZE ? feature : 0] = value;
        else own[feature * THREADS] = value;
    }
    float nearest[LIST], limit = INFINITE;
    int who[LIST];
    clear(nearest, who);
    float2* end = held;  // of what is held back
    float2* const full = held + (BUFFER - GROUP) * THREADS;

    auto empty = [&]() {
        for (const float2* next = held; next < end; next += THREADS) {
            float distance = next->x;
            int reference = __float_as_int(next->y);
            if (distance < nearest[LIST - 1] && may_vote(table, query, reference, distance))
                insert(distance, reference, nearest, who);
        }
        end = held;
        limit = nearest[LIST - 1];
    };

    for (int start = 0; start < table.references; start += TILE) {
        __syncthreads();
        for (int feature = 0; feature < size; ++feature) {
            const float* column = table.columns + chosen[feature] * table.padded;
            for (int number = thread; number < TILE; number += THREADS)
                tile[feature * TILE + number] = start + number < table.references ? column[start + number] : INFINITE;
        }
        __syncthreads();
        for (int first = 0; first < TILE; first += GROUP) {
            float distance[GROUP];
#pragma unroll
            for (int number = 0; number < GROUP; ++number) distance[number] = 0.0f;
#pragma unroll unrolled
            for (int feature = 0; feature < size; ++feature) {
                float mine = SIZE ? values[SIZE ? feature : 0] : own[feature * THREADS];
#pragma unroll
                for (int four = 0; four < GROUP; four += 4) {
                    float4 read = *(const float4*)(tile + feature * TILE + first + four);
                    distance[four] = farther(distance[four], read.x, mine);
                    distance[four + 1] = farther(distance[four + 1], read.y, mine);
                    distance[four + 2] = farther(distance[four + 2], read.z, mine);
                    distance[four + 3] = farther(distance[four + 3], read.w, mine);
                }
            }
            if (MANY) {  // most groups have nothing for any query of the warp
                float least = distance[0];
#pragma unroll
                for (int number = 1; number < GROUP; ++number) least = fminf(least, distance[number]);
                if (!__any_sync(WARP, least < limit)) continue;
            }
#pragma unroll
            for (int number = 0; number < GROUP; ++number) {
                if (distance[number] < limit) {
                    *end = make_float2(distance[number], __int_as_float(start + first + number));
                    end += THREADS;
                }
            }
            if (__any_sync(WARP, end > full)) empty();
        }
    }
    empty();
    if (place >= many) return;
    if (!ROUNDED && who[LIST - 1] >= 0) {
        float margin = nearest[K - 1] * ((2 * size + 16) * 1.1920929e-7f) + 1e-37f;
        if (nearest[LIST - 1] <= nearest[K - 1] + margin) {
            int number = atomicAdd(count, 1);
            doubtful[2 * number] = subset;
            doubtful[2 * number + 1] = place;
            return;
        }
    }
    write_sums(table, who, sums + ((long long)subset * many + place) * table.outputs);
}

// One block for each doubtful query: each thread takes every SETTLERS-th reference. Then the lists of the threads of a
// warp are merged, and those of the warps.
extern "C" __global__ void __launch_bounds__(SETTLERS) settle(
    const Table* __restrict__ given, const int* __restrict__ subsets, const int* __restrict__ sizes, int widest,
    const int* __restrict__ queries, int many, float* __restrict__ sums, const int* __restrict__ doubtful,
    const int* __restrict__ count)
{
    const Table table = *given;
    const int lane = threadIdx.x % 32, total = *count;
    __shared__ float best_of[SETTLERS / 32][K];
    __shared__ int voter_of[SETTLERS / 32][K];
    for (int item = blockIdx.x; item < total; item += gridDim.x) {
        const int subset = doubtful[2 * item], place = doubtful[2 * item + 1];
        const int size = sizes[subset], query = queries[place];
        const int* chosen = subsets + (long long)subset * widest;
        float nearest[K];
        int who[K];
        clear(nearest, who);
        for (int reference = threadIdx.x; reference < table.references; reference += SETTLERS) {
            float sum = 0.0f;
            for (int feature = 0; feature < size; ++feature) {
                const float* column = table.columns + chosen[feature] * table.padded;
                float difference = __fsub_rn(column[reference], column[query]);
                sum = __fadd_rn(sum, __fmul_rn(difference, difference));
            }
            if (sum < nearest[K - 1] && may_vote(table, query, reference, sum)) insert(sum, reference, nearest, who);
        }
        for (int rank = 0; rank < K; ++rank) {
            float best = nearest[0];
            int voter = who[0];
            for (int step = 16; step > 0; step /= 2) {
                float other = __shfl_xor_sync(WARP, best, step);
                int by = __shfl_xor_sync(WARP, voter, step);
                if (precedes(other, by, best, voter)) {
                    best = other;
                    voter = by;
                }
            }
            if (lane == 0) {
                best_of[threadIdx.x / 32][rank] = best;
                voter_of[threadIdx.x / 32][rank] = voter;
            }
            if (voter >= 0 && voter == who[0]) {
#pragma unroll
                for (int next = 1; next < K; ++next) {
                    nearest[next - 1] = nearest[next];
                    who[next - 1] = who[next];
                }
                nearest[K - 1] = INFINITE;
                who[K - 1] = -1;
            }
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            int taken[SETTLERS / 32] = {}, voters[K];
            for (int rank = 0; rank < K; ++rank) {
                int from = 0;
                for (int warp = 0; warp < SETTLERS / 32; ++warp) {
                    if (taken[warp] == K) continue;
                    if (taken[from] == K || precedes(best_of[warp][taken[warp]], voter_of[warp][taken[warp]],
                                                     best_of[from][taken[from]], voter_of[from][taken[from]]))
                        from = warp;
                }
                voters[rank] = voter_of[from][taken[from]++];
            }
            write_sums(table, voters, sums + ((long long)subset * many + place) * table.outputs);
        }
        __syncthreads();
    }
}

// How well votes rank the queries. Grid: subsets. `truth` [outputs, many] is 1 for queries of the class, 0 for others.
// `twice` [subsets, outputs] gets twice the number of pairs in the right order; a tie counts one half, or nothing.
extern "C" __global__ void ranked_votes(
    const float* __restrict__ sums, const unsigned char* __restrict__ truth, int many, int outputs, int half,
    long long* __restrict__ twice)
{
    __shared__ int below[K + 1], level[K + 1];
    for (int output = 0; output < outputs; ++output) {
        for (int vote = threadIdx.x; vote <= K; vote += blockDim.x) below[vote] = level[vote] = 0;
        __syncthreads();
        const float* mine = sums + (long long)blockIdx.x * many * outputs + output;
        for (int place = threadIdx.x; place < many; place += blockDim.x) {
            int vote = (int)mine[(long long)place * outputs];
            atomicAdd(truth[(long long)output * many + place] ? &level[vote] : &below[vote], 1);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            long long found = 0, seen = 0;
            for (int vote = 0; vote <= K; ++vote) {
                found += level[vote] * (2 * seen + (half ? below[vote] : 0));
                seen += below[vote];
            }
            twice[(long long)blockIdx.x * outputs + output] = found;
        }
        __syncthreads();
    }
}

// The same for real targets, by comparing all pairs. `truth` [many] are the ranks of the targets.
extern "C" __global__ void ranked_means(
    const float* __restrict__ sums, const int* __restrict__ truth, int many, int half, long long* __restrict__ twice)
{
    __shared__ unsigned long long total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    const float* mine = sums + (long long)blockIdx.x * many;
    unsigned long long found = 0;
    for (int low = threadIdx.x; low < many; low += blockDim.x) {
        for (int high = 0; high < many; ++high) {
            if (truth[low] < truth[high])
                found += mine[low] < mine[high] ? 2 : (half && mine[low] == mine[high] ? 1 : 0);
        }
    }
    atomicAdd(&total, found);
    __syncthreads();
    if (threadIdx.x == 0) twice[blockIdx.x] = total;
}
