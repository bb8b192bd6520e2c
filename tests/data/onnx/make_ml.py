#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Models of the operators of ai.onnx.ml, with inputs and what onnxruntime gives for them.

usage: make_ml.py OUTPUT        (in an environment with the packages onnx, onnxruntime and numpy)

The probabilities of three and more classes of a support vector machine are solved for in float64 here:
onnxruntime stops its iteration at an error of 0.005. make.py's are those of the other operators.
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

RND = np.random.default_rng(4321)
TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64}


def normal(*shape: int) -> np.ndarray:
    return RND.standard_normal(shape).astype(np.float32)


def node(kind: str, inputs: str, outputs: str = "y", **attributes: object):
    given = {k: v.ravel().tolist() if isinstance(v, np.ndarray) else v for k, v in attributes.items()}
    return helper.make_node(kind, inputs.split(","), outputs.split(","), domain="ai.onnx.ml", **given)


def save(to: Path, name: str, nodes: list, inputs: dict, types: list, expected: list | None = None) -> None:
    def info(names: list, kinds: list, shapes: list) -> list:
        return [helper.make_tensor_value_info(*one) for one in zip(names, kinds, shapes)]

    kinds = [TYPES[v.dtype] for v in inputs.values()]
    results = list(nodes[-1].output)
    graph = helper.make_graph(nodes, name, info(list(inputs), kinds, [v.shape for v in inputs.values()]),
                              info(results, types, [None] * len(results)))
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17),
                                                                  helper.make_opsetid("ai.onnx.ml", 3)])
    if not expected:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        expected = session.run(None, inputs)
    data = to / f"test_ml_{name}" / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (data.parent / "model.onnx").write_bytes(model.SerializeToString())
    for key, values in (("input", inputs.values()), ("output", expected)):
        for i, value in enumerate(values):
            (data / f"{key}_{i}.pb").write_bytes(numpy_helper.from_array(np.asarray(value)).SerializeToString())


FLOAT = [TensorProto.FLOAT]
CLASS = [TensorProto.INT64, TensorProto.FLOAT]


def features(to: Path) -> None:
    x = normal(6, 4)
    save(to, "scaler", [node("Scaler", "x", offset=normal(4), scale=normal(4))], {"x": x}, FLOAT)
    save(to, "scaler_one", [node("Scaler", "x", offset=[0.5], scale=[3.0])], {"x": x}, FLOAT)
    with_zeros = np.concatenate([np.abs(x), np.zeros((1, 4), np.float32)])
    for norm in ("MAX", "L1", "L2"):
        save(to, f"normalizer_{norm.lower()}", [node("Normalizer", "x", norm=norm)], {"x": with_zeros}, FLOAT)
    save(to, "binarizer", [node("Binarizer", "x", threshold=0.25)], {"x": x}, FLOAT)
    holes = x.copy()
    holes[1, 2] = holes[4, 0] = np.nan
    save(to, "imputer", [node("Imputer", "x", imputed_value_floats=normal(4), replaced_value_float=float("nan"))],
         {"x": holes}, FLOAT)
    save(to, "imputer_number", [node("Imputer", "x", imputed_value_floats=[7.0], replaced_value_float=2.0)],
         {"x": np.round(x)}, FLOAT)
    pick = helper.make_node("Constant", [], ["i"], value=numpy_helper.from_array(np.array([3, 0, 3], np.int64)))
    save(to, "arrayfeatureextractor", [pick, node("ArrayFeatureExtractor", "x,i")], {"x": x}, FLOAT)
    save(to, "featurevectorizer", [node("FeatureVectorizer", "x,z", inputdimensions=[4, 2])],
         {"x": x, "z": normal(6, 2)}, FLOAT)
    whole = np.array([[2], [5], [9], [-3], [5]], np.float32)
    save(to, "onehotencoder", [node("OneHotEncoder", "x", cats_int64s=[5, -3, 2], zeros=1)], {"x": whole}, FLOAT)
    save(to, "labelencoder_floats", [node("LabelEncoder", "x", keys_floats=[5.0, 2.0], values_floats=[0.5, -1.5],
                                          default_float=9.0)], {"x": whole}, FLOAT)
    save(to, "labelencoder_ints", [node("LabelEncoder", "x", keys_floats=[5.0, 2.0, 9.0], values_int64s=[7, -8, 1],
                                        default_int64=99)], {"x": whole}, [TensorProto.INT64])


def linear(to: Path) -> None:
    x = normal(9, 5)
    save(to, "linearregressor", [node("LinearRegressor", "x", coefficients=normal(2, 5), intercepts=normal(2), targets=2)],
         {"x": x}, FLOAT)
    for transform in ("NONE", "SOFTMAX", "LOGISTIC"):
        save(to, f"linearclassifier_{transform.lower()}",
             [node("LinearClassifier", "x", "l,s", coefficients=normal(3, 5), intercepts=normal(3),
                   classlabels_ints=[10, -20, 30], post_transform=transform)], {"x": x}, CLASS)
        save(to, f"linearclassifier_binary_{transform.lower()}",
             [node("LinearClassifier", "x", "l,s", coefficients=normal(1, 5), intercepts=normal(1),
                   classlabels_ints=[4, 6], post_transform=transform)], {"x": x}, CLASS)
    scores = node("LinearRegressor", "x", "s", coefficients=normal(3, 5), intercepts=normal(3), targets=3)
    save(to, "zipmap", [scores], {"x": x}, FLOAT)
    found = onnxruntime.InferenceSession((to / "test_ml_zipmap/model.onnx").read_bytes(),
                                         providers=["CPUExecutionProvider"]).run(None, {"x": x})
    save(to, "zipmap", [scores, node("ZipMap", "s", classlabels_int64s=[0, 1, 2])], {"x": x}, FLOAT, found)


def coupled(pair: np.ndarray, classes: int) -> np.ndarray:
    """The probabilities of all classes from those of the pairs: least p'Qp with a sum of 1"""
    out = []
    for row in pair.astype(np.float64):
        r = np.zeros((classes, classes))
        upper = np.triu_indices(classes, 1)
        r[upper] = row
        r.T[upper] = 1 - row
        q = -r * r.T + np.diag((r ** 2).sum(0))
        both = np.block([[q, np.ones((classes, 1))], [np.ones((1, classes)), np.zeros((1, 1))]])
        out.append(np.linalg.solve(both, np.append(np.zeros(classes), 1))[:classes])
    return np.array(out, np.float32)


def machines(to: Path) -> None:
    x, vectors = normal(12, 4) + 5, normal(9, 4) + 5
    kernels = {"linear": "LINEAR", "rbf": "RBF", "poly": "POLY", "sigmoid": "SIGMOID"}
    for name, kernel in kernels.items():
        params = {"kernel_type": kernel, "kernel_params": [0.05, 0.5, 3.0]}
        three = {"coefficients": normal(2, 9), "rho": normal(3), "support_vectors": vectors,
                 "vectors_per_class": [3, 4, 2], "classlabels_ints": [0, 1, 2], **params}
        save(to, f"svc_{name}", [node("SVMClassifier", "x", "l,s", **three)], {"x": x}, CLASS)
        two = {"coefficients": normal(1, 9), "rho": [0.25], "support_vectors": vectors, "vectors_per_class": [5, 4],
               "classlabels_ints": [7, 3], **params}
        save(to, f"svc_binary_{name}", [node("SVMClassifier", "x", "l,s", **two)], {"x": x}, CLASS)
        save(to, f"svr_{name}", [node("SVMRegressor", "x", coefficients=normal(9), rho=[1.5], support_vectors=vectors,
                                      n_supports=9, **params)], {"x": x}, FLOAT)
    save(to, "svr_one_class", [node("SVMRegressor", "x", coefficients=np.abs(normal(9)), rho=[-2.0], n_supports=9,
                                    support_vectors=vectors, one_class=1, kernel_type="RBF",
                                    kernel_params=[0.1, 0.0, 3.0])], {"x": x}, FLOAT)
    none = {"kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 3.0]}
    save(to, "svr_no_vectors", [node("SVMRegressor", "x", coefficients=normal(4), rho=[0.5], n_supports=0, **none)],
         {"x": x}, FLOAT)
    for classes in (2, 3):
        save(to, f"svc_no_vectors_{classes}",
             [node("SVMClassifier", "x", "l,s", coefficients=normal(classes, 4), rho=[0.5],
                   classlabels_ints=list(range(classes)), post_transform="SOFTMAX", **none)], {"x": x}, CLASS)
    chances(to, x, vectors)


def chances(to: Path, x: np.ndarray, vectors: np.ndarray) -> None:
    for classes, counts in ((2, [5, 4]), (3, [3, 4, 2]), (4, [3, 3, 2, 1])):
        pairs = classes * (classes - 1) // 2
        model = {"coefficients": normal(classes - 1, 9), "rho": normal(pairs) / 4, "support_vectors": vectors,
                 "vectors_per_class": counts, "classlabels_ints": list(range(classes)), "kernel_type": "RBF",
                 "kernel_params": [0.05, 0.0, 3.0]}
        a, b = -1 - np.abs(normal(pairs)), normal(pairs) / 4
        plain = [node("SVMClassifier", "x", "l,s", **model)]
        save(to, f"svc_probability_{classes}", plain, {"x": x}, CLASS)
        session = onnxruntime.InferenceSession((to / f"test_ml_svc_probability_{classes}/model.onnx").read_bytes(),
                                               providers=["CPUExecutionProvider"])
        label, score = session.run(None, {"x": x})
        score = score[:, 1:] if classes == 2 else score
        pair = 1 / (1 + np.exp(score.astype(np.float64) * a + b))
        found = np.concatenate([pair, 1 - pair], 1).astype(np.float32) if classes == 2 else coupled(pair, classes)
        save(to, f"svc_probability_{classes}", [node("SVMClassifier", "x", "l,s", prob_a=a, prob_b=b, **model)],
             {"x": x}, CLASS, [label, found])


def grown(depths: list, features_of: int, modes: list, missing: bool = False) -> dict:
    """Trees of these depths, every node of which compares something"""
    out: dict[str, list] = {k: [] for k in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids",
                                            "falsenodeids", "missing_value_tracks_true")}
    leaves = []
    for tree, depth in enumerate(depths):
        for at in range(2 ** (depth + 1) - 1):
            inner = at < 2 ** depth - 1
            mode = modes[at % len(modes)] if inner else "LEAF"
            value = float(np.round(normal(1)[0])) if mode in ("BRANCH_EQ", "BRANCH_NEQ") else float(normal(1)[0])
            row = (tree, at, int(RND.integers(features_of)) if inner else 0, value if inner else 0.0, mode,
                   2 * at + 1 if inner else 0, 2 * at + 2 if inner else 0, int(missing and at % 2))
            for key, item in zip(out, row):
                out[key].append(item)
            if not inner:
                leaves.append((tree, at))
    kept = {f"nodes_{k}": v for k, v in out.items() if missing or k != "missing_value_tracks_true"}
    return kept, leaves


def weights(kind: str, leaves: list, ids: list, values: np.ndarray) -> dict:
    rows = [(t, n, i) for t, n in leaves for i in ids]
    return {f"{kind}_treeids": [r[0] for r in rows], f"{kind}_nodeids": [r[1] for r in rows],
            f"{kind}_ids": [r[2] for r in rows], f"{kind}_weights": values[:len(rows)]}


def forests(to: Path) -> None:
    x = np.round(normal(40, 6) * 2) / 2
    branches = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE", "BRANCH_EQ", "BRANCH_NEQ"]
    for mode in branches:
        nodes, leaves = grown([3, 2, 0, 4], 6, [mode])
        save(to, f"trees_{mode.lower()}",
             [node("TreeEnsembleRegressor", "x", n_targets=2, **nodes, **weights("target", leaves, [0, 1], normal(200)))],
             {"x": x}, FLOAT)
    holes = np.where(RND.random(x.shape) < 0.2, np.nan, x).astype(np.float32)
    nodes, leaves = grown([4, 4, 3], 6, ["BRANCH_LEQ"], missing=True)
    save(to, "trees_missing", [node("TreeEnsembleRegressor", "x", n_targets=1, base_values=[0.5], **nodes,
                                    **weights("target", leaves, [0], normal(100)))], {"x": holes}, FLOAT)
    save(to, "trees_average",
         [node("TreeEnsembleRegressor", "x", n_targets=3, base_values=normal(3), aggregate_function="AVERAGE", **nodes,
               **weights("target", leaves, [0, 1, 2], normal(200)))], {"x": x}, FLOAT)
    for transform in ("NONE", "SOFTMAX", "LOGISTIC"):
        save(to, f"trees_classes_{transform.lower()}",
             [node("TreeEnsembleClassifier", "x", "l,s", classlabels_int64s=[3, 1, 2], base_values=normal(3),
                   post_transform=transform, **nodes, **weights("class", leaves, [0, 1, 2], normal(200)))],
             {"x": x}, CLASS)
    save(to, "trees_binary_logistic",
         [node("TreeEnsembleClassifier", "x", "l,s", classlabels_int64s=[0, 1], base_values=[0.1], **nodes,
               post_transform="LOGISTIC", **weights("class", leaves, [0], normal(100)))], {"x": x}, CLASS)
    share = np.abs(normal(100)) / 4
    save(to, "trees_binary_share",
         [node("TreeEnsembleClassifier", "x", "l,s", classlabels_int64s=[5, 4], **nodes,
               **weights("class", leaves, [0], share))], {"x": x}, CLASS)


def chains(length: int, count: int) -> tuple:
    """Trees as deep as they have comparisons, all with one feature"""
    kept: dict[str, list] = {"nodes_" + k: [] for k in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids",
                                                        "falsenodeids")}
    for tree in range(count):
        none = [0] * (length + 1)
        for key, more in zip(kept, ([tree] * (2 * length + 1), range(2 * length + 1), [0] * length + none,
                                    [float(v) for v in np.sort(normal(length))] + none,
                                    ["BRANCH_LT"] * length + ["LEAF"] * (length + 1),
                                    [*range(length, 2 * length), *none], [*range(1, length), 2 * length, *none])):
            kept[key] += more
    return kept, [(t, i) for t in range(count) for i in range(length, 2 * length + 1)]


def large_forests(to: Path) -> None:
    """More leaves than a block; modes side by side; long paths and more values of a feature than a digit has"""
    nodes, leaves = grown([8, 8, 5], 1, ["BRANCH_LEQ"], missing=True)
    x = np.concatenate([normal(40), np.sort(np.array(nodes["nodes_values"], np.float32))[:40],
                        np.array([np.inf, -np.inf, np.nan, -0.0], np.float32)])[:, None]
    one = {"n_targets": 1}
    save(to, "trees_many", [node("TreeEnsembleRegressor", "x", **one, **nodes, **weights("target", leaves, [0], normal(600)))],
         {"x": x}, FLOAT)
    nodes, leaves = grown([5, 3, 4, 0], 6, ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE", "BRANCH_EQ", "BRANCH_NEQ",
                                            "BRANCH_LT"], missing=True)
    x = np.round(normal(40, 6) * 2) / 2
    x = np.where(RND.random(x.shape) < 0.2, np.nan, x).astype(np.float32)
    save(to, "trees_mixed", [node("TreeEnsembleRegressor", "x", **one, **nodes, **weights("target", leaves, [0], normal(100)))],
         {"x": x}, FLOAT)
    nodes, leaves = chains(200, 2)
    x = np.concatenate([normal(20), np.sort(np.array(nodes["nodes_values"], np.float32))[:60]])[:, None]
    save(to, "trees_chains", [node("TreeEnsembleRegressor", "x", **one, **nodes, **weights("target", leaves, [0], normal(402)))],
         {"x": x}, FLOAT)


def main() -> None:
    to = Path(sys.argv[1])
    features(to)
    linear(to)
    machines(to)
    forests(to)
    large_forests(to)


if __name__ == "__main__":
    main()
