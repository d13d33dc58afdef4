# The types of kernel.py. All numbers are 64 bits wide. What runs for every episode is inlined, since arrays are passed by
# value: Cython warns that it should not be said here, but there is no other place that leaves kernel.py plain Python.
cimport cython

ctypedef long long L

# Numbers of C: as names of Python, they would be looked up for every call.
cdef L OUT_OF_ORDER, REPEATED, STEP, UNFILLED

cdef inline double similarity(L distance, L mine, L theirs) noexcept

@cython.locals(n=L, k=L, row=L, after=L, symbol=L, kind=L, unfilled=L)
cpdef inline (L, L) condense(L[::1] rows, L[::1] codes, L first, L last, L state, L[::1] x, L[::1] harm, L[::1] before, L[::1] mark, L[::1] done) noexcept

@cython.locals(k=L, weight=double, total=double, found=double)
cpdef inline double prefix_criticality(L[::1] harm, L n, double beta) noexcept

cdef inline double composite(double pc, L inversions, L matched, double lam, double fallback) noexcept

@cython.locals(one=L, mask=L, up=L, down=L, used=L, distance=L, matched=L, inversions=L, j=L, same=L, free=L, bit=L, later=L, vertical=L, horizontal=L, more=L, less=L)
cdef inline (L, L, L) compare_by_bits(L[::1] graph, L begin, L m, L n, L[::1] place) noexcept

@cython.locals(best=double, both=double, one=L, i=L, known=L, longest=L, closest=L, length=L, least=L, most=L, fewest=L, symbols=L, begin=L, g=L, m=L, distance=L, matched=L, inversions=L, pc=double, value=double)
cdef inline void list_by_bits(L[::1] graph, L[::1] x, L n, double lam, double fallback, L[::1] place, double[::1] out, L o) noexcept

@cython.locals(starts=L, best=double, both=double, g=L, begin=L, m=L, i=L, j=L, k=L, symbol=L, corner=L, cost=L, pc=double, matched=L, inversions=L, value=double)
cdef inline void list_by_cells(L[::1] graph, L[::1] x, L n, double lam, double fallback, L[::1] column, L[::1] used, double[::1] out, L o) noexcept

@cython.locals(into=L, ends=L, edges=L, width=L, best=L, found=bint, u=L, own=L, e=L, v=L, symbol=L, other=L, is_new=bint, cost=L, i=L, diagonal=L)
cpdef inline L follow_graph(L[::1] graph, L node, L[::1] x, L first, L n, L edge, L hit, L drop, L[::1] columns, L[::1] live) noexcept

@cython.locals(width=L, j=L, bad=L, state=L, fits=bint, k=L, corner=L, i=L, old=L, token=L, cost=L, left=L)
cdef inline void follow_repairs(L[::1] graph, L[::1] x, L[::1] stays, L[::1] before, L first, L n, L edge, L hit, L drop, L[::1] place, L[::1] columns, L own) noexcept

@cython.locals(first=L, scale=L, a=L, b=L, distance=L, length=L, width=L, edge=L, hit=L, drop=L, i=L, value=L, theirs=L, found=L)
cdef inline double find_closest(L[::1] graph, L node, L[::1] x, L[::1] stays, L[::1] before, L n, bint repairs, L more, L[::1] place, L[::1] columns, L[::1] live) noexcept

@cython.locals(harms=L, progress=L, k=L, accepted=L, reached=L)
cdef inline L count_calls(L[::1] graph, L[::1] harm, L[::1] stays, L n, L calls, L end, double beta, double[::1] out, L o) noexcept

@cython.locals(lam=double, fallback=double, most=double, progress=L, missing=L, todo=L, work=double, node=L)
cpdef inline void measure(L[::1] graph, L[::1] x, L[::1] harm, L[::1] stays, L[::1] before, L n, L calls, L end, double[::1] options, L[::1] place, L[::1] columns, L[::1] live, double[::1] out, L o) noexcept

@cython.locals(width=L, w=L, e=L, first=L, last=L, n=L, end=L)
cpdef (L, L) score_episodes(L[::1] graph, L[::1] rows, L start, L[::1] codes, L[::1] offsets, L[::1] which, double[::1] options, L[::1] x, L[::1] harm, L[::1] before, L[::1] mark, L[::1] place, L[::1] columns, L[::1] live, double[::1] out) noexcept
