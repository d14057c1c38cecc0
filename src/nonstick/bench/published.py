"""Tables of the papers that simulations reproduce, as printed.

Lai et al. 2020, tables 1-12: iterations, outer iterations and seconds per pressure solve by size and method ("FMG"
there means full cycles until converged). Chentanez and Müller 2012, table 1: milliseconds. Andersen et al. 2017,
table 1, and the two counts its §6.1 gives.
"""

from __future__ import annotations

_LAI = ("fas-mg", "pi-pcg", "pi-mg", "pe-pcg", "pe-mg", "fmg", "newton", "no-lcp")
_OUTER = ("pi-pcg", "pi-mg", "pe-pcg", "pe-mg", "newton")

#: table → size → method → iterations
ITERATIONS: dict[str, dict[int, dict[str, float]]] = {
    "lai-table1": {
        32: dict(zip(_LAI, (7.45, 16.9, 7.59, 16.87, 7.99, 20.38, 92.11, 15.99))),
        64: dict(zip(_LAI, (10.39, 36.02, 9.74, 36.07, 12.58, 35.4, 336.17, 30.73))),
        128: dict(zip(_LAI, (14.07, 70.63, 11.89, 70.58, 17.6, 65.37, 947.23, 55.91))),
        256: dict(zip(_LAI, (18.26, 123.61, 14.51, 122.42, 21.98, 109.54, 2283.65, 93.2))),
    },
    "lai-table2": {
        32: dict(zip(_LAI, (9.75, 29.9, 12.12, 30.16, 13.93, 22.21, 1901.69, 20.14))),
        64: dict(zip(_LAI, (10.44, 70.92, 14.66, 71.34, 19.11, 39.81, 3890.08, 39.57))),
        128: dict(zip(_LAI, (11.94, 132.56, 17.61, 133.53, 24.57, 61.12, 10879.01, 62.26))),
        256: dict(zip((*_LAI[:6], "no-lcp"), (14.02, 251.88, 20.71, 252.28, 28.84, 89.89, 100.78))),
    },
    "lai-table7": {
        32: dict(zip(_LAI, (4.41, 9.74, 8.11, 9.5, 7.67, 6.89, 87.2))),
        64: dict(zip(_LAI, (7.07, 15.52, 10.55, 15.75, 10.11, 10.71, 195.5))),
        128: dict(zip(_LAI, (5.83, 31.29, 13.52, 31.9, 12.91, 34.13, 450.21))),
    },
    "lai-table9": {
        32: dict(zip(_LAI, (7, 139, 10, 146, 21, 29, 2773))),
        64: dict(zip(_LAI, (8, 282, 9, 301, 18, 61, 5837))),
        128: dict(zip(_LAI, (8, 593, 10, 657, 24, 128, 18680))),
        256: dict(zip(_LAI, (9, 1263, 14, 1255, 28, 234, 38547))),
    },
    "lai-table10": {
        32: dict(zip(_LAI, (6, 149, 11, 161, 18, 35, 2634))),
        64: dict(zip(_LAI, (7, 308, 18, 336, 29, 43, 11122))),
        128: dict(zip(_LAI, (8, 503, 22, 548, 40, 63, 50162))),
        256: dict(zip(_LAI, (9, 1186, 43, 1313, 89, 103, 95823))),
    },
    "lai-table11": {
        32: dict(zip(_LAI, (7, 80, 14, 85, 23, 15, 1430))),
        64: dict(zip(_LAI, (15, 182, 37, 203, 57, 43, 9219))),
        128: dict(zip(_LAI, (9, 421, 34, 446, 90, 67, 46491))),
        256: dict(zip(_LAI, (12, 762, 24, 887, 60, 175, 122080))),
    },
}

# "Ours" of table 12 is the plain V(2,2) cycle, which is called fas-mg+literal here
_VARIANTS = ("fas-mg+literal", "fas-mg+trilinear", "fas-mg+pwc", "fas-mg+simple-boundary", "fas-mg+direct")
ITERATIONS["lai-table12"] = {
    32: dict(zip(_VARIANTS, (7, 6, 47, 6, 65))),
    64: dict(zip(_VARIANTS, (8, 8, 112, 32, 171))),
    128: dict(zip(_VARIANTS[:3], (8, 8, 268))),
    256: dict(zip(_VARIANTS[:3], (9, 9, 616))),
}

#: table → (size, method) that the paper reports as diverged
DIVERGED = {"lai-table12": tuple((n, method) for n in (128, 256) for method in _VARIANTS[3:])}

#: table → size → method → outer iterations (Lai's tables 3 and 4)
OUTER: dict[str, dict[int, dict[str, float]]] = {
    "lai-table1": {
        32: dict(zip(_OUTER, (1.12, 1.12, 1.12, 1.23, 0.94))),
        64: dict(zip(_OUTER, (1.25, 1.25, 1.25, 1.43, 1.71))),
        128: dict(zip(_OUTER, (1.34, 1.34, 1.35, 1.58, 2.08))),
        256: dict(zip(_OUTER, (1.43, 1.43, 1.41, 1.63, 2.34))),
    },
    "lai-table2": {
        32: dict(zip(_OUTER, (1.47, 1.47, 1.49, 1.53, 2.04))),
        64: dict(zip(_OUTER, (1.78, 1.76, 1.79, 1.77, 2.57))),
        128: dict(zip(_OUTER, (2.1, 2.12, 2.12, 2.19, 2.91))),
        256: dict(zip(_OUTER[:4], (2.48, 2.52, 2.48, 2.49))),
    },
}

#: table → size → method → seconds (Lai's tables 5, 6 and 8), on the paper's machine
SECONDS: dict[str, dict[int, dict[str, float]]] = {
    "lai-table1": {
        32: dict(zip(_LAI, (0.0021, 0.00054, 0.0028, 0.00055, 0.0025, 0.0026, 0.002, 0.00048))),
        64: dict(zip(_LAI, (0.0082, 0.0034, 0.0086, 0.0033, 0.0075, 0.022, 0.024, 0.0029))),
        128: dict(zip(_LAI, (0.029, 0.02, 0.03, 0.021, 0.028, 0.17, 0.24, 0.016))),
        256: dict(zip(_LAI, (0.13, 0.15, 0.12, 0.13, 0.13, 1.25, 2.59, 0.098))),
    },
    "lai-table2": {
        32: dict(zip(_LAI, (0.037, 0.014, 0.036, 0.015, 0.036, 0.076, 0.98, 0.0074))),
        64: dict(zip(_LAI, (0.25, 0.2, 0.33, 0.2, 0.37, 1.68, 25.38, 0.09))),
        128: dict(zip(_LAI, (2.15, 2.64, 2.82, 2.82, 4.28, 30.24, 637.67, 1.15))),
        256: dict(zip((*_LAI[:6], "no-lcp"), (16.78, 36.96, 24.58, 37.82, 47.38, 510.71, 14.24))),
    },
    "lai-table7": {
        32: dict(zip(_LAI, (0.016, 0.0042, 0.032, 0.004, 0.029, 0.017, 0.41))),
        64: dict(zip(_LAI, (0.092, 0.018, 0.15, 0.018, 0.12, 0.1, 3.5))),
        128: dict(zip(_LAI, (0.38, 0.1, 0.7, 0.11, 0.53, 1.21, 31.35))),
    },
}

#: scene → (cells, milliseconds without LCP, with LCP), on an NVIDIA GTX 480
CM_TABLE1 = {
    "ball-box": (64, 19.00, 21.26),
    "dam-break-box": (64, 18.89, 21.17),
    "rotated-box": (128, 109.78, 122.97),
    "dam-break-sphere": (128, 109.67, 122.58),
}

#: cells → slowdown of minimum-map Newton against PCG, in percent
ANDERSEN_TABLE1 = {64: 15, 128: 25, 256: 15, 512: 16, 1024: 5}

#: cells → (sub-solver, preconditioner) → iterations of figure 12, as given in §6.1
ANDERSEN_LINEAR = {200: {("CG", "identity"): 125, ("CG", "static-scaled"): 40}}
