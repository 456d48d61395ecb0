// Mini-batch gradient descent of the network h(x) = √m w₂·relu(W₁x): what `train_sgd` calls.
//
// The hidden units are the lanes of vectors, in panels of 32 units. W₁ is kept panel after panel, each
// as d rows of 32 weights; w₂ as one row a panel. Units that fill up the last panel have weights of 0,
// and keep them.

#include <stdint.h>

enum { LANES = 16, PANEL = 32, V = PANEL / LANES };
typedef float vector __attribute__((ext_vector_type(LANES), aligned(4)));

// The sums that stay in registers at once: ROWS x WIDE vectors.
#ifdef __AVX512F__
enum { ROWS = 10, WIDE = 2 };
#else
enum { ROWS = 6, WIDE = 1 };
#endif
typedef vector Tile[10][WIDE];

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("clang loop unroll(full)")
// Calls `work` for all rows, ROWS at a time and then for the rest; in each call `rows` is a constant.
#define CASE(count, work) case count: { enum { rows = count }; work; break; }
#define IN_TILES(total, row, work) \
    for (int row = 0; row < (total); row += ROWS) \
        switch ((total) - row < ROWS ? (total) - row : ROWS) { \
            CASE(1, work) CASE(2, work) CASE(3, work) CASE(4, work) CASE(5, work) \
            CASE(6, work) CASE(7, work) CASE(8, work) CASE(9, work) CASE(10, work) \
        }

INLINE vector fused(vector a, vector b, vector c) { return __builtin_elementwise_fma(a, b, c); }

// sums[r][u] = Σ_t left[r, t] right[t, u]; `left` has these strides, `right` V vectors a term.
INLINE void multiply(int rows, int terms, const float *left, int64_t row_stride, int64_t term_stride,
                     const vector *right, Tile sums) {
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int u = 0; u < WIDE; u++) sums[r][u] = 0;
    for (int t = 0; t < terms; t++)
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int u = 0; u < WIDE; u++) {
                vector factor = (vector)left[r * row_stride + t * term_stride];
                sums[r][u] = fused(factor, right[t * V + u], sums[r][u]);
            }
}

// The activations a = relu(W₁x) of a panel at `rows` points x (rows x d), and its share of h/√m.
INLINE void activate(int rows, int d, const float *x, const vector *W1, const vector *w2, vector *a,
                     vector *h) {
    Tile sums;
    for (int v = 0; v < V; v += WIDE) {
        multiply(rows, d, x, d, 1, W1 + v, sums);
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int u = 0; u < WIDE; u++) {
                vector active = sums[r][u] > 0 ? sums[r][u] : 0;
                a[r * V + v + u] = active;
                h[r] = fused(active, w2[v + u], h[r]);
            }
    }
}

// W₁ ← (1 − decay) W₁ + decay W₁(θ₀) + step w₂ Σ_i g_i x_i, of a panel and `rows` inputs.
INLINE void descend(int rows, int b, int d, const float *x, const vector *g, const vector *step_w2,
                    float decay, const vector *start, vector *W1) {
    Tile sums;
    for (int v = 0; v < V; v += WIDE) {
        multiply(rows, b, x, 1, d, g + v, sums);
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int u = 0; u < WIDE; u++) {
                int at = r * V + v + u;
                vector kept = fused(1 - decay, W1[at], (vector)decay * start[at]);
                W1[at] = fused(step_w2[v + u], sums[r][u], kept);
            }
    }
}

// One step on a batch of b observations. After it, `a` holds g: the residual where a unit is active.
static void descend_batch(int b, int d, int panels, float root, float rate, float decay,
                          const float *x, const float *y, const vector *W1_start,
                          const vector *w2_start, vector *W1, vector *w2, vector *a, vector *h,
                          float *residuals) {
    for (int i = 0; i < b; i++) h[i] = 0;
    for (int64_t p = 0; p < panels; p++) {
        const vector *W = W1 + p * d * V, *w = w2 + p * V;
        vector *active = a + p * b * V;
        IN_TILES(b, i, activate(rows, d, x + i * d, W, w, active + i * V, h + i))
    }
    for (int i = 0; i < b; i++) {
        float sum = 0;
        for (int lane = 0; lane < LANES; lane++) sum += h[i][lane];
        residuals[i] = root * sum - y[i];
    }
    float step = -rate * root;
    for (int64_t p = 0; p < panels; p++) {
        vector *W = W1 + p * d * V, *w = w2 + p * V, *g = a + p * b * V;
        const vector *start = W1_start + p * d * V;
        vector step_w2[V], sums[V];
        for (int v = 0; v < V; v++) step_w2[v] = step * w[v], sums[v] = 0;
        for (int i = 0; i < b; i++)
            for (int v = 0; v < V; v++) {
                vector active = g[i * V + v], residual = residuals[i];
                sums[v] = fused(residual, active, sums[v]);
                g[i * V + v] = active > 0 ? residual : 0;
            }
        IN_TILES(d, k, descend(rows, b, d, x + k, g, step_w2, decay, start + k * V, W + k * V))
        for (int v = 0; v < V; v++) {
            vector kept = fused(1 - decay, w[v], (vector)decay * w2_start[p * V + v]);
            w[v] = fused(step, sums[v], kept);
        }
    }
}

// `orders` (epochs x n): the order of the observations in each epoch. A step on b of them has the rate
// `rate`, or rate/b where `mean`; the pull towards θ₀ is rate · regularizer · b/n. `work` has room for
// a batch: d + 2 floats and 1 + V · panels vectors an observation.
void train_sgd(int n, int d, int panels, int batch, int epochs, int mean, double rate,
               double regularizer, double root, const float *X, const float *y, const int64_t *orders,
               const vector *W1_start, const vector *w2_start, vector *W1, vector *w2, float *work) {
    float *x = work, *targets = x + batch * d, *residuals = targets + batch;
    vector *h = (vector *)(residuals + batch), *a = h + batch;
    for (int64_t e = 0; e < epochs; e++)
        for (int first = 0; first < n; first += batch) {
            int b = n - first < batch ? n - first : batch;
            for (int i = 0; i < b; i++) {
                int64_t row = orders[e * n + first + i];
                for (int k = 0; k < d; k++) x[i * d + k] = X[row * d + k];
                targets[i] = y[row];
            }
            double own = mean ? rate / b : rate;
            descend_batch(b, d, panels, root, own, own * regularizer * b / n, x, targets, W1_start,
                          w2_start, W1, w2, a, h, residuals);
        }
}
