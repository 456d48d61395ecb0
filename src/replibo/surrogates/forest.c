// Regression trees on bootstrap samples (Breiman et al. 1984), and their values at points: what `Forest`
// calls. The observations are sorted by each feature once for all trees; a tree carries these orders
// down to its leaves.

#include <stdint.h>

// What `replibo.surrogates.compiled` reads: which C files these are, and what compiled them.
const char stamp[64] = STAMP, compiler[64] = "clang " __clang_version__;

// Where x[feature] <= threshold, the next node is `below`, else `below` + 1. A leaf leads to itself.
typedef struct {
    float threshold;
    int32_t feature, below;
} Node;

// The data of a tree. Each observation has a weight, how often it was drawn, and its weight times y.
typedef struct {
    int n, d;
    const float *columns;     // d x n, X transposed
    const double *y;          // n
    const double *reciprocals;  // n + 1: of the whole numbers
    double *weights, *sums;   // n
    int32_t *orders;          // d x n: the observations in the order of each feature
    uint64_t random;          // state of the numbers that choose among equal splits
} Sample;

typedef struct {
    int feature, left;  // how many observations are on the left; feature -1: there is no split
    float threshold;
} Split;

// Marsaglia's xorshift64*: a number from 0 to count - 1.
static uint32_t draw(uint64_t *state, uint32_t count) {
    uint64_t s = *state;
    s ^= s >> 12, s ^= s << 25, s ^= s >> 27;
    *state = s;
    return (uint32_t)(((s * 0x2545F4914F6CDD1Dull >> 32) * count) >> 32);
}

// The split of `size` observations, from position `first` of each order, that leaves the smallest squared
// error: that with the largest (Σ wy)²/Σw on the left and on the right together. One of those that are
// equal, up to rounding, is drawn.
static Split best_split(Sample *sample, int first, int size, double weight, double sum) {
    Split best = {-1, 0, 0};
    double highest = 0;
    uint32_t equals = 0;
    for (int f = 0; f < sample->d; f++) {
        const float *x = sample->columns + (int64_t)f * sample->n;
        const int32_t *order = sample->orders + (int64_t)f * sample->n + first;
        double left_weight = 0, left_sum = 0;
        float here = x[order[0]];
        for (int k = 1; k < size; k++) {
            left_weight += sample->weights[order[k - 1]];
            left_sum += sample->sums[order[k - 1]];
            float next = x[order[k]];
            if (next > here) {
                double right_sum = sum - left_sum;
                double gain = left_sum * left_sum * sample->reciprocals[(int)left_weight] +
                              right_sum * right_sum * sample->reciprocals[(int)(weight - left_weight)];
                if (gain > highest * (1 + 1e-12)) equals = 0, highest = gain;
                if (gain >= highest * (1 - 1e-12) && draw(&sample->random, ++equals) == 0) {
                    float middle = here / 2 + next / 2;
                    best = (Split){f, k, middle < next ? middle : here};
                }
            }
            here = next;
        }
    }
    return best;
}

// In each order, the observations on the left before those on the right, both in the order they had.
static void divide(Sample *sample, int first, int size, Split split, int32_t *buffer) {
    const float *x = sample->columns + (int64_t)split.feature * sample->n;
    for (int f = 0; f < sample->d; f++) {
        if (f == split.feature) continue;
        int32_t *order = sample->orders + (int64_t)f * sample->n + first;
        int left = 0, right = 0;
        for (int k = 0; k < size; k++) {
            int32_t row = order[k];
            int below = x[row] <= split.threshold;
            order[left] = row, buffer[right] = row;
            left += below, right += !below;
        }
        for (int k = 0; k < right; k++) order[left + k] = buffer[k];
    }
}

// Grows a tree until its leaves are pure; returns its number of nodes. `stack` has room for 3 n numbers.
static int grow_tree(Sample *sample, int size, Node *nodes, double *values, int32_t *buffer,
                     int32_t *stack) {
    int used = 1, height = 1;
    stack[0] = 0, stack[1] = 0, stack[2] = size;
    while (height-- > 0) {
        int node = stack[3 * height], first = stack[3 * height + 1];
        size = stack[3 * height + 2];
        const int32_t *rows = sample->orders + first;
        double weight = 0, sum = 0;
        int pure = 1;
        for (int k = 0; k < size; k++) {
            weight += sample->weights[rows[k]], sum += sample->sums[rows[k]];
            pure &= sample->y[rows[k]] == sample->y[rows[0]];
        }
        values[node] = pure ? sample->y[rows[0]] : sum / weight;
        nodes[node] = (Node){__builtin_inff(), 0, node};
        Split split = {-1, 0, 0};
        if (!pure) split = best_split(sample, first, size, weight, sum);
        if (split.feature >= 0) {
            nodes[node] = (Node){split.threshold, split.feature, used};
            divide(sample, first, size, split, buffer);
            int32_t *top = stack + 3 * height;
            top[0] = used, top[1] = first, top[2] = split.left;
            top[3] = used + 1, top[4] = first + split.left, top[5] = size - split.left;
            height += 2, used += 2;
        }
    }
    return used;
}

// `sorted` (d x n): the observations in the order of each feature. `counts` (trees x n): how often each
// is in a tree's sample. Tree t has its nodes and their values from starts[t] on, and used[t] of them.
// `orders` (d x n), `weights` (2 n) and `buffer` (4 n) are room to work in.
void grow_forest(int n, int d, int trees, const float *columns, const double *y,
                 const double *reciprocals, const int32_t *sorted, const int32_t *counts,
                 const uint64_t *seeds, const int64_t *starts, Node *nodes, double *values,
                 int32_t *used, int32_t *orders, double *weights, int32_t *buffer) {
    for (int t = 0; t < trees; t++) {
        const int32_t *drawn = counts + (int64_t)t * n;
        Sample sample = {n, d, columns, y, reciprocals, weights, weights + n, orders, seeds[t]};
        int size = 0;
        for (int i = 0; i < n; i++) weights[i] = drawn[i], weights[n + i] = drawn[i] * y[i];
        for (int64_t f = 0; f < d; f++) {
            size = 0;
            for (int k = 0; k < n; k++) {
                orders[f * n + size] = sorted[f * n + k];
                size += drawn[sorted[f * n + k]] > 0;
            }
        }
        used[t] = grow_tree(&sample, size, nodes + starts[t], values + starts[t], buffer, buffer + n);
    }
}

// The values of the trees at m points `X` (m x d): `predictions` (trees x m). Points go down a tree side
// by side, so that one does not wait for another's memory.
void predict_forest(int m, int d, int trees, const float *X, const int64_t *starts, const Node *nodes,
                    const double *values, double *predictions) {
    enum { SIDE_BY_SIDE = 16 };
    for (int t = 0; t < trees; t++) {
        const Node *tree = nodes + starts[t];
        for (int first = 0; first < m; first += SIDE_BY_SIDE) {
            int count = m - first < SIDE_BY_SIDE ? m - first : SIDE_BY_SIDE;
            const float *x[SIDE_BY_SIDE];
            int32_t at[SIDE_BY_SIDE] = {0}, moved = 1;
            for (int i = 0; i < SIDE_BY_SIDE; i++) x[i] = X + (int64_t)(first + i % count) * d;
            while (moved) {
                moved = 0;
                _Pragma("clang loop unroll(full) vectorize(disable)")
                for (int i = 0; i < SIDE_BY_SIDE; i++) {
                    Node node = tree[at[i]];
                    int32_t next = node.below + (x[i][node.feature] > node.threshold);
                    moved |= next ^ at[i];
                    at[i] = next;
                }
            }
            for (int i = 0; i < count; i++)
                predictions[(int64_t)t * m + first + i] = values[starts[t] + at[i]];
        }
    }
}
